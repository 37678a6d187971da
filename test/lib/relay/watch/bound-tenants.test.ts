import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, it } from "vitest";
import { createBoundTenants, projectBinding } from "../../../../lib/relay/watch/bound-tenants.ts";

type BindingFacts = Readonly<{ ready?: boolean; deleting?: boolean; claims?: "Accepted" | "Rejected"; name?: string }>;

const binding = (logicalCluster: string, facts: BindingFacts = {}): KubeObject => {
  const { ready = true, deleting = false, claims = "Accepted", name = "tmc" } = facts;
  return {
    apiVersion: "apis.kcp.io/v1alpha2",
    kind: "APIBinding",
    metadata: {
      name,
      annotations: { "kcp.io/cluster": logicalCluster },
      ...(deleting ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {}),
    },
    spec: { permissionClaims: [{ resource: "secrets", state: claims }] },
    status: { conditions: [{ type: "Ready", status: ready ? "True" : "False" }] },
  };
};
type Step = Readonly<{ apply: KubeObject } | { remove: KubeObject } | { list: readonly KubeObject[] }>;

const cases: Readonly<Record<string, { steps: readonly Step[]; last: readonly string[]; tenants: readonly string[] }>> =
  {
    "a logical cluster becomes a tenant when its binding is Ready": {
      steps: [{ apply: binding("a", { ready: false }) }, { apply: binding("a") }],
      last: ["bound a"],
      tenants: ["a"],
    },
    "a logical cluster whose binding is not Ready is no tenant": {
      steps: [{ apply: binding("a", { ready: false }) }],
      last: [],
      tenants: [],
    },
    "a tenant whose binding is no longer Ready stays a tenant": {
      steps: [{ apply: binding("a") }, { apply: binding("a", { ready: false }) }],
      last: [],
      tenants: ["a"],
    },
    "a tenant whose binding is being deleted stays a tenant, because TMC has to remove its finalizers": {
      steps: [{ apply: binding("a") }, { apply: binding("a", { deleting: true }) }],
      last: [],
      tenants: ["a"],
    },
    "a logical cluster becomes a tenant although its binding is being deleted already": {
      steps: [{ list: [binding("a", { deleting: true })] }],
      last: ["bound a"],
      tenants: ["a"],
    },
    "a tenant is unbound when its binding is deleted": {
      steps: [{ apply: binding("a") }, { remove: binding("a") }],
      last: ["unbound a"],
      tenants: [],
    },
    "a tenant with two bindings stays a tenant when one is deleted": {
      steps: [{ apply: binding("a") }, { apply: binding("a", { name: "other" }) }, { remove: binding("a") }],
      last: [],
      tenants: ["a"],
    },
    "a tenant is unbound when its binding is missing from a list": {
      steps: [{ list: [binding("a"), binding("b")] }, { list: [binding("b"), binding("c")] }],
      last: ["bound c", "unbound a"],
      tenants: ["b", "c"],
    },
    "a change of the accepted permission claims is reported": {
      steps: [{ apply: binding("a") }, { apply: binding("a", { claims: "Rejected" }) }],
      last: ["claims a"],
      tenants: ["a"],
    },
    "a binding that did not change is not reported": {
      steps: [{ apply: binding("a") }, { list: [binding("a")] }],
      last: [],
      tenants: ["a"],
    },
    "a binding without a logical cluster is ignored": { steps: [{ apply: binding("") }], last: [], tenants: [] },
  };

describe("BoundTenants", () => {
  it.each(Object.entries(cases))("%s", (_, { steps, last, tenants }) => {
    for (const project of [(object: KubeObject) => object, projectBinding]) {
      const bound = createBoundTenants();
      const changes = steps.map((step) => {
        if ("apply" in step) return bound.applyBinding(project(step.apply));
        return "remove" in step ? bound.removeBinding(project(step.remove)) : bound.applyList(step.list.map(project));
      });
      expect(changes.at(-1)?.map(({ kind, logicalCluster }) => `${kind} ${logicalCluster}`)).toEqual(last);
      expect(bound.tenants().toSorted()).toEqual(tenants);
    }
  });
});
