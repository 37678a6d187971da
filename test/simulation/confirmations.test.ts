import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, test } from "vitest";
import type { ClusterRegistration } from "../../lib/api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../lib/api/workload-placement.ts";
import type { WorkloadSync } from "../../lib/api/workload-sync.ts";
import { confirmFailureAnnotation } from "../../lib/placement/observed.ts";
import { controlAnnotations } from "../../lib/sync/control-annotations.ts";
import type { ActualState, TenantState } from "./actual-state.ts";
import { createHoldLaws } from "./confirmations.ts";

const startMs = Date.parse("2026-01-01T00:00:00Z");
const since = "2026-01-01T00:00:00Z";
const names = ["east", "north", "south", "west"] as const;
const [cluster] = names;
const hold = `${cluster}@${since}`;

const aRegistration = (
  name: string,
  { isReady = true, annotations = {} }: Readonly<{ isReady?: boolean; annotations?: Record<string, string> }> = {},
): ClusterRegistration => ({
  apiVersion: "tmc.kcp.io/v1alpha1",
  kind: "ClusterRegistration",
  metadata: { name, annotations },
  spec: { location: "us-east-1" },
  status: {
    lastHeartbeat: since,
    conditions: [
      { type: "Ready", status: isReady ? "True" : "False", reason: "X", message: "", lastTransitionTime: since },
    ],
  },
});
const aWorkload = (name: string, annotations: Record<string, string> = {}): KubeObject => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name, namespace: "shop", annotations },
});
const aRecord = (name: string, { isHeld = false } = {}): WorkloadSync => ({
  apiVersion: "tmc.kcp.io/v1alpha1",
  kind: "WorkloadSync",
  metadata: { name, namespace: "shop" },
  spec: { workload: { apiVersion: "apps/v1", kind: "Deployment", name }, clusters: [cluster] },
  status: isHeld
    ? {
        clusters: [{ name: cluster, state: "Held", reason: "DeletionsHeld" }],
        conditions: [{ type: "DeletionsHeld", status: "True", reason: "X", message: "", lastTransitionTime: since }],
      }
    : {},
});
const aPlacement = (selected: readonly string[], lost: readonly string[] = []): WorkloadPlacement => ({
  apiVersion: "tmc.kcp.io/v1alpha1",
  kind: "WorkloadPlacement",
  metadata: { name: "p0", generation: 1 },
  spec: {},
  status: {
    observedGeneration: 1,
    selectedClusters: [...selected],
    decisions: lost.map((name) => ({ cluster: name, selected: false, reason: "NotReady", message: "" })),
  },
});

/** The laws of a tenant, what they report, and a clock. */
function aTenant({
  workloads,
  records,
  registrations = names.map((name) => aRegistration(name)),
  tenants = ["t"],
}: Readonly<{
  workloads: readonly KubeObject[];
  records: readonly WorkloadSync[];
  registrations?: readonly ClusterRegistration[];
  /** The tenants that a process knows, which all have the same. */
  tenants?: readonly string[];
}>) {
  const state: TenantState = {
    registrations: new Map(registrations.map((each) => [each.metadata.name ?? "", each])),
    placements: new Map(),
    workloads: new Map(workloads.map((each) => [`Deployment/shop/${each.metadata.name}`, each])),
    namespaces: new Map(),
    records: new Map(records.map((each) => [`Deployment/shop/${each.metadata.name}`, each])),
  };
  const truth: ActualState = {
    take: () => {},
    of: () => state,
    physicalOf: () => undefined,
    hasAdopted: () => false,
  };
  const found: string[] = [];
  // Long enough after the clusters became Ready that they do not count as recovered.
  let atMs = startMs + 600_000;
  const laws = createHoldLaws({
    truth,
    tenants,
    alwaysAllowed: 2,
    maxPercent: 30,
    nowMs: () => atMs,
    broken: (_, message) => found.push(message),
  });
  return {
    laws,
    found,
    pass: (ms: number) => {
      atMs += ms;
    },
    remove: (name: string, known: WorkloadSync | undefined = state.records.get(`Deployment/shop/${name}`)) =>
      laws.removal("t", { id: `Deployment/shop/${name}`, registration: cluster, known }),
    removeUnasked: (name: string) =>
      laws.removal("t", { id: `Deployment/shop/${name}`, registration: cluster, known: undefined }),
  };
}

describe("a held copy", () => {
  test("is not removed before its deletion is confirmed", () => {
    const { remove, found } = aTenant({ workloads: [aWorkload("web")], records: [aRecord("web", { isHeld: true })] });
    remove("web");
    expect(found).toEqual([expect.stringContaining("is held, not confirmed, and removed")]);
  });
  test("is removed if it was held after the controller asked kcp, and not if the controller has not asked", () => {
    const { remove, removeUnasked, found } = aTenant({
      workloads: [aWorkload("web")],
      records: [aRecord("web", { isHeld: true })],
    });
    remove("web", aRecord("web"));
    expect(found).toEqual([]);
    removeUnasked("web");
    expect(found).toEqual([expect.stringContaining("is held, not confirmed, and removed")]);
  });
  test("is removed while the confirmation of this hold is there, and not for that of another", () => {
    for (const [confirmed, violations] of [
      [hold, 0],
      [`${cluster}@2025-01-01T00:00:00Z`, 1],
    ] as const) {
      const workload = aWorkload("web", { [controlAnnotations.confirmedDeletions]: confirmed });
      const { remove, found } = aTenant({ workloads: [workload], records: [aRecord("web", { isHeld: true })] });
      remove("web");
      expect(found).toHaveLength(violations);
    }
  });
  test("is removed right after the confirmation was taken back, and not much later", () => {
    const { laws, remove, found, pass } = aTenant({
      workloads: [aWorkload("web")],
      records: [aRecord("web", { isHeld: true })],
    });
    laws.written(aWorkload("web", { [controlAnnotations.confirmedDeletions]: hold }));
    pass(5_000);
    remove("web");
    expect(found).toEqual([]);
    pass(120_000);
    remove("web");
    expect(found).toHaveLength(1);
  });
});

