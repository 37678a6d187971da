import type { WorkloadSync } from "../../api/workload-sync.ts";
import { allSettledOrThrow } from "../../model/concurrency.ts";
import { type Observed, registrationKey, type SyncTools } from "../observed.ts";
import { recordName, syncFinalizer } from "../ownership/record.ts";
import type { CopyOutcome } from "../targets/apply.ts";
import type { WorkloadHub } from "../workload-hub.ts";
import { removeDependencies } from "./distribute.ts";
import { type Reference, referenceId, referencesOf } from "./references.ts";

type PruneFacts = Readonly<{
  observed: Observed;
  targets: ReadonlyMap<string, CopyOutcome>;
  /** Clusters that lost their copy in this reconcile. */
  evicted: readonly string[];
}>;

/** What the record need not name any more. */
export type Pruned = Readonly<{
  /** The facts with the record as it was written last. */
  observed: Observed;
  clusters: readonly string[];
  references: readonly Pick<Reference, "kind" | "name">[];
  /** Whether a deletion is in progress, or the needs of other workloads are not known yet: the workload is requeued. */
  isInProgress: boolean;
}>;

/**
 * Deletes the dependencies of evicted copies that no other workload needs, and namespaces that are not used any more.
 *
 * If other workloads have copies on the same cluster, the record first says that this workload's copy is gone. Otherwise two
 * workloads that leave at the same time would each count the other as a user, and both would leave shared dependencies
 * behind.
 */
export async function pruneDependencies(
  tools: SyncTools,
  { observed, targets, evicted }: PruneFacts,
  signal: AbortSignal,
): Promise<Pruned> {
  const { workloads } = tools;
  const { key, address, intent, targetClusters } = observed;
  const neededIds = new Set(intent.references.map(referenceId));
  const dropped = intent.recordedReferences.filter((reference) => !neededIds.has(referenceId(reference)));
  const areTargetsCurrent = [...targets.values()].every(({ isCurrent }) => isCurrent);
  const pendingCleanup = [...new Set([...(observed.record?.spec.pendingCleanup ?? []), ...evicted])];
  // A cluster that is not Ready is cleaned up when it is back; one whose registration is gone is left as it is.
  const reachable = pendingCleanup.filter((name) => targetClusters.get(name)?.isReady === true);
  const unregistered = pendingCleanup.filter((name) => !targetClusters.has(name));
  const cleanups = [
    ...reachable.map((name) => ({ name, references: intent.recordedReferences, isEvicted: true })),
    ...(dropped.length > 0 && areTargetsCurrent
      ? intent.targets.map((name) => ({ name, references: dropped, isEvicted: false }))
      : []),
  ].filter(({ name }) => targetClusters.get(name)?.isReady === true);
  let current = observed;
  const inProgress = new Set<string>();
  if (cleanups.length > 0) {
    let others = otherRecords(await workloads.listRecords(key.logicalCluster, signal), observed);
    if (others.some((other) => evicted.some((name) => isOnCluster(other, name)))) {
      current = await recordPendingCleanup(tools, { observed, evicted, pendingCleanup }, signal);
      others = otherRecords(await workloads.listRecordsUncached(key.logicalCluster, signal), observed);
    }
    const hasReferences = cleanups.some(({ references }) => references.length > 0);
    const unrecorded = hasReferences
      ? await unrecordedReferences(
          workloads,
          { ...key, namespace: address.namespace, records: others, except: recordName(address) },
          signal,
        )
      : new Set<string>();
    for (const cleanup of cleanups) {
      const isDone = await cleanUpCluster(tools, { ...cleanup, observed: current, others, unrecorded }, signal);
      if (!isDone) inProgress.add(cleanup.name);
    }
  }
  // Copies that are still terminating, or are on a cluster that is not Ready, keep the record's references until later.
  const cleaned = [...reachable.filter((name) => !inProgress.has(name)), ...unregistered];
  const hasNoOtherCopies = intent.clusters.every((name) => intent.targets.includes(name) || evicted.includes(name));
  const isComplete =
    areTargetsCurrent && hasNoOtherCopies && inProgress.size === 0 && pendingCleanup.length === cleaned.length;
  return {
    observed: current,
    clusters: cleaned,
    references: isComplete ? dropped : [],
    isInProgress: inProgress.size > 0,
  };
}

type Cleanup = Readonly<{
  /** The name of the cluster. */
  name: string;
  /** The references to delete there if no other workload needs them. */
  references: Pruned["references"];
  /** Whether the workload has no copy there any more, so that its namespace may go too. */
  isEvicted: boolean;
  observed: Observed;
  /** The records of the other workloads in the namespace. */
  others: readonly WorkloadSync[];
  /** References of workloads whose records are not known, by `referenceId`. */
  unrecorded: ReadonlySet<string>;
}>;

