import type { Clock } from "@tmc/kube/clock.ts";
import { faultOf, oneLine } from "@tmc/kube/errors.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import { referenceTypes, typeId, type WorkloadType } from "../api/workload-kinds.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import type { WorkloadSync } from "../api/workload-sync.ts";
import { allSettledOrThrow } from "../model/concurrency.ts";
import type { Hub } from "../model/hub.ts";
import { type ObjectKey, type WorkloadAddress, type WorkloadKey, workloadAddress } from "../model/key.ts";
import type { BurstGate } from "./burst-gate.ts";
import { withClusterTimeout } from "./cluster-timeout.ts";
import { type Controls, controlsOf } from "./control-annotations.ts";
import { decideIntent, type Intent, referenceId } from "./decide.ts";
import { type Reference, referencesOf } from "./dependencies/references.ts";
import { isServerMade } from "./desired/server-fields.ts";
import type { CopyAddress, Downstream } from "./downstream.ts";
import { downstreamNamespace, type Locator } from "./ownership/namespace-map.ts";
import type { Owner } from "./ownership/owner.ts";
import { recordName, syncFinalizer } from "./ownership/record.ts";
import { upsyncOriginOf } from "./ownership/upsync-origin.ts";
import { governorOf, type Scope } from "./selection.ts";
import type { SyncSettings } from "./settings.ts";
import type { StatusDebounce } from "./status/debounce.ts";
import type { UpsyncOriginState, UpsyncOrigins } from "./status/upsync-origin-status.ts";
import type { CopyRecord, DownstreamState, TargetCluster, Workload } from "./sync-objects.ts";
import type { TypeBlocker } from "./targets/served-types.ts";
import { targetClusterOf } from "./targets/sync-cluster.ts";
import type { WorkloadHub } from "./workload-hub.ts";

/** What sync works with. */
export type SyncTools = Readonly<{
  /** Registrations and placements. */
  hub: Hub;
  workloads: WorkloadHub;
  downstream: Downstream;
  clock: Clock;
  settings: SyncSettings;
  /** Holds back reports of what passes. @default everything is written at once */
  debounce?: StatusDebounce | undefined;
  /** Has many that come at once made safe before any is put on clusters. @default each is put there at once */
  burstGate?: BurstGate | undefined;
  /** Tells how the originals of workloads are that were born on clusters. @default nobody asks */
  upsyncOrigins?: UpsyncOrigins | undefined;
  /** Hears of every write to a cluster, for counting. */
  onCopy?: ((news: CopyAction) => void) | undefined;
  /** Has a placement look, some seconds later, at what has become of its workloads. @default the next resync does */
  notifyPlacement?: ((key: ObjectKey) => Promise<void>) | undefined;
}>;

/** Something that was done to a copy. */
export type CopyAction = Readonly<{
  key: WorkloadKey;
  targetCluster: string;
  action: "new" | "changed" | "drifted" | "adopted" | "removed" | "released" | "held";
}>;

/** All that one look at a workload is about. */
export type Observed = Readonly<{
  key: WorkloadKey;
  address: WorkloadAddress;
  type: WorkloadType;
  workload: Workload | undefined;
  record: WorkloadSync | undefined;
  /** What was last found of each copy: what the record says, or what has been found since and is not yet written. */
  known: readonly CopyRecord[];
  placements: readonly WorkloadPlacement[];
  clusters: ReadonlyMap<string, TargetCluster>;
  intent: Intent;
  controls: Controls;
  locator: Locator;
  /** The cluster that has the original, where the workload was born on one and is followed there. */
  upsyncOrigin: UpsyncOriginState | undefined;
  /** Where things that it refers to are, or will be, by placements of their own; by `referenceId`. */
  placedReferences: ReadonlyMap<string, readonly string[]>;
}>;

/** The registration of a cluster. */
export function registrationKey(logicalCluster: string, name: string): ObjectKey {
  return { logicalCluster, kind: "ClusterRegistration", name };
}

/** Where the copy of a workload is on a cluster. */
export function copyAddress(
  { key, address, locator }: Pick<Observed, "key" | "address" | "locator">,
  name: string,
): CopyAddress {
  const object = { type: address.type, namespace: downstreamNamespace(locator), name: address.name };
  return { registration: registrationKey(key.logicalCluster, name), object };
}

