import { setImmediate as afterPending } from "node:timers/promises";
import type { WorkItem } from "../../lib/model/work-item.ts";
import type { ManualClock } from "./manual-clock.ts";

/** The system whose shares are looked at, in the test's time. */
export interface SharedSystem {
  send(items: readonly WorkItem[]): void;
}

export type ChangesOfTenants = Readonly<{
  clock: ManualClock;
  /** Makes the system; `done` has to be called when the work on a key has ended. */
  create: (done: (item: WorkItem) => void) => SharedSystem;
  /** Changes that one tenant makes all at once at the beginning. */
  noise: number;
  /** Time passes in such steps; everything has to take a multiple of it, or it would be rounded up. */
  stepMs: number;
  /** How often one of the others changes its object. */
  everyMs: number;
  /** How many changes they make, one after the other. */
  changes: number;
}>;

/** How long the changes of quiet tenants took to be worked off, and how many of the noisy one's were meanwhile. */
export type Waits = Readonly<{ p99Ms: number; noisy: number }>;

const quietTenants = 20;
/** So long the last changes may take until they are judged. */
const afterMs = 1_000;

/** Has quiet tenants change one object each in turn, beside one that has changed very many; time passes only by steps. */
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
    // Twice: what the first turn of the loop brings about may want another.
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
  return { key: { logicalCluster, kind: "WorkloadPlacement", name }, reason: "changed" };
}