/** Deletes unneeded dependencies and the unused namespace on one cluster; returns whether nothing is left to do there. */
async function cleanUpCluster(
  { downstream }: SyncTools,
  { name, references, isEvicted, observed, others, unrecorded }: Cleanup,
  signal: AbortSignal,
): Promise<boolean> {
  const { key, locator, placedReferences, record } = observed;
  const users = others.filter((other) => isOnCluster(other, name));
  // The referenced object may itself be a workload there, by a placement of its own.
  const needed = new Set(users.flatMap(({ spec }) => [...(spec.references ?? []), spec.workload].map(referenceId)));
  const unneeded = references.filter(
    (reference) =>
      !needed.has(referenceId(reference)) && placedReferences.get(referenceId(reference))?.includes(name) !== true,
  );
  const removable = unneeded.filter((reference) => !unrecorded.has(referenceId(reference)));
  const registration = registrationKey(key.logicalCluster, name);
  const areGone = await removeDependencies(downstream, { registration, locator, references: removable }, signal);
  // A dependency that is terminating, or that may be needed, keeps the namespace, and no other workload would come back for it.
  if (!areGone || removable.length < unneeded.length) return false;
  if (!isEvicted || users.length > 0) return true;
  if (await downstream.removeNamespace(registration, locator, signal)) return true;
  // Another workload that is still cleaning up may have counted this one as a user that stays and cleans up the rest.
  const isAnnounced = record?.spec.pendingCleanup?.includes(name) === true;
  return isAnnounced || !others.some(({ spec }) => spec.pendingCleanup?.includes(name));
}

/** The records of the other workloads in the namespace. */
function otherRecords(records: readonly WorkloadSync[], { address, record }: Observed): readonly WorkloadSync[] {
  return records.filter(
    ({ metadata }) => metadata.namespace === address.namespace && metadata.name !== record?.metadata.name,
  );
}

const isOnCluster = ({ spec }: WorkloadSync, targetCluster: string): boolean =>
  spec.clusters?.includes(targetCluster) === true;

/** Writes into the record that the copies are gone and that their dependencies may still exist. */
async function recordPendingCleanup(
  { workloads }: SyncTools,
  {
    observed,
    evicted,
    pendingCleanup,
  }: Readonly<{ observed: Observed; evicted: readonly string[]; pendingCleanup: readonly string[] }>,
  signal: AbortSignal,
): Promise<Observed> {
  const { key, address, record } = observed;
  if (record === undefined) return observed;
  const recordAddress = {
    logicalCluster: key.logicalCluster,
    namespace: address.namespace,
    name: record.metadata.name ?? "",
  };
  const clusters = (record.spec.clusters ?? []).filter((name) => !evicted.includes(name));
  const spec: WorkloadSync["spec"] = { ...record.spec, clusters, pendingCleanup: pendingCleanup.toSorted() };
  const written = await workloads.writeRecord(recordAddress, record, { spec, metadata: record.metadata }, signal);
  return { ...observed, record: written };
}

/**
 * The references, by `referenceId`, of the workloads in a namespace whose records are in no list. These workloads have the
 * finalizer and therefore a record that the list lacks: on which clusters they need their references is not known.
 */
export async function unrecordedReferences(
  workloads: Pick<WorkloadHub, "types" | "list">,
  { logicalCluster, namespace, records, except }: UnrecordedFacts,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const recorded = new Set([
    except,
    ...records.filter(({ metadata }) => metadata.namespace === namespace).map(({ metadata }) => metadata.name),
  ]);
  const lists = await allSettledOrThrow(
    workloads.types
      .filter(({ isOffered }) => isOffered)
      .map(async ({ type }) => {
        const objects = await workloads.list(logicalCluster, type, signal);
        return objects.filter(
          ({ metadata }) =>
            metadata.namespace === namespace &&
            metadata.deletionTimestamp === undefined &&
            metadata.finalizers?.includes(syncFinalizer) === true &&
            !recorded.has(recordName({ type, name: metadata.name ?? "" })),
        );
      }),
  );
  return new Set(lists.flat().flatMap(referencesOf).map(referenceId));
}

type UnrecordedFacts = Readonly<{
  logicalCluster: string;
  namespace: string;
  records: readonly WorkloadSync[];
  /** The name of a sync record whose workload does not count. @default none */
  except?: string | undefined;
}>;
