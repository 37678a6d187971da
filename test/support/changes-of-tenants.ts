import { setImmediate as afterPending } from "node:timers/promises";
import type { ManualClock } from "@tmc/kube/manual-clock.ts";
import type { WorkItem } from "../../lib/model/work-item.ts";

/** The system under test, on the test's clock. */
export interface SharedSystem {
  send(items: readonly WorkItem[]): void;
}

export type ChangesOfTenants = Readonly<{
  clock: ManualClock;
  /** Creates the system; it must call `done` when the reconcile of a key has ended. */
  create: (done: (item: WorkItem) => void) => SharedSystem;
  /** Number of changes that one tenant makes at once at the beginning. */
  noise: number;
  /** Step of the clock. All durations must be multiples of it, or they are rounded up. */
  stepMs: number;
  /** Interval between changes of the other tenants. */
  everyMs: number;
  /** Number of changes of the other tenants. */
  changes: number;
}>;

/** Latency of the quiet tenants' changes, and the number of the noisy tenant's changes processed meanwhile. */
export type Waits = Readonly<{ p99Ms: number; noisy: number }>;

const quietTenants = 20;
/** Time for the last changes to be processed. */
const afterMs = 1_000;

/** Lets quiet tenants change one object each in turn while a noisy tenant has changed very many. */
export async function changesOfTenants(options: ChangesOfTenants): Promise<Waits> {
  const { clock, create, noise, stepMs, everyMs, changes } = options;
  const sentMs = new Map<string, number>();
  const tookMs: number[] = [];
  let noisy = 0;
  const system = create(({ key }) => {
    const sent = sentMs.get(key.logicalCluster);
    if (sent === undefined) noisy += 1;
    else tookMs.push(clock.now() - sent);
  });
  system.send(Array.from({ length: noise }, (_, at) => itemOf("noisy", `web-${at}`)));
  const endMs = changes * everyMs;
  for (let nowMs = 0; nowMs < endMs + afterMs; nowMs += stepMs) {
    if (nowMs < endMs && nowMs % everyMs === 0) {
      const tenant = `quiet-${(nowMs / everyMs) % quietTenants}`;
      sentMs.set(tenant, clock.now());
      system.send([itemOf(tenant, "web")]);
    }
    // Twice, because the first turn of the event loop may schedule more work.
    await afterPending();
    await afterPending();
    clock.advance(stepMs);
    await afterPending();
  }
  const never = Array.from({ length: changes - tookMs.length }, () => Number.POSITIVE_INFINITY);
  const sorted = [...tookMs, ...never].toSorted((one, other) => one - other);
  return { p99Ms: sorted[Math.ceil(changes * 0.99) - 1] ?? Number.NaN, noisy };
}

function itemOf(logicalCluster: string, name: string): WorkItem {
  return { key: { logicalCluster, kind: "ClusterRegistration", name }, reason: "changed" };
}