describe("many copies", () => {
  const many = Array.from({ length: 8 }, (_, index) => `w${index}`);
  const workloads = many.map((name) => aWorkload(name));
  const records = many.map((name) => aRecord(name));

  test("are not removed at once without a hold", () => {
    const { remove, found } = aTenant({ workloads, records });
    for (const name of many) remove(name);
    expect(found.at(-1)).toContain("8 copies of t were removed at once");
  });
  test("are not one copy that is removed again and again", () => {
    const { remove, found } = aTenant({ workloads, records });
    for (const _ of many) remove("w0");
    expect(found).toEqual([]);
  });
  test("are removed one after the other, or from a cluster that is unregistered", () => {
    const slow = aTenant({ workloads, records });
    for (const name of many) {
      slow.remove(name);
      slow.pass(30_000);
    }
    const unregistered = aTenant({ workloads, records, registrations: [] });
    for (const name of many) unregistered.remove(name);
    expect([slow.found, unregistered.found]).toEqual([[], []]);
  });
});

describe("a placement", () => {
  const decide = (registrations: readonly ClusterRegistration[]): readonly string[] => {
    const { laws, found } = aTenant({ workloads: [], records: [], registrations });
    laws.decision("t", aPlacement(["east"]), aPlacement(["west"], ["east"]));
    return found;
  };
  const failed = (annotations: Record<string, string> = {}): readonly ClusterRegistration[] =>
    names.map((name) => aRegistration(name, { isReady: name === "west", ...(name === "east" ? { annotations } : {}) }));

  test("does not leave a cluster that failed together with most clusters, until that is confirmed", () => {
    expect(decide(failed())).toEqual([expect.stringContaining("has left east")]);
    expect(decide(failed({ [confirmFailureAnnotation]: since }))).toEqual([]);
  });
  test("does not leave a cluster that failed with most clusters of all tenants, where a process knows those of others", () => {
    const registrations = ["east", "north", "west"].map((name) => aRegistration(name, { isReady: name === "west" }));
    const decideIn = (tenants: readonly string[]): readonly string[] => {
      const { laws, found } = aTenant({ workloads: [], records: [], registrations, tenants });
      laws.decision("t", aPlacement(["east"]), aPlacement(["west"], ["east"]));
      return found;
    };
    expect(decideIn(["t", "u"])).toEqual([expect.stringContaining("has left east")]);
    expect(decideIn([])).toEqual([]);
    const { laws, found } = aTenant({ workloads: [], records: [], registrations: failed(), tenants: [] });
    laws.decision("t", aPlacement(["east"]), aPlacement(["west"], ["east"]));
    expect(found, "three of four clusters of its own tenant").toHaveLength(1);
  });
  test("leaves a cluster that failed with most clusters of all tenants, if the process was told of its own tenant alone", () => {
    const registrations = ["east", "north", "west"].map((name) => aRegistration(name, { isReady: name === "west" }));
    const decideTold = (told: readonly string[]): readonly string[] => {
      const { laws, found } = aTenant({ workloads: [], records: [], registrations, tenants: ["t", "u"] });
      const registrationsOf = (tenant: string) => (told.includes(tenant) ? registrations : []);
      laws.decision("t", aPlacement(["east"]), aPlacement(["west"], ["east"]), { registrationsOf });
      return found;
    };
    expect(decideTold(["t"])).toEqual([]);
    expect(decideTold(["t", "u"])).toEqual([expect.stringContaining("has left east")]);
  });
  test("fails back from a cluster that failed with most clusters, when the time for it has passed", () => {
    const failBackAfter = (afterSeconds: number): readonly string[] => {
      const { laws, found } = aTenant({ workloads: [], records: [], registrations: failed() });
      const { spec, status, ...rest } = aPlacement(["east"]);
      const failback = [{ cluster: "west", reason: "NotReady", since, standIn: "east", fittingSince: since }];
      const before = { ...rest, spec: { ...spec, failback: { afterSeconds } }, status: { ...status, failback } };
      laws.decision("t", before, aPlacement(["west"], ["east"]));
      return found;
    };
    expect(failBackAfter(60)).toEqual([]);
    expect(failBackAfter(6_000)).toEqual([expect.stringContaining("has left east")]);
  });
  test("leaves a cluster that failed alone", () => {
    expect(decide(names.map((name) => aRegistration(name, { isReady: name !== "east" })))).toEqual([]);
  });
});
