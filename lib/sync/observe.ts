import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import { referenceTypes, typeId } from "../api/workload-kinds.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import { allDone } from "../model/all-done.ts";
import { type ObjectKey, type WorkloadKey, workloadAddress } from "../model/key.ts";
import { controlsOf } from "./control-annotations.ts";
import { decideIntent, referenceId } from "./decide.ts";
import { type Reference, referencesOf } from "./dependencies/references.ts";
import { isServerMade } from "./desired/server-created.ts";
import { governorOf, type Scope } from "./governing-placement.ts";
import { type Scene, type SyncTools, seeCopy } from "./observed.ts";
import type { Locator } from "./ownership/namespace-map.ts";
import { recordName, syncFinalizer } from "./ownership/record.ts";
import { birthplaceOf } from "./ownership/upsync-origin.ts";
import type { Workload } from "./sync-objects.ts";
import { syncClusterOf } from "./targets/sync-cluster.ts";
import type { WorkloadHub } from "./workload-hub.ts";

/** Gathers what one look at a workload is about; undefined when it is none of our business. */
export async function observe(tools: SyncTools, key: WorkloadKey, signal: AbortSignal): Promise<Scene | undefined> {
  const { hub, workloads, settings, homes, pace } = tools;
  const address = workloadAddress(key);
  const type = workloads.types.find(({ type: each }) => address !== undefined && typeId(each) === typeId(address.type));
  if (address === undefined || type === undefined) return undefined;
  const { cluster } = key;
  const { namespace } = address;
  const [workload, record, listed, registrations, namespaceLabels] = await allDone([
    workloads.read(key, signal),
    workloads.readRecord({ cluster, namespace, name: recordName(address) }, signal),
    hub.list<WorkloadPlacement & KubeObject>("WorkloadPlacement", cluster, signal),
    hub.list<ClusterRegistration & KubeObject>("ClusterRegistration", cluster, signal),
    workloads.namespaceLabels(cluster, namespace, signal),
  ]);
  if (workload === undefined && record === undefined) return undefined;
  const clusters = new Map(registrations.map((each) => [each.metadata.name ?? "", syncClusterOf(each)]));
  const placements = await withRecorded(hub, { cluster, listed, recorded: record?.spec.placement }, signal);
  const scope = { placements, namespace, namespaceLabels };
  const governor =
    workload === undefined || workload.metadata.deletionTimestamp !== undefined || isMadeByServer(workload)
      ? {}
      : governorOf(scope, { ...type, labels: workload.metadata.labels }, record?.spec.placement);
  const { placement } = governor;
  const hasFinalizer = workload?.metadata.finalizers?.includes(syncFinalizer) === true;
  const birthplace = workload && birthplaceOf({ ...type, metadata: workload.metadata }, cluster);
  if (record === undefined && placement === undefined && !hasFinalizer && birthplace === undefined) return undefined;
  const locator: Locator = { hub: settings.hubId, cluster, namespace };
  const { references, ownPlaces } =
    workload === undefined || placement === undefined
      ? { references: [], ownPlaces: new Map<string, readonly string[]>() }
      : await withoutGoverned(workloads, { key, scope, references: referencesOf(workload) }, signal);
  const controls = controlsOf(workload);
  const stopped = governor.problem ?? controls.stopped;
  const home = birthplace && (await homes?.see(birthplace, address, signal));
  const known = pace?.unwritten(key, record) ?? record?.status?.clusters ?? [];
  const base = { key, address, type, workload, record, known, placements, clusters, locator, home, ownPlaces };
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
    cluster,
    listed,
    recorded,
  }: Readonly<{ cluster: string; listed: readonly WorkloadPlacement[]; recorded: string | undefined }>,
  signal: AbortSignal,
): Promise<readonly WorkloadPlacement[]> {
  if (recorded === undefined || listed.some(({ metadata }) => metadata.name === recorded)) return listed;
  const key: ObjectKey = { cluster, kind: "WorkloadPlacement", name: recorded };
  const unlisted = await hub.confirm<WorkloadPlacement & KubeObject>(key, signal);
  return unlisted === undefined ? listed : [...listed, unlisted];
}

/** What comes along, and where what does not is by a placement of its own. */
type Parted = Readonly<{ references: readonly Reference[]; ownPlaces: Scene["ownPlaces"] }>;

/** What has a placement of its own comes by that, and not along with others. */
async function withoutGoverned(
  workloads: WorkloadHub,
  { key, scope, references }: Readonly<{ key: WorkloadKey; scope: Scope; references: readonly Reference[] }>,
  signal: AbortSignal,
): Promise<Parted> {
  const ownPlaces = new Map<string, readonly string[]>();
  const left = await allDone(
    references.map(async (reference) => {
      const { kind, name } = reference;
      const isNamed = scope.placements.some(({ spec: { workloadSelector: selector } }) =>
        selector?.workloadTypes === undefined
          ? selector !== undefined && kind === "PersistentVolumeClaim"
          : selector.workloadTypes.some((each) => each.kind === kind),
      );
      if (!isNamed) return reference;
      const objects = await workloads.list(key.cluster, referenceTypes[kind], signal);
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
  scene: Omit<Scene, "intent" | "controls">,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const found = await allDone(
    [...scene.clusters.values()].map(async ({ name, isReady }) => {
      if (!isReady) return name;
      const { kind } = await seeCopy(tools, scene, name, signal);
      return kind === "there" || kind === "unknown" ? name : undefined;
    }),
  );
  return found.filter((name) => name !== undefined);
}
