import { describe, expect, it } from "vitest";
import type { ClusterRegistration } from "../../../lib/api/cluster-registration.ts";
import { allWorkloadTypes } from "../../../lib/api/workload-kinds.ts";
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

describe("optInsOf", () => {
  const optInsFor = (...parts: Parameters<typeof aRegistration>) => {
    const { optIns, blockers } = optInsOf(aRegistration(...parts), allWorkloadTypes());
    return { kinds: optIns.map(({ type, rules }) => `${type.kind} ${rules.length}`), blockers };
  };
  const apis = [{ groupVersion: "apps/v1", kinds: ["StatefulSet"] }];

  it("optInsOf returns a type that TMC offers, with all its rules", () => {
    const { kinds, blockers } = optInsFor([
      { ...deployment, namespaces: ["a"] },
      { ...deployment, namespaces: ["b"] },
    ]);
    expect(kinds).toEqual(["Deployment 2"]);
    expect(blockers).toEqual([]);
  });

  it.each([
    ["a type that TMC does not know", { apiVersion: "example.dev/v1", kind: "Database" }, {}, "TypeNotOffered"],
    ["a type that TMC can only read", { apiVersion: "v1", kind: "ConfigMap" }, {}, "TypeNotOffered"],
    ["a type that the cluster does not serve", deployment, { status: { apis } }, "TypeNotServed"],
  ])("optInsOf excludes %s, and returns one blocker for it", (_, rule, rest, reason) => {
    const { kinds, blockers } = optInsFor([rule, rule], rest);
    expect(kinds).toEqual([]);
    expect(blockers.map((each) => each.reason)).toEqual([reason]);
  });

  it("optInsOf returns nothing for a registration that is being deleted", () => {
    const deleting = { metadata: { name: "east", deletionTimestamp: "2030-01-01T00:00:00Z" } };
    expect(optInsFor([deployment], deleting)).toEqual({ kinds: [], blockers: [] });
  });
});

describe("isOptedIn", () => {
  const web = { namespace: "shop", labels: { app: "web" } };
  it.each<[string, readonly UpsyncRule[], boolean]>([
    ["isOptedIn accepts every object of a type without criteria", [deployment], true],
    ["isOptedIn accepts an object in a listed namespace", [{ ...deployment, namespaces: ["shop"] }], true],
    ["isOptedIn excludes an object in another namespace", [{ ...deployment, namespaces: ["bank"] }], false],
    ["isOptedIn excludes every object if the list of namespaces is empty", [{ ...deployment, namespaces: [] }], false],
    ["isOptedIn accepts an object with the given labels", [{ ...deployment, matchLabels: { app: "web" } }], true],
    [
      "isOptedIn excludes an object without all given labels",
      [{ ...deployment, matchLabels: { app: "web", tier: "front" } }],
      false,
    ],
    [
      "isOptedIn accepts an object that matches any rule",
      [
        { ...deployment, namespaces: ["bank"] },
        { ...deployment, matchLabels: { app: "web" } },
      ],
      true,
    ],
  ])("%s", (_, rules, isCovered) => expect(isOptedIn(rules, web)).toBe(isCovered));
});
