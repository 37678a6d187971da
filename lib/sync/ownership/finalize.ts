import type { WorkloadSync } from "../../api/workload-sync.ts";
import { allSettledOrThrow } from "../../model/concurrency.ts";
import { done, type Next, requeueAfter } from "../../model/work-item.ts";
import type { Pruned } from "../dependencies/prune.ts";
import { referenceId } from "../dependencies/references.ts";
import { type Observed, readCopy, type SyncTools } from "../observed.ts";
import type { SyncSettings } from "../settings.ts";
import type { Workload } from "../sync-objects.ts";
import type { CopyOutcome } from "../targets/apply.ts";
import type { WorkloadHub } from "../workload-hub.ts";
import { isReplaceable } from "./protect.ts";
import { isSameSpec, syncFinalizer } from "./record.ts";

type FinalizeFacts = Readonly<{
  /** The copies that are to be evicted and still exist. */
  kept: readonly CopyOutcome[];
  pruned: Pruned;
}>;

/** The record as it was written last, and when to reconcile again. */
export type Finalized = Readonly<{ record: WorkloadSync | undefined; next: Next }>;

/** Removes from the record the clusters and references that are cleaned up, and the finalizers once nothing is left. */
export async function finalize(
  tools: SyncTools,
  { kept, pruned }: FinalizeFacts,
  signal: AbortSignal,
): Promise<Finalized> {
  const { workloads, clock, settings } = tools;
  const { observed } = pruned;
  const { key, address, workload, record, intent } = observed;
  if (record === undefined) return { record, next: await removeWorkloadFinalizer(workloads, observed, signal) };
  const recordAddress = {
    logicalCluster: key.logicalCluster,
    namespace: address.namespace,
    name: record.metadata.name ?? "",
  };
  const pendingCleanup = (record.spec.pendingCleanup ?? []).filter((name) => !pruned.clusters.includes(name));
  const clusters = intent.clusters.filter((name) => ![...pruned.clusters, ...pendingCleanup].includes(name));
  const prunedReferences = new Set(pruned.references.map(referenceId));
  const references = intent.recordedReferences.filter((reference) => !prunedReferences.has(referenceId(reference)));
  const timeoutInSeconds = deletionTimeoutInSeconds(workload, clock.now(), settings);
  const isTimedOut =
    intent.kind === "deleted" &&
    workload !== undefined &&
    timeoutInSeconds <= 0 &&
    kept.every(({ record: entry }) => entry.reason === "ClusterNotReady");
  const isFinished = clusters.length === 0 && pendingCleanup.length === 0 && intent.kind !== "placed";
  // Several writes were made since the clusters were read. A second controller that has not observed the deletion yet may
  // have applied a copy again meanwhile.
  const reappeared = isFinished ? await findReappearedCopies(tools, pruned, signal) : [];
  if (reappeared.length > 0) {
    const spec: WorkloadSync["spec"] = {
      ...record.spec,
      clusters: [...new Set([...(record.spec.clusters ?? []), ...reappeared])].toSorted(),
      pendingCleanup: pendingCleanup.filter((name) => !reappeared.includes(name)),
    };
    const written = await workloads.writeRecord(recordAddress, record, { spec, metadata: record.metadata }, signal);
    return { record: written, next: requeueAfter(settings.retrySeconds) };
  }
  const { placement, ...rest } = record.spec;
  const spec: WorkloadSync["spec"] = {
    ...rest,
    ...(placement === undefined || isFinished ? {} : { placement }),
    clusters,
    pendingCleanup,
    references: isFinished ? [] : references,
    ...(isTimedOut && clusters.length + pendingCleanup.length > 0 ? { deleted: true } : {}),
  };
  const finalizers = (record.metadata.finalizers ?? []).filter((each) => !isFinished || each !== syncFinalizer);
  const hasFewerFinalizers = finalizers.length !== (record.metadata.finalizers ?? []).length;
  const written =
    hasFewerFinalizers || !isSameSpec(record.spec, spec)
      ? await workloads.writeRecord(
          recordAddress,
          record,
          { spec, metadata: { ...record.metadata, finalizers } },
          signal,
        )
      : record;
  if (isFinished || isTimedOut) {
    return { record: written, next: await removeWorkloadFinalizer(workloads, observed, signal) };
  }
  if (pruned.isInProgress || isReplaceable(written, intent)) {
    return { record: written, next: requeueAfter(settings.retrySeconds) };
  }
  const next = intent.kind === "deleted" && timeoutInSeconds > 0 ? requeueAfter(Math.min(timeoutInSeconds, 300)) : done;
  return { record: written, next };
}

/** Clusters that have a copy again. A cluster that does not answer now has reported before that it has none. */
async function findReappearedCopies(
  tools: SyncTools,
  { observed, clusters }: Pruned,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const ready = clusters.filter((name) => observed.targetClusters.get(name)?.isReady === true);
  const states = await allSettledOrThrow(
    ready.map((name) => readCopy(tools, observed, name, signal, { isUncached: true })),
  );
  return ready.filter((_, index) => states[index]?.kind === "there");
}

async function removeWorkloadFinalizer(
  workloads: WorkloadHub,
  { key, workload, intent }: Observed,
  signal: AbortSignal,
): Promise<Next> {
  const finalizers = workload?.metadata.finalizers ?? [];
  if (workload !== undefined && intent.kind !== "placed" && finalizers.includes(syncFinalizer)) {
    await workloads.writeFinalizers(
      key,
      workload,
      finalizers.filter((each) => each !== syncFinalizer),
      signal,
    );
  }
  return done;
}

/** Seconds until a deletion no longer waits for clusters that are not Ready; 0 for a workload that is not being deleted. */
function deletionTimeoutInSeconds(workload: Workload | undefined, nowMs: number, settings: SyncSettings): number {
  const sinceMs = Date.parse(workload?.metadata.deletionTimestamp ?? "");
  return Number.isNaN(sinceMs) ? 0 : Math.ceil((sinceMs + settings.deletionTimeoutSeconds * 1000 - nowMs) / 1000);
}
