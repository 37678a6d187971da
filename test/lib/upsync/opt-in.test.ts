import { describe, expect, it } from "vitest";
import type { ClusterRegistration } from "../../../lib/api/cluster-registration.ts";
import { workloadKindsWith } from "../../../lib/api/workload-kinds.ts";
import { isOptedIn, optInsOf, type UpsyncRule } from "../../../lib/upsync/opt-in.ts";

const deployment: UpsyncRule = { apiVersion: "apps/v1", kind: "Deployment" };

function aRegistration(
  upsync: readonly UpsyncRule[],
  rest: Partial<Pick<ClusterRegistration, "metadata" | "status">> = {},
): ClusterRegistration {
  return {
    apiVersion: "tmc.kcp.io/v1alpha1",
    kind: "ClusterRegistration",
    metadata: { name: "east" },
    spec: { location: "us-east-1", upsync: [...upsync] },
    ...rest,
  };
}

describe("what a registration opts in to", () => {
  const ask = (...parts: Parameters<typeof aRegistration>) => {
    const { optIns, problems } = optInsOf(aRegistration(...parts), workloadKindsWith());
    return { kinds: optIns.map(({ type, rules }) => `${type.kind} ${rules.length}`), problems };
  };
  const apis = [{ groupVersion: "apps/v1", kinds: ["StatefulSet"] }];

  it("is a type that TMC offers, with all that is said of it", () => {
    const { kinds, problems } = ask([
      { ...deployment, namespaces: ["a"] },
      { ...deployment, namespaces: ["b"] },
    ]);
    expect(kinds).toEqual(["Deployment 2"]);
    expect(problems).toEqual([]);
  });

  it.each([
    ["one that TMC does not know", { apiVersion: "example.dev/v1", kind: "Database" }, {}, "TypeNotOffered"],
    ["one that TMC may only read", { apiVersion: "v1", kind: "ConfigMap" }, {}, "TypeNotOffered"],
    ["one that the cluster does not serve", deployment, { status: { apis } }, "TypeNotServed"],
  ])("is not %s, and it says so once", (_, rule, rest, reason) => {
    const { kinds, problems } = ask([rule, rule], rest);
    expect(kinds).toEqual([]);
    expect(problems.map((each) => each.reason)).toEqual([reason]);
  });

  it("is nothing once it is being deleted", () => {
    const going = { metadata: { name: "east", deletionTimestamp: "2030-01-01T00:00:00Z" } };
    expect(ask([deployment], going)).toEqual({ kinds: [], problems: [] });
  });
});

describe("which objects are opted in", () => {
  const web = { namespace: "shop", labels: { app: "web" } };
  it.each<[string, readonly UpsyncRule[], boolean]>([
    ["all of a type of which nothing more is said", [deployment], true],
    ["those in a namespace that is named", [{ ...deployment, namespaces: ["shop"] }], true],
    ["none in any other", [{ ...deployment, namespaces: ["bank"] }], false],
    ["none where no namespace is named", [{ ...deployment, namespaces: [] }], false],
    ["those with the labels that are named", [{ ...deployment, matchLabels: { app: "web" } }], true],
    ["none with others", [{ ...deployment, matchLabels: { app: "web", tier: "front" } }], false],
    [
      "those that any rule is about",
      [
        { ...deployment, namespaces: ["bank"] },
        { ...deployment, matchLabels: { app: "web" } },
      ],
      true,
    ],
  ])("%s", (_, rules, isMeant) => expect(isOptedIn(rules, web)).toBe(isMeant));
});