/** Whose copy that is. */
export function copyOwner(
  { address, locator, type }: Pick<Observed, "address" | "locator" | "type">,
  name: string,
): Owner {
  return { ...locator, registration: name, apiVersion: type.apiVersion, kind: type.kind, name: address.name };
}

export type ReadTools = Pick<SyncTools, "downstream" | "clock" | "settings">;

/** How a copy is looked at: whether nothing may be presumed to be there, or only the cluster's own word counts. */
type Look = Readonly<{ mayPresume?: boolean; isAsked?: boolean }>;

/** What is known of the copy on a cluster. One that cannot be asked is no failure of the others. */
export async function readCopy(
  tools: ReadTools,
  scene: Pick<Observed, "key" | "address" | "locator" | "type">,
  name: string,
  signal: AbortSignal,
  { mayPresume = false, isAsked = false }: Look = {},
): Promise<DownstreamState> {
  try {
    return await withClusterTimeout(tools, name, signal, (itsSignal) =>
      isAsked
        ? tools.downstream.readCopyUncached(copyAddress(scene, name), copyOwner(scene, name), itsSignal)
        : tools.downstream.readCopy(copyAddress(scene, name), copyOwner(scene, name), itsSignal, { mayPresume }),
    );
  } catch (error) {
    signal.throwIfAborted();
    if (faultOf(error) === undefined) throw error;
    return { kind: "unknown", why: oneLine(error instanceof Error ? error.message : "it cannot be asked") };
  }
}

