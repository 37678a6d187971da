import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, it } from "vitest";
import { createTenantRoll, traceOfBinding } from "../../../lib/relay/bound-tenants.ts";

type BindingFacts = Readonly<{ ready?: boolean; deleting?: boolean; claims?: "Accepted" | "Rejected"; name?: string }>;

const binding = (cluster: string, facts: BindingFacts = {}): KubeObject => {
  const { ready = true, deleting = false, claims = "Accepted", name = "tmc" } = facts;
  return {
    apiVersion: "apis.kcp.io/v1alpha2",
    kind: "APIBinding",
    metadata: {
      name,
      annotations: { "kcp.io/cluster": cluster },
      ...(deleting ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {}),
    },
    spec: { permissionClaims: [{ resource: "secrets", state: claims }] },
    status: { conditions: [{ type: "Ready", status: ready ? "True" : "False" }] },
  };
};
type Step = Readonly<{ see: KubeObject } | { lose: KubeObject } | { list: readonly KubeObject[] }>;

const cases: Readonly<Record<string, { steps: readonly Step[]; last: readonly string[]; left: readonly string[] }>> = {
  "a tenant comes when its binding is ready": {
    steps: [{ see: binding("a", { ready: false }) }, { see: binding("a") }],
    last: ["came a"],
    left: ["a"],
  },
  "one that is not ready yet is not there": { steps: [{ see: binding("a", { ready: false }) }], last: [], left: [] },
  "one that was ready stays, whatever becomes of that": {
    steps: [{ see: binding("a") }, { see: binding("a", { ready: false }) }],
    last: [],
    left: ["a"],
  },
  "one whose binding is being deleted stays: its finalizers are still to be taken off": {
    steps: [{ see: binding("a") }, { see: binding("a", { deleting: true }) }],
    last: [],
    left: ["a"],
  },
  "one is taken in while its binding is being deleted, for the same reason": {
    steps: [{ list: [binding("a", { deleting: true })] }],
    last: ["came a"],
    left: ["a"],
  },
  "it goes with its binding": { steps: [{ see: binding("a") }, { lose: binding("a") }], last: ["went a"], left: [] },
  "it goes with its last binding": {
    steps: [{ see: binding("a") }, { see: binding("a", { name: "other" }) }, { lose: binding("a") }],
    last: [],
    left: ["a"],
  },
  "it goes when a list does not have it": {
    steps: [{ list: [binding("a"), binding("b")] }, { list: [binding("b"), binding("c")] }],
    last: ["came c", "went a"],
    left: ["b", "c"],
  },
  "other claims than before are told": {
    steps: [{ see: binding("a") }, { see: binding("a", { claims: "Rejected" }) }],
    last: ["claims a"],
    left: ["a"],
  },
  "the same once more is no news": { steps: [{ see: binding("a") }, { list: [binding("a")] }], last: [], left: ["a"] },
  "one that does not say whose it is is nobody's": { steps: [{ see: binding("") }], last: [], left: [] },
};

describe("the roll of tenants", () => {
  it.each(Object.entries(cases))("%s", (_, { steps, last, left }) => {
    for (const trace of [(object: KubeObject) => object, traceOfBinding]) {
      const roll = createTenantRoll();
      const told = steps.map((step) => {
        if ("see" in step) return roll.take(trace(step.see));
        return "lose" in step ? roll.lose(trace(step.lose)) : roll.takeList(step.list.map(trace));
      });
      expect(told.at(-1)?.map(({ kind, logicalCluster: cluster }) => `${kind} ${cluster}`)).toEqual(last);
      expect(roll.clusters().toSorted()).toEqual(left);
    }
  });
});
