import type { Clock } from "@tmc/kube/clock.ts";
import { faultOf, oneLine } from "@tmc/kube/errors.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import { referenceTypes, typeId, type WorkloadType } from "../api/workload-kinds.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import type { WorkloadSync } from "../api/workload-sync.ts";
import { allSettledOrThrow } from "../model/concurrency.ts";
import type { Hub } from "../model/hub.ts";
import { type ObjectKey, parseWorkloadKey, type WorkloadAddress, type WorkloadKey } from "../model/key.ts";
import type { BurstGate } from "./burst-gate.ts";
import { withClusterTimeout } from "./cluster-timeout.ts";
import { type Controls, controlsOf } from "./control-annotations.ts";
import { decideIntent, type Intent, writtenClustersOf } from "./decide.ts";
import { type Reference, referenceId, referencesOf } from "./dependencies/references.ts";
import { isServerCreated } from "./desired/server-fields.ts";
import type { CopyAddress, Downstream } from "./downstream.ts";
import { readRetainedVolumes } from "./eviction/volumes.ts";
import { downstreamNamespace, type Locator } from "./ownership/namespace-map.ts";
import type { Owner } from "./ownership/owner.ts";
import { isSameWorkload, recordName, syncFinalizer } from "./ownership/record.ts";
import { upsyncOriginOf } from "./ownership/upsync-origin.ts";
import { resolvePlacement, type SelectionScope } from "./selection.ts";
import type { SyncSettings } from "./settings.ts";
import type { StatusDebounce } from "./status/debounce.ts";
import type { UpsyncOriginState, UpsyncOrigins } from "./status/upsync-origin-status.ts";
import type { CopyRecord, DownstreamState, TargetCluster, Workload } from "./sync-objects.ts";
import type { Blocker } from "./targets/decide.ts";
import type { TypeBlocker } from "./targets/served-types.ts";
import { targetClusterOf } from "./targets/target-cluster.ts";
import type { WorkloadHub } from "./workload-hub.ts";

/** The interfaces and settings that the sync reconciler works with. */
export type SyncTools = Readonly<{
  /** Registrations and placements. */
  hub: Hub;
  workloads: WorkloadHub;
  downstream: Downstream;
  clock: Clock;
  settings: SyncSettings;
  /** Delays status writes during rollouts. @default every status is written at once */
  debounce?: StatusDebounce | undefined;
  /** In a burst of new workloads, delays copies until all are protected upstream. @default copies are written at once */
  burstGate?: BurstGate | undefined;
  /** Why workloads of a kind are not synced: the hub runs them itself. @default they are synced */
  hubBlocker?: ((kind: string) => Blocker | undefined) | undefined;
  /** Reads the originals of upsynced workloads. @default they are not read */
  upsyncOrigins?: UpsyncOrigins | undefined;
  /** Called after every downstream write and every newly held deletion, for metrics. */
  onCopyAction?: ((action: CopyAction) => void) | undefined;
  /** Enqueues a placement, with a delay, to update what it reports about its workloads. @default the next resync does */
  notifyPlacement?: ((key: ObjectKey) => Promise<void>) | undefined;
}>;

/** An action on a copy, as metrics count it. */
export type CopyAction = Readonly<{
  key: WorkloadKey;
  targetCluster: string;
  action: "new" | "changed" | "drifted" | "adopted" | "removed" | "released" | "held";
}>;

/** The facts that one reconcile of a workload works on. */
export type Observed = Readonly<{
  key: WorkloadKey;
  address: WorkloadAddress;
  type: WorkloadType;
  workload: Workload | undefined;
  record: WorkloadSync | undefined;
  /** The last known state of each copy: from the record, or newer if the debounce has not written it yet. */
  previousCopies: readonly CopyRecord[];
  placements: readonly WorkloadPlacement[];
  /** All registered clusters of the logical cluster, by name. */
  targetClusters: ReadonlyMap<string, TargetCluster>;
  intent: Intent;
  controls: Controls;
  locator: Locator;
  /** The cluster that has the original, if the workload was upsynced and the original is still read. */
  upsyncOrigin: UpsyncOriginState | undefined;
  /** Names of the PersistentVolumeClaims whose data a move would leave behind; empty if the workload may move. */
  retainedClaims: readonly string[];
  /** Referenced objects that have a placement of their own, by `referenceId`, with the clusters that it selects. */
  placedReferences: ReadonlyMap<string, readonly string[]>;
}>;

