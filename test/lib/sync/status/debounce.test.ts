import { createManualClock, type ManualClock } from "@tmc/kube/manual-clock.ts";
import { beforeEach, describe, expect, it } from "vitest";
import type { WorkloadSync } from "../../../../lib/api/workload-sync.ts";
import { createStatusDebounce, type StatusDebounce } from "../../../../lib/sync/status/debounce.ts";
import type { CopyRecord } from "../../../../lib/sync/sync-objects.ts";
import type { CopyOutcome } from "../../../../lib/sync/targets/apply.ts";

const key = { logicalCluster: "lc", kind: "Workload", name: "deployments.v1.apps/shop/web" } as const;
const aRecord = (resourceVersion: string): WorkloadSync => ({
  apiVersion: "tmc.kcp.io/v1alpha1",
  kind: "WorkloadSync",
  metadata: { name: "web", resourceVersion },
  spec: { workload: { apiVersion: "apps/v1", kind: "Deployment", name: "web" } },
});
const anOutcome = (state: CopyRecord["state"], { isCurrent = true, ready = 0 } = {}): CopyOutcome => ({
  record: { name: "east", state, readyReplicas: ready },
  copy: undefined,
  isCurrent,
});

let clock: ManualClock;
let debounce: StatusDebounce;
beforeEach(() => {
  clock = createManualClock();
  debounce = createStatusDebounce({ clock, firstMs: 1_000, maxMs: 3_000 });
});
const found = (targets: readonly CopyOutcome[], { record = aRecord("1"), hasMore = false } = {}): number | undefined =>
  debounce.delaySeconds({ key, record, targets, hasOtherChanges: hasMore });

describe("changes that are written at once", () => {
  it.each<[string, readonly CopyOutcome[]]>([
    ["all copies are ready", [anOutcome("Ready"), anOutcome("Ready")]],
    ["a copy is rejected", [anOutcome("Failed", { isCurrent: false }), anOutcome("Applied")]],
    ["a cluster is not Ready", [anOutcome("Stale", { isCurrent: false }), anOutcome("Applied")]],
    ["a copy is not current", [anOutcome("Applied", { isCurrent: false })]],
    ["the workload has no target cluster", []],
  ])("writes the status at once if %s", (_, targets) => {
    expect(found(targets)).toBeUndefined();
  });

  it("writes the status at once if there are other changes during a rollout", () => {
    expect(found([anOutcome("Applied")], { hasMore: true })).toBeUndefined();
  });
});

describe("changes that are debounced", () => {
  it("delays a transient status, and not longer because of further changes", () => {
    expect(found([anOutcome("Applied")])).toBe(1);
    clock.advance(400);
    expect(found([anOutcome("Applied", { ready: 1 })])).toBe(0.6);
    clock.advance(600);
    expect(found([anOutcome("Applied", { ready: 1 })])).toBeUndefined();
  });

  it("never writes a transient status that was replaced within the delay", () => {
    found([anOutcome("Applied")]);
    expect(found([anOutcome("Ready")])).toBeUndefined();
    expect(debounce.unwrittenCopies(key, aRecord("1"))).toBeUndefined();
  });

  it("doubles the delay up to its maximum while a rollout goes on", () => {
    const waits: (number | undefined)[] = [];
    for (let at = 0; at < 4; at += 1) {
      const seconds = found([anOutcome("Applied")]);
      waits.push(seconds);
      clock.advance((seconds ?? 0) * 1000);
      expect(found([anOutcome("Applied")])).toBeUndefined();
    }
    expect(waits).toEqual([1, 2, 3, 3]);
  });

  it("returns the delayed copies until they are written", () => {
    found([anOutcome("Applied", { ready: 1 })]);
    expect(debounce.unwrittenCopies(key, aRecord("1"))).toEqual([{ name: "east", state: "Applied", readyReplicas: 1 }]);
    clock.advance(1_000);
    found([anOutcome("Applied", { ready: 1 })]);
    expect(debounce.unwrittenCopies(key, aRecord("1"))).toBeUndefined();
  });

  it("drops the delayed copies if the record was written meanwhile", () => {
    found([anOutcome("Applied")]);
    expect(debounce.unwrittenCopies(key, aRecord("2"))).toBeUndefined();
  });
});
