import type { WorkloadKey } from "../model/key.ts";
import type { Work } from "../model/work-item.ts";
import { done, earliestNext, requeueAfter } from "../model/work-item.ts";
import { readDependencies } from "./dependencies/distribute.ts";
import { pruneDependencies } from "./dependencies/prune.ts";
import { evictCopies } from "./eviction/evict.ts";
import { notifyPlacements } from "./fan-out.ts";
import { observeWorkload, readCopies, type SyncTools } from "./observed.ts";
import { finalize } from "./ownership/finalize.ts";
import { protectWorkload } from "./ownership/protect.ts";
import { decideRequeue } from "./requeue.ts";
import { upsyncOriginOutcomes } from "./status/upsync-origin-status.ts";
import { recordWriteEvents, writeReport } from "./status/write-report.ts";
import { applyTargets } from "./targets/apply-all.ts";
import { ensureTypesServed } from "./targets/served-types.ts";

/**
 * Creates the reconciler of workloads: it applies each workload to the clusters that its placement selects, removes it from
 * the others, and reports the state of its copies upstream.
 *
 * The order of the steps makes a crash at any point safe: the sync record names a cluster before the first write there, and
 * until the cluster itself has reported that it has no copy.
 */
export function syncReconciler(tools: SyncTools): Work<WorkloadKey> {
  const { workloads, clock, settings, onCopyAction, debounce, burstGate } = tools;
  return async ({ key }, signal) => {
    const deferSeconds = burstGate?.reconcileDelaySeconds(key);
    if (deferSeconds !== undefined) return requeueAfter(deferSeconds);

    const initial = await observeWorkload(tools, key, signal);
    if (initial === undefined) {
      burstGate?.forget(key);
      return done;
    }

    const observed = await protectWorkload(workloads, initial, signal);
    // The gate delays only new workloads; one that is on some cluster already moves on at once.
    const isNewlyProtected = initial.record === undefined && observed.record !== undefined;
    const gateSeconds = burstGate?.writeDelaySeconds(key, { isNewlyProtected });
    if (gateSeconds !== undefined) return requeueAfter(gateSeconds);

    const typeBlockers = await ensureTypesServed(tools, observed, signal);
    const downstreamStates = await readCopies(tools, { observed, typeBlockers }, signal);
    const dependencies = await readDependencies(workloads, observed, signal);

    const applied = await applyTargets(tools, { observed, downstreamStates, typeBlockers, dependencies }, signal);
    const { targets, shortfall, differences } = applied;
    for (const { writeCause, record } of targets.values()) {
      if (writeCause !== undefined) onCopyAction?.({ key, targetCluster: record.name, action: writeCause });
    }
    const { kept, evicted } = await evictCopies(tools, { observed, downstreamStates, targets }, signal);

    const outcomes = [...upsyncOriginOutcomes(observed), ...targets.values(), ...kept];
    recordWriteEvents(tools, observed, outcomes);
    const hasOtherChanges =
      kept.length + evicted.length > 0 || shortfall !== undefined || observed.workload === undefined;
    const debounceFacts = { key, record: observed.record, targets: [...targets.values()], hasOtherChanges };
    const debounceSeconds = debounce?.delaySeconds(debounceFacts);
    if (debounceSeconds !== undefined) return requeueAfter(debounceSeconds);

    const now = new Date(clock.now()).toISOString().replace(/\.\d+Z$/, "Z");
    const report = await writeReport(tools, { observed, outcomes, shortfall, differences, now }, signal);
    const pruned = await pruneDependencies(tools, { observed: report.observed, targets, evicted }, signal);
    const { record, next } = await finalize(tools, { kept, pruned }, signal);
    await notifyPlacements(tools, key, { before: initial.record, after: record });

    const { status } = report.observed.record ?? {};
    const copiesDue = decideRequeue(outcomes, { status, settings, nowMs: clock.now() });
    const stalledDue = report.stalledInSeconds === undefined ? done : requeueAfter(report.stalledInSeconds);
    return earliestNext(earliestNext(next, copiesDue), stalledDue);
  };
}
