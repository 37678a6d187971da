import { describe, expect, it } from "vitest";
import { accessTypeNames, clusterAccess, unknownTypes } from "../../../lib/install/cluster-access.ts";

type Rule = Readonly<{ apiGroups?: readonly string[]; resources?: readonly string[]; verbs: readonly string[] }>;

const rulesOf = (options?: Parameters<typeof clusterAccess>[0]): readonly Rule[] => {
  const role = clusterAccess(options).find(({ kind }) => kind === "ClusterRole");
  return (role?.rules ?? []) as readonly Rule[]; // our own object
};
const writeVerbs = ["create", "update", "patch", "delete", "deletecollection", "*"];
/** `deployments.apps` for every resource that a rule lets TMC write. */
const written = (rules: readonly Rule[]): readonly string[] =>
  rules
    .filter(({ verbs }) => verbs.some((verb) => writeVerbs.includes(verb)))
    .flatMap(({ apiGroups = [], resources = [] }) =>
      apiGroups.flatMap((group) => resources.map((plural) => (group === "" ? plural : `${plural}.${group}`))),
    );

describe("the access of TMC to a member cluster", () => {
  const dependencies = ["namespaces", "configmaps", "persistentvolumeclaims", "secrets", "serviceaccounts"];

  it("covers every built-in workload type and the dependencies by default", () => {
    expect(new Set(written(rulesOf()))).toEqual(new Set([...dependencies, ...accessTypeNames]));
  });
  it("covers only the chosen types, the custom types and the dependencies", () => {
    const rules = rulesOf({ only: ["deployments.apps"], customTypes: [{ group: "example.com", plural: "databases" }] });
    expect(new Set(written(rules))).toEqual(new Set([...dependencies, "deployments.apps", "databases.example.com"]));
  });
  it("never contains a wildcard for writes, and one for lists only if asked", () => {
    expect(JSON.stringify(rulesOf())).not.toContain('"*"');
    const wide = rulesOf({ listsAllTypes: true }).filter(({ resources }) => resources?.includes("*"));
    expect(wide).toEqual([{ apiGroups: ["*"], resources: ["*"], verbs: ["list"] }]);
  });
  it("allows definitions only if asked, and never their deletion", () => {
    const definitionRules = rulesOf({ installsDefinitions: true }).filter(({ resources }) =>
      resources?.includes("customresourcedefinitions"),
    );
    expect(definitionRules.map(({ verbs }) => verbs.includes("delete"))).toEqual([false]);
    expect(JSON.stringify(rulesOf())).not.toContain("customresourcedefinitions");
  });
  it("has an admission policy for exactly the service account, unless it is omitted", () => {
    const text = JSON.stringify(clusterAccess());
    expect(text).toContain("system:serviceaccount:tmc-system:tmc");
    expect(clusterAccess({ hasPolicy: false }).map(({ kind }) => kind)).not.toContain("ValidatingAdmissionPolicy");
  });
  it("can be given to a group instead of a service account", () => {
    const objects = clusterAccess({ group: "tmc" });
    expect(objects.map(({ kind }) => kind)).not.toContain("ServiceAccount");
    expect(objects.find(({ kind }) => kind === "ClusterRoleBinding")).toMatchObject({
      subjects: [{ kind: "Group", name: "tmc" }],
    });
    expect(JSON.stringify(objects)).toContain('\\"tmc\\" in request.userInfo.groups');
  });
  it("names types that are not built in", () => {
    expect(unknownTypes(["deployments.apps", "deployments"])).toEqual(["deployments"]);
  });
});
