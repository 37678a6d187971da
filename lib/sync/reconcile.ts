import type { WorkloadKey } from "../model/key.ts";
import { done, earliest, requeueAfter } from "../model/next.ts";
import type { Work } from "../model/work-item.ts";
import { readDependencies } from "./dependencies/distribute.ts";
import { pruneDependencies } from "./dependencies/prune.ts";
import { evictCopies } from "./eviction/evict.ts";
import { notifyPlacements } from "./fan-out.ts";
import { observe, readCopies, type SyncTools } from "./observed.ts";

import { finish } from "./ownership/finish.ts";
import { protectWorkload } from "./ownership/protect.ts";
import { decideRequeue } from "./requeue.ts";
import { upsyncOriginOutcomes } from "./status/upsync-origin-status.ts";
import { writeReport } from "./status/write-report.ts";
import { applyTargets } from "./targets/apply-all.ts";
import { ensureTypesServed } from "./targets/served-types.ts";

/**
 * Creates the work on workloads: each is on the clusters that it belongs on, and its status says how it is there.
 *
 * The order is what makes it safe to die anywhere: the hub says where copies may be before any is written, and until the
 * cluster itself has said that it has none.
 */
export function syncReconciler(tools: SyncTools): Work<WorkloadKey> {
  const { workloads, clock, settings, onCopy, debounce, burstGate } = tools;
  return async ({ key }, signal) => {
    const restSeconds = burstGate?.restSeconds(key);
    if (restSeconds !== undefined) return requeueAfter(restSeconds);
    const seen = await observe(tools, key, signal);
    if (seen === undefined) {
      burstGate?.forget(key);
      return done;
    }
    const guarded = await protectWorkload(workloads, seen, signal);
    // One that is somewhere already and moves on waits for nobody.
    const isMadeSafe = seen.record === undefined && guarded.record !== undefined;
    const waitSeconds = burstGate?.waitSeconds(key, { isMadeSafe });
    if (waitSeconds !== undefined) return requeueAfter(waitSeconds);
    const troubles = await ensureTypesServed(tools, guarded, signal);
    const sightings = await readCopies(tools, { scene: guarded, troubles }, signal);
    const where = { cluster: key.logicalCluster, namespace: guarded.address.namespace };
    const company = await readDependencies(workloads, where, guarded.intent.references, signal);
    const settledTargets = await applyTargets(tools, { scene: guarded, sightings, troubles, company }, signal);
    const { targets, shortfall, differences } = settledTargets;
    for (const { wrote, record } of targets.values()) {
      if (wrote !== undefined) onCopy?.({ key, targetCluster: record.name, action: wrote });
    }
    const { kept, forgotten } = await evictCopies(tools, { scene: guarded, sightings, targets }, signal);
    const outcomes = [...upsyncOriginOutcomes(guarded), ...targets.values(), ...kept];
    const { record, workload } = guarded;
    const hasMore = kept.length + forgotten.length > 0 || shortfall !== undefined || workload === undefined;
    const holdSeconds = debounce?.holdSeconds({ key, record, targets: [...targets.values()], hasMore });
    if (holdSeconds !== undefined) return requeueAfter(holdSeconds);
    const now = new Date(clock.now()).toISOString().replace(/\.\d+Z$/, "Z");
    const found = { scene: guarded, outcomes, shortfall, differences, now };
    const { scene, againSeconds: stalledIn } = await writeReport(tools, found, signal);
    const collected = await pruneDependencies(tools, { scene, targets, forgotten }, signal);
    const { record: after, next } = await finish(tools, { left: kept, collected }, signal);
    await notifyPlacements(tools, key, { before: seen.record, after });
    const look = { status: scene.record?.status, settings, nowMs: clock.now() };
    const soon = earliest(next, decideRequeue(outcomes, look));
    return stalledIn === undefined ? soon : earliest(soon, requeueAfter(stalledIn));
  };
}