export function registrationKey(logicalCluster: string, name: string): ObjectKey {
  return { logicalCluster, kind: "ClusterRegistration", name };
}

/** The address of a workload's copy on a cluster. */
export function copyAddress(
  { key, address, locator }: Pick<Observed, "key" | "address" | "locator">,
  targetCluster: string,
): CopyAddress {
  const object = { type: address.type, namespace: downstreamNamespace(locator), name: address.name };
  return { registration: registrationKey(key.logicalCluster, targetCluster), object };
}

/** The owner that a workload's copy on a cluster must name. */
export function copyOwner(
  { address, locator, type }: Pick<Observed, "address" | "locator" | "type">,
  targetCluster: string,
): Owner {
  return { ...locator, registration: targetCluster, apiVersion: type.apiVersion, kind: type.kind, name: address.name };
}

export type ReadTools = Pick<SyncTools, "downstream" | "clock" | "settings">;

/** How to read a copy: whether the cache may say that it is absent, or whether the cache must not be used at all. */
type ReadOptions = Readonly<{ acceptCachedAbsence?: boolean; isUncached?: boolean }>;

/** Reads the copy on a cluster. A cluster that cannot be read yields `unknown` and does not fail the reconcile. */
export async function readCopy(
  tools: ReadTools,
  observed: Pick<Observed, "key" | "address" | "locator" | "type">,
  targetCluster: string,
  signal: AbortSignal,
  { acceptCachedAbsence = false, isUncached = false }: ReadOptions = {},
): Promise<DownstreamState> {
  const address = copyAddress(observed, targetCluster);
  const owner = copyOwner(observed, targetCluster);
  try {
    return await withClusterTimeout(tools, targetCluster, signal, (clusterSignal) =>
      isUncached
        ? tools.downstream.readCopyUncached(address, owner, clusterSignal)
        : tools.downstream.readCopy(address, owner, clusterSignal, { acceptCachedAbsence }),
    );
  } catch (error) {
    signal.throwIfAborted();
    if (faultOf(error) === undefined) throw error;
    return { kind: "unknown", message: oneLine(error instanceof Error ? error.message : "the cluster cannot be read") };
  }
}

