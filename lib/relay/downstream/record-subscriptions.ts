import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import type { WorkloadType } from "../../api/workload-kinds.ts";
import { referenceTypes, typeId } from "../../api/workload-kinds.ts";
import type { WorkloadSync } from "../../api/workload-sync.ts";
import type { CopyWatches } from "../../downstream/copy-watch.ts";
import { formatKey, type ObjectKey, type WorkloadKey } from "../../model/key.ts";
import type { ReferenceAddress } from "../../sync/workload-hub.ts";
import { createReferenceIndex, type ReferenceIndex } from "../../upstream/reference-index.ts";
import { recordResource, workloadAddressOf } from "../../upstream/watched-resources.ts";
import type { RelayedWorkloads } from "../event-to-key/workload-tracker.ts";

/** Subscribes to watches of copies on target clusters, by what TMC's sync records name. */
export interface RecordSubscriptions {
  /** Gets the sync records that the relay reads. */
  readonly cache: NonNullable<RelayedWorkloads["cache"]>;
  /** The workloads whose sync records name a dependency. */
  referrers(reference: ReferenceAddress): readonly WorkloadKey[];
  /** Ends the subscriptions of a logical cluster that is no longer relayed. */
  release(logicalCluster: string): void;
}

/** The registrations that a sync record names. */
type Entry = Readonly<{ logicalCluster: string; registrations: readonly ObjectKey[] }>;

/** Creates subscriptions for no record yet. A cluster is watched as long as any sync record names it. */
export function createRecordSubscriptions(
  watches: Pick<CopyWatches, "subscribe" | "unsubscribe">,
  types: readonly WorkloadType[],
): RecordSubscriptions {
  const entries = new Map<string, Entry>();
  /** The ids of the sync records that name a registration. */
  const recordsByRegistration = new Map<string, Set<string>>();
  const indexes = new Map<string, ReferenceIndex>();
  const indexOf = (logicalCluster: string): ReferenceIndex => {
    const known = indexes.get(logicalCluster) ?? createReferenceIndex(types);
    indexes.set(logicalCluster, known);
    return known;
  };
  const isRecord = (type: ResourceType): boolean => typeId(type) === recordResource.id;
  const namespacedName = ({ namespace = "", name = "" }: Readonly<{ namespace?: string; name?: string }>): string =>
    `${namespace}/${name}`;

  const unlinkRecord = (id: string, registration: ObjectKey): void => {
    const records = recordsByRegistration.get(formatKey(registration));
    records?.delete(id);
    if (records?.size !== 0) return;
    recordsByRegistration.delete(formatKey(registration));
    watches.unsubscribe(registration);
  };
  const applyRecord = (logicalCluster: string, recordName: string, record: WorkloadSync | undefined): void => {
    const id = `${logicalCluster}|${recordName}`;
    indexOf(logicalCluster).setRecord(recordName, record);
    const address = record && workloadAddressOf(record, types);
    const { clusters = [], references = [] } = record?.spec ?? {};
    const before = entries.get(id)?.registrations ?? [];
    const registrations = address === undefined ? [] : clusters.map((name) => registrationOf(logicalCluster, name));
    if (registrations.length === 0) entries.delete(id);
    else entries.set(id, { logicalCluster, registrations });
    for (const registration of registrations) {
      const text = formatKey(registration);
      recordsByRegistration.set(text, (recordsByRegistration.get(text) ?? new Set()).add(id));
      const dependencies = references.map(({ kind }) => referenceTypes[kind]);
      watches.subscribe(registration, address === undefined ? dependencies : [address.type, ...dependencies]);
    }
    for (const registration of before) {
      if (!registrations.some(({ name }) => name === registration.name)) unlinkRecord(id, registration);
    }
  };

  return {
    cache: {
      replace: (type, logicalCluster, objects) => {
        if (!isRecord(type)) return [];
        const listed = new Set(objects.map(({ metadata }) => `${logicalCluster}|${namespacedName(metadata)}`));
        for (const object of objects) applyRecord(logicalCluster, namespacedName(object.metadata), recordOf(object));
        for (const [id, entry] of [...entries]) {
          if (entry.logicalCluster === logicalCluster && !listed.has(id))
            applyRecord(logicalCluster, id.slice(logicalCluster.length + 1), undefined);
        }
        return [];
      },
      markListed: () => {},
      upsert: (type, logicalCluster, object) => {
        if (isRecord(type)) applyRecord(logicalCluster, namespacedName(object.metadata), recordOf(object));
      },
      remove: ({ type, logicalCluster, ...address }) => {
        if (isRecord(type)) applyRecord(logicalCluster, namespacedName(address), undefined);
      },
    },
    referrers: ({ logicalCluster, ...reference }) =>
      [...(indexes.get(logicalCluster)?.referrers(reference) ?? [])].map((name) => ({
        logicalCluster,
        kind: "Workload",
        name,
      })),
    release: (logicalCluster) => {
      for (const [id, entry] of [...entries]) {
        if (entry.logicalCluster === logicalCluster)
          applyRecord(logicalCluster, id.slice(logicalCluster.length + 1), undefined);
      }
      indexes.delete(logicalCluster);
    },
  };
}

const registrationOf = (logicalCluster: string, name: string): ObjectKey => ({
  logicalCluster,
  kind: "ClusterRegistration",
  name,
});

/** The cast holds: the server validates the object against the kind's schema. */
const recordOf = (object: KubeObject): WorkloadSync => object as WorkloadSync;
