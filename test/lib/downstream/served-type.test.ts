import { faultOf } from "@tmc/kube/errors.ts";
import { describe, expect, it } from "vitest";
import { isServed } from "../../../lib/downstream/crds.ts";

const signal = new AbortController().signal;
type Pages = Readonly<Record<string, readonly [status: number, body: unknown]>>;

const asked = async (pages: Pages, group = "example.org"): Promise<boolean | string | undefined> => {
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
  "is served when its group lists it": {
    pages: { "/apis/example.org/v1": [200, resources("databases", "databases/status")] },
    served: true,
  },
  "is not when its group lists others": {
    pages: { "/apis/example.org/v1": [200, resources("tables")] },
    served: false,
  },
  "is not when the server has no such group": { pages: { "/apis": [200, groups("apps")] }, served: false },
  "of the core group is served like any other": {
    pages: { "/api/v1": [200, resources("databases")] },
    group: "",
    served: true,
  },
  "is nobody's guess when a proxy knows no path at all": { pages: {}, served: "unreachable" },
  "is nobody's guess when a proxy has a page for every path": {
    pages: { "/apis/example.org/v1": [200, "<html>"], "/apis": [200, "<html>"] },
    served: "unreachable",
  },
  "is nobody's guess when the group's own server is down": {
    pages: { "/apis/example.org/v1": [503, ""], "/apis": [200, groups("example.org")] },
    served: "unreachable",
  },
  "is nobody's guess when the core group is not there": {
    pages: { "/apis": [200, groups("apps")] },
    group: "",
    served: "unreachable",
  },
};

describe("a type", () => {
  it.each(Object.entries(rows))("%s", async (_, { pages, group, served }) => {
    expect(await asked(pages, group)).toBe(served);
  });
});
