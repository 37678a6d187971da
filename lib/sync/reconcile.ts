import type { WorkloadKey } from "../model/key.ts";
import { checkAgain, settled, soonest } from "../model/next.ts";
import type { Work } from "../model/work-item.ts";
import { companyOf } from "./dependencies/distribute.ts";
import { collect } from "./dependencies/prune.ts";
import { settleLeaving } from "./eviction/evict.ts";
import { tellPlacements } from "./fan-out.ts";
import { lookAtCopies, observe, type SyncTools } from "./observed.ts";

import { finish } from "./ownership/finish.ts";
import { guard } from "./ownership/protect.ts";
import { decideNextLook } from "./requeue.ts";
import { homeOutcomes } from "./status/upsync-origin-status.ts";
import { writeReport } from "./status/write-report.ts";
import { settleTargets } from "./targets/apply-all.ts";
import { typesServed } from "./targets/served-types.ts";

/**
 * Creates the work on workloads: each is on the clusters that it belongs on, and its status says how it is there.
 *
 * The order is what makes it safe to die anywhere: the hub says where copies may be before any is written, and until the
 * cluster itself has said that it has none.
 */
export function syncReconciler(tools: SyncTools): Work<WorkloadKey> {
  const { workloads, clock, settings, onCopy, pace, rush } = tools;
  return async ({ key }, signal) => {
    const restSeconds = rush?.restSeconds(key);
    if (restSeconds !== undefined) return checkAgain(restSeconds);
    const seen = await observe(tools, key, signal);
    if (seen === undefined) {
      rush?.forget(key);
      return settled;
    }
    const guarded = await guard(workloads, seen, signal);
    // One that is somewhere already and moves on waits for nobody.
    const isMadeSafe = seen.record === undefined && guarded.record !== undefined;
    const waitSeconds = rush?.waitSeconds(key, { isMadeSafe });
    if (waitSeconds !== undefined) return checkAgain(waitSeconds);
    const troubles = await typesServed(tools, guarded, signal);
    const sightings = await lookAtCopies(tools, { scene: guarded, troubles }, signal);
    const where = { cluster: key.cluster, namespace: guarded.address.namespace };
    const company = await companyOf(workloads, where, guarded.intent.references, signal);
    const settledTargets = await settleTargets(tools, { scene: guarded, sightings, troubles, company }, signal);
    const { targets, shortfall, differences } = settledTargets;
    for (const { wrote, record } of targets.values()) {
      if (wrote !== undefined) onCopy?.({ key, cluster: record.name, did: wrote });
    }
    const { kept, forgotten } = await settleLeaving(tools, { scene: guarded, sightings, targets }, signal);
    const outcomes = [...homeOutcomes(guarded), ...targets.values(), ...kept];
    const { record, workload } = guarded;
    const hasMore = kept.length + forgotten.length > 0 || shortfall !== undefined || workload === undefined;
    const holdSeconds = pace?.holdSeconds({ key, record, targets: [...targets.values()], hasMore });
    if (holdSeconds !== undefined) return checkAgain(holdSeconds);
    const now = new Date(clock.now()).toISOString().replace(/\.\d+Z$/, "Z");
    const found = { scene: guarded, outcomes, shortfall, differences, now };
    const { scene, againSeconds: stalledIn } = await writeReport(tools, found, signal);
    const collected = await collect(tools, { scene, targets, forgotten }, signal);
    const { record: after, next } = await finish(tools, { left: kept, collected }, signal);
    await tellPlacements(tools, key, { before: seen.record, after });
    const look = { status: scene.record?.status, settings, nowMs: clock.now() };
    const soon = soonest(next, decideNextLook(outcomes, look));
    return stalledIn === undefined ? soon : soonest(soon, checkAgain(stalledIn));
  };
}
