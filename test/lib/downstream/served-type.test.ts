import { faultOf } from "@tmc/kube/errors.ts";
import { describe, expect, it } from "vitest";
import { isServed } from "../../../lib/downstream/crds.ts";

const signal = new AbortController().signal;
type Pages = Readonly<Record<string, readonly [status: number, body: unknown]>>;

const discovered = async (pages: Pages, group = "example.org"): Promise<boolean | string | undefined> => {
  const raw = async (_: string, path: string) => {
    const [status, body] = pages[path] ?? [404, "404 page not found"];
    return { status, headers: {}, text: typeof body === "string" ? body : JSON.stringify(body) };
  };
  return isServed({ raw, server: "https://east" }, { group, version: "v1", plural: "databases" }, signal).catch(
    faultOf,
  );
};
const resources = (...names: string[]) => ({ kind: "APIResourceList", resources: names.map((name) => ({ name })) });
const groups = (...names: string[]) => ({
  kind: "APIGroupList",
  groups: names.map((name) => ({ name, versions: [{ version: "v1" }] })),
});

const rows: Readonly<Record<string, Readonly<{ pages: Pages; group?: string; served: boolean | string }>>> = {
  "counts as served when its group lists it": {
    pages: { "/apis/example.org/v1": [200, resources("databases", "databases/status")] },
    served: true,
  },
  "counts as not served when its group lists only others": {
    pages: { "/apis/example.org/v1": [200, resources("tables")] },
    served: false,
  },
  "counts as not served when the server has no such group": {
    pages: { "/apis": [200, groups("apps")] },
    served: false,
  },
  "of the core group counts as served when the group lists it": {
    pages: { "/api/v1": [200, resources("databases")] },
    group: "",
    served: true,
  },
  "is unknown when a proxy answers 404 for every path": { pages: {}, served: "unreachable" },
  "is unknown when a proxy answers every path with a page": {
    pages: { "/apis/example.org/v1": [200, "<html>"], "/apis": [200, "<html>"] },
    served: "unreachable",
  },
  "is unknown when the server of its API group is down": {
    pages: { "/apis/example.org/v1": [503, ""], "/apis": [200, groups("example.org")] },
    served: "unreachable",
  },
  "is unknown when the core group is not served": {
    pages: { "/apis": [200, groups("apps")] },
    group: "",
    served: "unreachable",
  },
};

describe("a type", () => {
  it.each(Object.entries(rows))("%s", async (_, { pages, group, served }) => {
    expect(await discovered(pages, group)).toBe(served);
  });
});
