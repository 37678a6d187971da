import type { WorkloadSync } from "../../api/workload-sync.ts";
import { allSettledOrThrow } from "../../model/concurrency.ts";
import { done, type Next, requeueAfter } from "../../model/next.ts";
import { referenceId } from "../decide.ts";
import type { Pruned } from "../dependencies/prune.ts";
import { type Observed, readCopy, type SyncTools } from "../observed.ts";
import type { SyncSettings } from "../settings.ts";
import type { Workload } from "../sync-objects.ts";
import type { Outcome } from "../targets/apply.ts";
import type { WorkloadHub } from "../workload-hub.ts";
import { isSameSpec, syncFinalizer } from "./record.ts";

/** How a look ends. */
type Ending = Readonly<{ left: readonly Outcome[]; collected: Pruned }>;

/** The record as it is then, and when to look again. */
export type Finished = Readonly<{ record: WorkloadSync | undefined; next: Next }>;

/** Takes from the record what it need not name any more, and lets go of what nothing holds back. */
export async function finish(tools: SyncTools, { left, collected }: Ending, signal: AbortSignal): Promise<Finished> {
  const { workloads, clock, settings } = tools;
  const { scene } = collected;
  const { key, address, workload, record, intent } = scene;
  if (record === undefined) return { record, next: await releaseWorkload(workloads, scene, signal) };
  const at = { logicalCluster: key.logicalCluster, namespace: address.namespace, name: record.metadata.name ?? "" };
  const uncleared = (record.spec.pendingCleanup ?? []).filter((name) => !collected.clusters.includes(name));
  const clusters = intent.clusters.filter((name) => ![...collected.clusters, ...uncleared].includes(name));
  const gone = new Set(collected.references.map(referenceId));
  const references = intent.recordedReferences.filter((reference) => !gone.has(referenceId(reference)));
  const abandonIn = abandonSeconds(workload, clock.now(), settings);
  const isAbandoned =
    intent.kind === "deleted" &&
    workload !== undefined &&
    abandonIn <= 0 &&
    left.every(({ record: entry }) => entry.reason === "ClusterNotReady");
  const isOver = clusters.length === 0 && uncleared.length === 0 && intent.kind !== "wanted";
  // Much was written since the clusters were asked, and who has not heard of the end yet may have put a copy back meanwhile.
  const back = isOver ? await comeBack(tools, collected, signal) : [];
  if (back.length > 0) {
    const named = [...new Set([...(record.spec.clusters ?? []), ...back])].toSorted();
    const pendingCleanup = uncleared.filter((name) => !back.includes(name));
    const spec: WorkloadSync["spec"] = { ...record.spec, clusters: named, pendingCleanup };
    const written = await workloads.writeRecord(at, record, { spec, metadata: record.metadata }, signal);
    return { record: written, next: requeueAfter(settings.retrySeconds) };
  }
  const { placement, ...rest } = record.spec;
  const spec: WorkloadSync["spec"] = {
    ...rest,
    ...(placement === undefined || isOver ? {} : { placement }),
    clusters,
    pendingCleanup: uncleared,
    references: isOver ? [] : references,
    ...(isAbandoned && clusters.length + uncleared.length > 0 ? { deleted: true } : {}),
  };
  const finalizers = (record.metadata.finalizers ?? []).filter((each) => !isOver || each !== syncFinalizer);
  const isLetGo = finalizers.length !== (record.metadata.finalizers ?? []).length;
  const written =
    isLetGo || !isSameSpec(record.spec, spec)
      ? await workloads.writeRecord(at, record, { spec, metadata: { ...record.metadata, finalizers } }, signal)
      : record;
  if (isOver || isAbandoned) return { record: written, next: await releaseWorkload(workloads, scene, signal) };
  if (collected.isUnderWay) return { record: written, next: requeueAfter(settings.retrySeconds) };
  const next = intent.kind === "deleted" && abandonIn > 0 ? requeueAfter(Math.min(abandonIn, 300)) : done;
  return { record: written, next };
}

/** Clusters that have a copy after all; one that does not answer has said before that it has none. */
async function comeBack(
  tools: SyncTools,
  { scene, clusters }: Pruned,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const asked = clusters.filter((name) => scene.clusters.get(name)?.isReady === true);
  const sightings = await allSettledOrThrow(
    asked.map((name) => readCopy(tools, scene, name, signal, { isAsked: true })),
  );
  return asked.filter((_, index) => sightings[index]?.kind === "there");
}

async function releaseWorkload(
  workloads: WorkloadHub,
  { key, workload, intent }: Observed,
  signal: AbortSignal,
): Promise<Next> {
  const finalizers = workload?.metadata.finalizers ?? [];
  if (workload !== undefined && intent.kind !== "wanted" && finalizers.includes(syncFinalizer)) {
    await workloads.writeFinalizers(
      key,
      workload,
      finalizers.filter((each) => each !== syncFinalizer),
      signal,
    );
  }
  return done;
}

function abandonSeconds(workload: Workload | undefined, nowMs: number, settings: SyncSettings): number {
  const since = Date.parse(workload?.metadata.deletionTimestamp ?? "");
  return Number.isNaN(since) ? 0 : Math.ceil((since + settings.abandonSeconds * 1000 - nowMs) / 1000);
}