/** Reads the copy on every cluster that has one or may have one, except where the type itself is blocked. */
export async function readCopies(
  tools: ReadTools,
  { observed, typeBlockers }: Readonly<{ observed: Observed; typeBlockers: ReadonlyMap<string, TypeBlocker> }>,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, DownstreamState>> {
  const { key, targetClusters, previousCopies, intent, address } = observed;
  const { downstream } = tools;
  const referenceKinds = [...new Set(intent.recordedReferences.map(({ kind }) => kind))];
  const types = [address.type, ...referenceKinds.map((kind) => referenceTypes[kind])];
  const applied = new Set(writtenClustersOf(previousCopies));
  const states = await allSettledOrThrow(
    intent.clusters.map(async (name): Promise<[string, DownstreamState]> => {
      if (targetClusters.get(name)?.isReady !== true) {
        return [name, { kind: "unknown", message: "the cluster is not ready" }];
      }
      const typeBlocker = typeBlockers.get(name);
      if (typeBlocker !== undefined) return [name, { kind: "unknown", message: typeBlocker.blocker.message }];
      downstream.subscribe(registrationKey(key.logicalCluster, name), types);
      // Where a copy was written, or should not be, only the cluster itself can say that there is none.
      const acceptCachedAbsence = intent.targets.includes(name) && !applied.has(name);
      return [name, await readCopy(tools, observed, name, signal, { acceptCachedAbsence })];
    }),
  );
  return new Map(states);
}

/** Reads the facts that one reconcile works on; undefined when TMC has nothing to do with the workload. */
export async function observeWorkload(
  tools: SyncTools,
  key: WorkloadKey,
  signal: AbortSignal,
): Promise<Observed | undefined> {
  const { hub, workloads, settings, upsyncOrigins, debounce } = tools;
  const address = parseWorkloadKey(key);
  const type = workloads.types.find(({ type: each }) => address !== undefined && typeId(each) === typeId(address.type));
  if (address === undefined || type === undefined) return undefined;
  const { logicalCluster } = key;
  const { namespace } = address;
  const [known, listed, registrations, namespaceLabels] = await allSettledOrThrow([
    readWorkloadAndRecord(workloads, { key, address, type }, signal),
    hub.list<WorkloadPlacement & KubeObject>("WorkloadPlacement", logicalCluster, signal),
    hub.list<ClusterRegistration & KubeObject>("ClusterRegistration", logicalCluster, signal),
    workloads.namespaceLabels(logicalCluster, namespace, signal),
  ]);
  const { workload, record } = known;
  if (workload === undefined && record === undefined) return undefined;
  const targetClusters = new Map(registrations.map((each) => [each.metadata.name ?? "", targetClusterOf(each)]));
  // The placement of an earlier workload of the same name has no say about this one.
  const isOfEarlier = workload !== undefined && record !== undefined && !isSameWorkload(record, workload);
  const recorded = isOfEarlier ? undefined : record?.spec.placement;
  const placements = await withRecordedPlacement(hub, { logicalCluster, listed, recorded }, signal);
  const scope = { placements, namespace, namespaceLabels };
  const { placement, blocker: selectorBlocker } =
    workload === undefined || workload.metadata.deletionTimestamp !== undefined || isCreatedByController(workload)
      ? {}
      : resolvePlacement(scope, { ...type, labels: workload.metadata.labels }, recorded);
  const hasFinalizer = workload?.metadata.finalizers?.includes(syncFinalizer) === true;
  const origin = workload && upsyncOriginOf({ ...type, metadata: workload.metadata }, logicalCluster);
  if (record === undefined && placement === undefined && !hasFinalizer && origin === undefined) return undefined;
  const locator: Locator = { hub: settings.hubId, logicalCluster, namespace };
  const { references, placedReferences } =
    workload === undefined || placement === undefined
      ? { references: [], placedReferences: new Map<string, readonly string[]>() }
      : await splitReferences(workloads, { key, scope, references: referencesOf(workload) }, signal);
  const controls = controlsOf(workload);
  const upsyncOrigin =
    origin && (await upsyncOrigins?.read(origin, { address, labels: workload?.metadata.labels }, signal));
  const previousCopies = debounce?.unwrittenCopies(key, record) ?? record?.status?.clusters ?? [];
  const base = {
    key,
    address,
    type,
    workload,
    record,
    previousCopies,
    placements,
    targetClusters,
    locator,
    upsyncOrigin,
    placedReferences,
  };
  // A record that was lost is created again from what the clusters have.
  const unrecordedClusters = record === undefined && hasFinalizer ? await findCopies(tools, base, signal) : [];
  const volumeFacts = { key, namespace, workload, placement, previousCopies, targetClusters };
  const retainedVolumes = await readRetainedVolumes(tools, volumeFacts, signal);
  const intent = decideIntent({
    volumeClusters: retainedVolumes.clusters,
    workload,
    record,
    placement,
    references,
    unrecordedClusters,
    writtenClusters: writtenClustersOf(previousCopies),
    isClaimed: !type.isOffered,
    upsyncOriginCluster: origin?.registration,
  });
  const syncBlocker = tools.hubBlocker?.(type.kind) ?? selectorBlocker ?? controls.syncBlocker;
  return { ...base, controls: { ...controls, syncBlocker }, intent, retainedClaims: retainedVolumes.claims };
}

/**
 * Reads a workload and its sync record. After a restore of the server neither may exist, and the cache may still have one of
 * them, because each type is listed by itself. One without the other is therefore confirmed where something follows from it.
 */
async function readWorkloadAndRecord(
  workloads: WorkloadHub,
  { key, address, type }: Pick<Observed, "key" | "address" | "type">,
  signal: AbortSignal,
): Promise<Pick<Observed, "workload" | "record">> {
  const recordAddress = {
    logicalCluster: key.logicalCluster,
    namespace: address.namespace,
    name: recordName(address),
  };
  const [workload, record] = await allSettledOrThrow([
    workloads.read(key, signal),
    workloads.readRecord(recordAddress, signal),
  ]);
  // Without our finalizer, absence counts as deletion. Without the record, there was no copy to delete.
  const isDeletedByAbsence = workload === undefined && record !== undefined && !type.isOffered;
  if (isDeletedByAbsence) return { workload, record: await workloads.readRecordUncached(recordAddress, signal) };
  // A record that was lost is created again, but not for a workload that does not exist.
  const isRecordLost = record === undefined && workload?.metadata.finalizers?.includes(syncFinalizer) === true;
  return { workload: isRecordLost ? await workloads.readUncached(key, signal) : workload, record };
}

/** Adds the recorded placement to the listed ones if the server still has it: a list may lack it for a moment. */
export async function withRecordedPlacement(
  hub: Pick<SyncTools["hub"], "confirm">,
  {
    logicalCluster,
    listed,
    recorded,
  }: Readonly<{ logicalCluster: string; listed: readonly WorkloadPlacement[]; recorded: string | undefined }>,
  signal: AbortSignal,
): Promise<readonly WorkloadPlacement[]> {
  if (recorded === undefined || listed.some(({ metadata }) => metadata.name === recorded)) return listed;
  const key: ObjectKey = { logicalCluster, kind: "WorkloadPlacement", name: recorded };
  const unlisted = await hub.confirm<WorkloadPlacement & KubeObject>(key, signal);
  return unlisted === undefined ? listed : [...listed, unlisted];
}

/** The references that are distributed with the workload, and those that a placement of their own distributes. */
type SplitReferences = Readonly<{
  references: readonly Reference[];
  placedReferences: Observed["placedReferences"];
}>;

/** Separates the references that have a placement of their own, which are not distributed with the workload. */
async function splitReferences(
  workloads: WorkloadHub,
  { key, scope, references }: Readonly<{ key: WorkloadKey; scope: SelectionScope; references: readonly Reference[] }>,
  signal: AbortSignal,
): Promise<SplitReferences> {
  const placedReferences = new Map<string, readonly string[]>();
  const distributed = await allSettledOrThrow(
    references.map(async (reference) => {
      const { kind, name } = reference;
      const mayBeSelected = scope.placements.some(({ spec: { workloadSelector: selector } }) =>
        selector?.workloadTypes === undefined
          ? selector !== undefined && kind === "PersistentVolumeClaim"
          : selector.workloadTypes.some((each) => each.kind === kind),
      );
      if (!mayBeSelected) return reference;
      const objects = await workloads.list(key.logicalCluster, referenceTypes[kind], signal);
      const object = objects.find(({ metadata }) => metadata.namespace === scope.namespace && metadata.name === name);
      const found =
        object && resolvePlacement(scope, { apiVersion: "v1", kind, labels: object.metadata.labels }, undefined);
      if (found?.placement === undefined) return reference;
      placedReferences.set(referenceId(reference), found.placement.status?.selectedClusters ?? []);
      return undefined;
    }),
  );
  return { references: distributed.filter((reference) => reference !== undefined), placedReferences };
}

/** Whether servers or controllers create the object; every cluster creates its own then. */
function isCreatedByController({ kind, metadata }: Workload): boolean {
  return (
    isServerCreated(kind, metadata.name ?? "") ||
    metadata.ownerReferences?.some(({ controller }) => controller === true) === true
  );
}

/** Names of the clusters that have a copy, or may have one. */
async function findCopies(
  tools: SyncTools,
  observed: Omit<Observed, "intent" | "controls" | "retainedClaims">,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const found = await allSettledOrThrow(
    [...observed.targetClusters.values()].map(async ({ name, isReady }) => {
      if (!isReady) return name;
      const { kind } = await readCopy(tools, observed, name, signal);
      return kind === "there" || kind === "unknown" ? name : undefined;
    }),
  );
  return found.filter((name) => name !== undefined);
}
