import type { Clock } from "@tmc/kube/clock.ts";
import { faultOf, oneLine } from "@tmc/kube/errors.ts";
import type { WorkloadType } from "../api/workload-kinds.ts";
import { referenceTypes } from "../api/workload-kinds.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import type { WorkloadSync } from "../api/workload-sync.ts";
import { allDone } from "../model/all-done.ts";
import type { Hub } from "../model/hub.ts";
import type { ObjectKey, WorkloadAddress, WorkloadKey } from "../model/key.ts";
import type { Rush } from "./burst-gate.ts";
import { onCluster } from "./cluster-timeout.ts";
import type { Controls } from "./control-annotations.ts";
import type { Intent } from "./decide.ts";
import type { CopyAddress, Fleet } from "./downstream.ts";
import { type Locator, namespaceOn } from "./ownership/namespace-map.ts";
import type { Origin } from "./ownership/owner.ts";
import type { SyncSettings } from "./settings.ts";
import type { ReportPace } from "./status/debounce.ts";
import type { Home, Homes } from "./status/upsync-origin-status.ts";
import type { CopyRecord, Sighting, SyncCluster, Workload } from "./sync-objects.ts";
import type { TypeTrouble } from "./targets/served-types.ts";
import type { WorkloadHub } from "./workload-hub.ts";

/** What sync works with. */
export type SyncTools = Readonly<{
  /** Registrations and placements. */
  hub: Hub;
  workloads: WorkloadHub;
  fleet: Fleet;
  clock: Clock;
  settings: SyncSettings;
  /** Holds back reports of what passes. @default everything is written at once */
  pace?: ReportPace | undefined;
  /** Has many that come at once made safe before any is put on clusters. @default each is put there at once */
  rush?: Rush | undefined;
  /** Tells how the originals of workloads are that were born on clusters. @default nobody asks */
  homes?: Homes | undefined;
  /** Hears of every write to a cluster, for counting. */
  onCopy?: ((news: CopyNews) => void) | undefined;
  /** Has a placement look, some seconds later, at what has become of its workloads. @default the next resync does */
  tellPlacement?: ((key: ObjectKey) => Promise<void>) | undefined;
}>;

/** Something that was done to a copy. */
export type CopyNews = Readonly<{
  key: WorkloadKey;
  cluster: string;
  did: "new" | "changed" | "drifted" | "adopted" | "removed" | "released" | "held";
}>;

/** All that one look at a workload is about. */
export type Scene = Readonly<{
  key: WorkloadKey;
  address: WorkloadAddress;
  type: WorkloadType;
  workload: Workload | undefined;
  record: WorkloadSync | undefined;
  /** What was last found of each copy: what the record says, or what has been found since and is not yet written. */
  known: readonly CopyRecord[];
  placements: readonly WorkloadPlacement[];
  clusters: ReadonlyMap<string, SyncCluster>;
  intent: Intent;
  controls: Controls;
  locator: Locator;
  /** The cluster that has the original, where the workload was born on one and is followed there. */
  home: Home | undefined;
  /** Where things that it refers to are, or will be, by placements of their own; by `referenceId`. */
  ownPlaces: ReadonlyMap<string, readonly string[]>;
}>;

/** The registration of a cluster. */
export function registrationKey(cluster: string, name: string): ObjectKey {
  return { cluster, kind: "ClusterRegistration", name };
}

/** Where the copy of a workload is on a cluster. */
export function copyAddress(
  { key, address, locator }: Pick<Scene, "key" | "address" | "locator">,
  name: string,
): CopyAddress {
  const at = { type: address.type, namespace: namespaceOn(locator), name: address.name };
  return { cluster: registrationKey(key.cluster, name), at };
}

/** Whose copy that is. */
export function copyOrigin(
  { address, locator, type }: Pick<Scene, "address" | "locator" | "type">,
  name: string,
): Origin {
  return { ...locator, registration: name, apiVersion: type.apiVersion, kind: type.kind, name: address.name };
}

export type LookTools = Pick<SyncTools, "fleet" | "clock" | "settings">;

/** How a copy is looked at: whether nothing may be presumed to be there, or only the cluster's own word counts. */
type Look = Readonly<{ mayPresume?: boolean; isAsked?: boolean }>;

/** What is known of the copy on a cluster. One that cannot be asked is no failure of the others. */
export async function seeCopy(
  tools: LookTools,
  scene: Pick<Scene, "key" | "address" | "locator" | "type">,
  name: string,
  signal: AbortSignal,
  { mayPresume = false, isAsked = false }: Look = {},
): Promise<Sighting> {
  try {
    return await onCluster(tools, name, signal, (itsSignal) =>
      isAsked
        ? tools.fleet.confirm(copyAddress(scene, name), copyOrigin(scene, name), itsSignal)
        : tools.fleet.see(copyAddress(scene, name), copyOrigin(scene, name), itsSignal, { mayPresume }),
    );
  } catch (error) {
    signal.throwIfAborted();
    if (faultOf(error) === undefined) throw error;
    return { kind: "unknown", why: oneLine(error instanceof Error ? error.message : "it cannot be asked") };
  }
}

/** What is known of the copy on every cluster that has one or may have one, but for those whose type is in trouble. */
export async function lookAtCopies(
  tools: LookTools,
  { scene, troubles }: Readonly<{ scene: Scene; troubles: ReadonlyMap<string, TypeTrouble> }>,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Sighting>> {
  const { clusters, intent, address } = scene;
  const { fleet } = tools;
  const kinds = [...new Set(intent.recordedReferences.map(({ kind }) => kind))];
  const types = [address.type, ...kinds.map((kind) => referenceTypes[kind])];
  const written = new Set(scene.known.flatMap(({ name, applied }) => (applied === undefined ? [] : [name])));
  const seen = await allDone(
    intent.clusters.map(async (name): Promise<[string, Sighting]> => {
      if (clusters.get(name)?.isReady !== true) return [name, { kind: "unknown", why: "the cluster is not ready" }];
      const trouble = troubles.get(name);
      if (trouble !== undefined) return [name, { kind: "unknown", why: trouble.obstacle.message }];
      fleet.attend(registrationKey(scene.key.cluster, name), types);
      // Where one was written, or should not be, that there is none is for the cluster to say.
      const mayPresume = intent.targets.includes(name) && !written.has(name);
      return [name, await seeCopy(tools, scene, name, signal, { mayPresume })];
    }),
  );
  return new Map(seen);
}
