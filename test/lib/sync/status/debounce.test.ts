import { beforeEach, describe, expect, it } from "vitest";
import type { WorkloadSync } from "../../../../lib/api/workload-sync.ts";
import { createStatusDebounce, type StatusDebounce } from "../../../../lib/sync/status/debounce.ts";
import type { CopyRecord } from "../../../../lib/sync/sync-objects.ts";
import type { Outcome } from "../../../../lib/sync/targets/apply.ts";
import { createManualClock, type ManualClock } from "../../../support/manual-clock.ts";

const key = { logicalCluster: "lc", kind: "Workload", name: "deployments.v1.apps/shop/web" } as const;
const aRecord = (resourceVersion: string): WorkloadSync => ({
  apiVersion: "tmc.kcp.io/v1alpha1",
  kind: "WorkloadSync",
  metadata: { name: "web", resourceVersion },
  spec: { workload: { apiVersion: "apps/v1", kind: "Deployment", name: "web" } },
});
const anOutcome = (state: CopyRecord["state"], { isCurrent = true, ready = 0 } = {}): Outcome => ({
  record: { name: "east", state, readyReplicas: ready },
  copy: undefined,
  isCurrent,
});

let clock: ManualClock;
let pace: StatusDebounce;
beforeEach(() => {
  clock = createManualClock();
  pace = createStatusDebounce({ clock, firstMs: 1_000, mostMs: 3_000 });
});
const found = (targets: readonly Outcome[], { record = aRecord("1"), hasMore = false } = {}): number | undefined =>
  pace.holdSeconds({ key, record, targets, hasMore });

describe("what is written at once", () => {
  it.each<[string, readonly Outcome[]]>([
    ["that all copies are ready", [anOutcome("Ready"), anOutcome("Ready")]],
    ["that one is refused", [anOutcome("Failed", { isCurrent: false }), anOutcome("Applied")]],
    ["that a cluster is not heard from", [anOutcome("Stale", { isCurrent: false }), anOutcome("Applied")]],
    ["that one is not what it should be", [anOutcome("Applied", { isCurrent: false })]],
    ["that it belongs nowhere", []],
  ])("is %s", (_, targets) => {
    expect(found(targets)).toBeUndefined();
  });

  it("is whatever else there is to tell, while copies come along", () => {
    expect(found([anOutcome("Applied")], { hasMore: true })).toBeUndefined();
  });
});

describe("what passes", () => {
  it("is held back for a while, and not for longer because more of it comes", () => {
    expect(found([anOutcome("Applied")])).toBe(1);
    clock.advance(400);
    expect(found([anOutcome("Applied", { ready: 1 })])).toBe(0.6);
    clock.advance(600);
    expect(found([anOutcome("Applied", { ready: 1 })])).toBeUndefined();
  });

  it("is never told when it has passed by then", () => {
    found([anOutcome("Applied")]);
    expect(found([anOutcome("Ready")])).toBeUndefined();
    expect(pace.unwritten(key, aRecord("1"))).toBeUndefined();
  });

  it("is told less and less often while it goes on", () => {
    const waits: (number | undefined)[] = [];
    for (let at = 0; at < 4; at += 1) {
      const seconds = found([anOutcome("Applied")]);
      waits.push(seconds);
      clock.advance((seconds ?? 0) * 1000);
      expect(found([anOutcome("Applied")])).toBeUndefined();
    }
    expect(waits).toEqual([1, 2, 3, 3]);
  });

  it("is remembered until it is written", () => {
    found([anOutcome("Applied", { ready: 1 })]);
    expect(pace.unwritten(key, aRecord("1"))).toEqual([{ name: "east", state: "Applied", readyReplicas: 1 }]);
    clock.advance(1_000);
    found([anOutcome("Applied", { ready: 1 })]);
    expect(pace.unwritten(key, aRecord("1"))).toBeUndefined();
  });

  it("counts for nothing beside a record that was written since", () => {
    found([anOutcome("Applied")]);
    expect(pace.unwritten(key, aRecord("2"))).toBeUndefined();
  });
});
