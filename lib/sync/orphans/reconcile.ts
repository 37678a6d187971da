import type { Clock } from "@tmc/kube/clock.ts";
import { createDeadline } from "@tmc/kube/deadline.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../../api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import type { WorkloadSync } from "../../api/workload-sync.ts";
import { findCondition } from "../../model/condition.ts";
import type { Hub } from "../../model/hub.ts";
import { formatKey, type ObjectKey, type WorkloadKey, workloadKey } from "../../model/key.ts";
import { formatTimestamp } from "../../model/timestamp.ts";
import type { WorkItem } from "../../model/work-item.ts";
import { done, type Next, requeueAfter } from "../../model/work-item.ts";
import { unrecordedReferences } from "../dependencies/prune.ts";
import { referenceId } from "../dependencies/references.ts";
import { registrationKey, withRecordedPlacement } from "../observed.ts";
import { resolvePlacement } from "../selection.ts";
import type { WorkloadHub } from "../workload-hub.ts";
import {
  confirmedOrphans,
  isOrphaned,
  isUnaccountedFor,
  type OwnedObject,
  type OwnerFacts,
  owningRegistrations,
  withOrphanedCopies,
} from "./decide.ts";

/** Finds the orphaned copies on the cluster of a registration, under its key and after its health. */
export type ReconcileOrphans = (item: WorkItem<ObjectKey>, signal: AbortSignal) => Promise<Next>;

/** Upstream reads that never use a cache: only the server proves that an object is gone. */
export interface OwnerReads {
  /** The workload and its sync record as the server has them. Throws if it cannot be asked. */
  readOwner(key: WorkloadKey, signal: AbortSignal): Promise<Pick<OwnerFacts, "workload" | "record">>;
  /** All sync records of a logical cluster, read from the server. */
  listRecordsFromServer(logicalCluster: string, signal: AbortSignal): Promise<readonly WorkloadSync[]>;
}

/** The objects on clusters that TMC owns. */
export interface OwnedObjects {
  /** The objects of this tenant on a cluster that `keep` accepts, all or none: throws a fault if the cluster does not list them. */
  list(
    registration: ObjectKey,
    keep: (object: OwnedObject) => boolean,
    signal: AbortSignal,
  ): Promise<readonly OwnedObject[]>;
  /** Deletes an object, if it still is the one that was listed and has the same owner. */
  remove(registration: ObjectKey, object: OwnedObject, signal: AbortSignal): Promise<void>;
}

export type OrphanTools = Readonly<{
  hub: Pick<Hub, "read" | "confirm" | "list" | "writeStatus">;
  workloads: Pick<WorkloadHub, "types" | "list" | "listRecords" | "namespaceLabels"> & OwnerReads;
  ownedObjects: OwnedObjects;
  clock: Clock;
  /** Called with the number of orphaned copies that the status of a registration reports. */
  onCount?: ((registration: ObjectKey, count: number) => void) | undefined;
}>;

/** A cluster is scanned at most this often: shorter than the resync period of functions, whose every resync scans. */
const scanIntervalMs = 25 * 60_000;
/** The time that a scan may take; well below the timeout of a reconcile. A longer one ends without a result, and the next resync scans again. */
const scanTimeoutMs = 8_000;
/** A confirmed deletion is checked again after this time: cluster controllers delete what depends on an object first. */
const deletionCheckSeconds = 5;

/**
 * Creates the reconciler that counts copies that no sync record accounts for on the status of their registration. They remain
 * when a registration was released before its cluster could be cleaned up, or when a backup brings them back. TMC deletes them
 * only after a user has confirmed it.
 *
 * Clusters are scanned with resyncs, on demand and for a confirmation, by lists of metadata: an idle cluster costs one list
 * per type and half an hour.
 */
export function orphanReconciler(tools: OrphanTools): ReconcileOrphans {
  const { hub, clock, onCount } = tools;
  const scannedMs = new Map<string, number>();
  return async ({ key, reason }, signal) => {
    const id = formatKey(key);
    const registration = await hub.read<ClusterRegistration & KubeObject>(key, signal);
    onCount?.(key, registration?.status?.orphanedCopies?.count ?? 0);
    if (registration === undefined || registration.metadata.deletionTimestamp !== undefined) {
      scannedMs.delete(id);
      return done;
    }
    const confirmedCount = confirmedOrphans(registration);
    const ageMs = clock.monotonicMs() - (scannedMs.get(id) ?? Number.NEGATIVE_INFINITY);
    const isDue = reason === "on-demand" || confirmedCount > 0 || (reason === "resync" && ageMs >= scanIntervalMs);
    if (!isDue || findCondition(registration.status?.conditions, "Ready")?.status !== "True") return done;
    scannedMs.set(id, clock.monotonicMs());
    const orphans = await tryFindOrphans(tools, key, signal);
    if (orphans === undefined) {
      scannedMs.delete(id);
      return done;
    }
    const before = registration.status ?? {};
    const status = withOrphanedCopies(before, orphans, formatTimestamp(clock.now()));
    if (status !== before) await hub.writeStatus(key, registration, status, signal);
    onCount?.(key, orphans.length);
    // More than a user has seen are not deleted: something else may have happened since.
    if (orphans.length === 0 || orphans.length > confirmedCount) return done;
    const records = await tools.workloads.listRecordsFromServer(key.logicalCluster, signal);
    for (const orphan of orphans) {
      // Right before each deletion: its workload may have been created or placed here again.
      if (!orphan.isDeleting && (await isStillOrphaned(tools, { key, object: orphan, records }, signal))) {
        await tools.ownedObjects.remove(key, orphan, signal);
      }
    }
    return requeueAfter(deletionCheckSeconds);
  };
}