/** What is known of the copy on every cluster that has one or may have one, but for those whose type is in trouble. */
export async function readCopies(
  tools: ReadTools,
  { scene, troubles }: Readonly<{ scene: Observed; troubles: ReadonlyMap<string, TypeBlocker> }>,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, DownstreamState>> {
  const { clusters, intent, address } = scene;
  const { downstream } = tools;
  const kinds = [...new Set(intent.recordedReferences.map(({ kind }) => kind))];
  const types = [address.type, ...kinds.map((kind) => referenceTypes[kind])];
  const written = new Set(
    scene.known.flatMap(({ name, appliedHash: applied }) => (applied === undefined ? [] : [name])),
  );
  const seen = await allSettledOrThrow(
    intent.clusters.map(async (name): Promise<[string, DownstreamState]> => {
      if (clusters.get(name)?.isReady !== true) return [name, { kind: "unknown", why: "the cluster is not ready" }];
      const trouble = troubles.get(name);
      if (trouble !== undefined) return [name, { kind: "unknown", why: trouble.obstacle.message }];
      downstream.subscribe(registrationKey(scene.key.logicalCluster, name), types);
      // Where one was written, or should not be, that there is none is for the cluster to say.
      const mayPresume = intent.targets.includes(name) && !written.has(name);
      return [name, await readCopy(tools, scene, name, signal, { mayPresume })];
    }),
  );
  return new Map(seen);
}

/** Gathers what one look at a workload is about; undefined when it is none of our business. */
export async function observe(tools: SyncTools, key: WorkloadKey, signal: AbortSignal): Promise<Observed | undefined> {
  const { hub, workloads, settings, upsyncOrigins, debounce } = tools;
  const address = workloadAddress(key);
  const type = workloads.types.find(({ type: each }) => address !== undefined && typeId(each) === typeId(address.type));
  if (address === undefined || type === undefined) return undefined;
  const { logicalCluster } = key;
  const { namespace } = address;
  const [workload, record, listed, registrations, namespaceLabels] = await allSettledOrThrow([
    workloads.read(key, signal),
    workloads.readRecord({ logicalCluster, namespace, name: recordName(address) }, signal),
    hub.list<WorkloadPlacement & KubeObject>("WorkloadPlacement", logicalCluster, signal),
    hub.list<ClusterRegistration & KubeObject>("ClusterRegistration", logicalCluster, signal),
    workloads.namespaceLabels(logicalCluster, namespace, signal),
  ]);
  if (workload === undefined && record === undefined) return undefined;
  const clusters = new Map(registrations.map((each) => [each.metadata.name ?? "", targetClusterOf(each)]));
  const placements = await withRecorded(hub, { logicalCluster, listed, recorded: record?.spec.placement }, signal);
  const scope = { placements, namespace, namespaceLabels };
  const governor =
    workload === undefined || workload.metadata.deletionTimestamp !== undefined || isMadeByServer(workload)
      ? {}
      : governorOf(scope, { ...type, labels: workload.metadata.labels }, record?.spec.placement);
  const { placement } = governor;
  const hasFinalizer = workload?.metadata.finalizers?.includes(syncFinalizer) === true;
  const birthplace = workload && upsyncOriginOf({ ...type, metadata: workload.metadata }, logicalCluster);
  if (record === undefined && placement === undefined && !hasFinalizer && birthplace === undefined) return undefined;
  const locator: Locator = { hub: settings.hubId, logicalCluster, namespace };
  const { references, ownPlaces } =
    workload === undefined || placement === undefined
      ? { references: [], ownPlaces: new Map<string, readonly string[]>() }
      : await withoutGoverned(workloads, { key, scope, references: referencesOf(workload) }, signal);
  const controls = controlsOf(workload);
  const stopped = governor.problem ?? controls.stopped;
  const home = birthplace && (await upsyncOrigins?.see(birthplace, address, signal));
  const known = debounce?.unwritten(key, record) ?? record?.status?.clusters ?? [];
  const base = {
    key,
    address,
    type,
    workload,
    record,
    known,
    placements,
    clusters,
    locator,
    upsyncOrigin: home,
    placedReferences: ownPlaces,
  };
  // A record that was lost is made again from what the clusters have.
  const found = record === undefined && hasFinalizer ? await findCopies(tools, base, signal) : [];
  const intent = decideIntent({
    workload,
    record,
    placement,
    references,
    found,
    isClaimed: !type.isOffered,
    birthplace: birthplace?.registration,
  });
  return { ...base, controls: { ...controls, stopped }, intent };
}

/** The placements, with the one that the work is placed by: one that is in no list may only not have been seen. */
async function withRecorded(
  hub: SyncTools["hub"],
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

/** What comes along, and where what does not is by a placement of its own. */
type Parted = Readonly<{ references: readonly Reference[]; ownPlaces: Observed["placedReferences"] }>;

/** What has a placement of its own comes by that, and not along with others. */
async function withoutGoverned(
  workloads: WorkloadHub,
  { key, scope, references }: Readonly<{ key: WorkloadKey; scope: Scope; references: readonly Reference[] }>,
  signal: AbortSignal,
): Promise<Parted> {
  const ownPlaces = new Map<string, readonly string[]>();
  const left = await allSettledOrThrow(
    references.map(async (reference) => {
      const { kind, name } = reference;
      const isNamed = scope.placements.some(({ spec: { workloadSelector: selector } }) =>
        selector?.workloadTypes === undefined
          ? selector !== undefined && kind === "PersistentVolumeClaim"
          : selector.workloadTypes.some((each) => each.kind === kind),
      );
      if (!isNamed) return reference;
      const objects = await workloads.list(key.logicalCluster, referenceTypes[kind], signal);
      const object = objects.find(({ metadata }) => metadata.namespace === scope.namespace && metadata.name === name);
      const governor =
        object && governorOf(scope, { apiVersion: "v1", kind, labels: object.metadata.labels }, undefined);
      if (governor?.placement === undefined) return reference;
      ownPlaces.set(referenceId(reference), governor.placement.status?.selectedClusters ?? []);
      return undefined;
    }),
  );
  return { references: left.filter((reference) => reference !== undefined), ownPlaces };
}

/** What a hub makes by itself, every cluster makes by itself too. */
function isMadeByServer({ kind, metadata }: Workload): boolean {
  return (
    isServerMade(kind, metadata.name ?? "") ||
    metadata.ownerReferences?.some(({ controller }) => controller === true) === true
  );
}

/** Clusters that have a copy, or may have one. */
async function findCopies(
  tools: SyncTools,
  scene: Omit<Observed, "intent" | "controls">,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const found = await allSettledOrThrow(
    [...scene.clusters.values()].map(async ({ name, isReady }) => {
      if (!isReady) return name;
      const { kind } = await readCopy(tools, scene, name, signal);
      return kind === "there" || kind === "unknown" ? name : undefined;
    }),
  );
  return found.filter((name) => name !== undefined);
}