/** Undefined if cluster or upstream did not answer in time: nothing is concluded from that, and the next resync tries again. */
async function tryFindOrphans(
  tools: OrphanTools,
  key: ObjectKey,
  signal: AbortSignal,
): Promise<readonly OwnedObject[] | undefined> {
  const deadline = createDeadline(tools.clock, { signal, timeoutMs: scanTimeoutMs });
  try {
    return await findOrphans(tools, key, deadline.signal);
  } catch (error) {
    signal.throwIfAborted();
    // The registration's Ready condition reports why a cluster does not respond.
    if (deadline.expired || faultOf(error) !== undefined) return undefined;
    throw error;
  } finally {
    deadline.end();
  }
}

async function findOrphans(tools: OrphanTools, key: ObjectKey, signal: AbortSignal): Promise<readonly OwnedObject[]> {
  const { workloads, ownedObjects } = tools;
  const isCandidate = isUnaccountedFor(await workloads.listRecords(key.logicalCluster, signal), key.name);
  const candidates = await ownedObjects.list(key, isCandidate, signal);
  if (candidates.length === 0) return [];
  // The list above may come from a cache that lags. Other records than an object's own are not read one by one below.
  const records = await workloads.listRecordsFromServer(key.logicalCluster, signal);
  const registrations = await registrationsOf(tools, key, candidates, signal);
  const orphans: OwnedObject[] = [];
  for (const candidate of candidates) {
    if (!registrations.has(candidate.owner.registration)) continue;
    if (await isStillOrphaned(tools, { key, object: candidate, records }, signal)) orphans.push(candidate);
  }
  return orphans;
}

/**
 * The registrations whose copies are reported here: this one, and those that do not exist any more. Another registration
 * that points to the same cluster reports its own.
 */
async function registrationsOf(
  { hub }: OrphanTools,
  key: ObjectKey,
  candidates: readonly OwnedObject[],
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const shown = new Set([key.name]);
  for (const name of owningRegistrations(candidates)) {
    if (name === key.name) continue;
    const other = await hub.confirm(registrationKey(key.logicalCluster, name), signal);
    if (other === undefined) shown.add(name);
  }
  return shown;
}

type OrphanCheck = Readonly<{
  /** The key of the registration whose cluster has the object. */
  key: ObjectKey;
  object: OwnedObject;
  /** All sync records of the logical cluster, as the server has them. */
  records: readonly WorkloadSync[];
}>;

/** Asks the server whether an object is orphaned. */
async function isStillOrphaned(
  { hub, workloads }: OrphanTools,
  { key, object, records }: OrphanCheck,
  signal: AbortSignal,
): Promise<boolean> {
  const { type, owner } = object;
  const { logicalCluster, namespace, name } = owner;
  if (!isUnaccountedFor(records, key.name)(object)) return false;
  const owned = await workloads.readOwner(workloadKey(logicalCluster, { type: type.type, namespace, name }), signal);
  const { workload, record } = owned;
  const base = { ...owned, registration: key.name, placement: undefined, mayBeNeeded: false };
  // Further reads only where the first ones do not decide.
  if (workload === undefined || !isOrphaned(object, base)) return isOrphaned(object, base);
  const recorded = record?.spec.placement;
  const listed = await hub.list<WorkloadPlacement & KubeObject>("WorkloadPlacement", logicalCluster, signal);
  const placements = await withRecordedPlacement(hub, { logicalCluster, listed, recorded }, signal);
  const namespaceLabels = await workloads.namespaceLabels(logicalCluster, namespace, signal);
  const scope = { placements, namespace, namespaceLabels };
  const { placement } = resolvePlacement(scope, { ...type, labels: workload.metadata.labels }, recorded);
  const unrecorded = type.isOffered
    ? new Set<string>()
    : await unrecordedReferences(workloads, { logicalCluster, namespace, records }, signal);
  return isOrphaned(object, { ...base, placement, mayBeNeeded: unrecorded.has(referenceId(owner)) });
}
