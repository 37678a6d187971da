import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import type { WorkloadType } from "../api/workload-kinds.ts";
import { referenceTypes, typeId } from "../api/workload-kinds.ts";
import type { WorkloadSync } from "../api/workload-sync.ts";
import type { CopyWatches } from "../downstream/copy-watch.ts";
import { formatKey, type ObjectKey, type WorkloadKey } from "../model/key.ts";
import type { ReferenceAddress } from "../sync/workload-hub.ts";
import { createWorkloadTies, type WorkloadTies } from "../upstream/reference-index.ts";
import { recordLane, workloadOfRecord } from "../upstream/watched-resources.ts";
import type { RelayedWorkloads } from "./workload-tracker.ts";

/** Follows TMC's records, and has watched on each cluster what they say may be there. */
export interface RecordAttention {
  /** Takes in what the relay sees. */
  readonly cache: NonNullable<RelayedWorkloads["cache"]>;
  /** The workloads whose records name something that came along. */
  referrers(reference: ReferenceAddress): readonly WorkloadKey[];
  /** A logical cluster is looked after no more. */
  release(cluster: string): void;
}

/** A record, as far as it says where to look. */
type Entry = Readonly<{ cluster: string; registrations: readonly ObjectKey[] }>;

/** Creates what follows records. A cluster is watched as long as any record names it. */
export function createRecordAttention(
  watches: Pick<CopyWatches, "want" | "unwant">,
  types: readonly WorkloadType[],
): RecordAttention {
  const entries = new Map<string, Entry>();
  /** The records that name a registration. */
  const naming = new Map<string, Set<string>>();
  const ties = new Map<string, WorkloadTies>();
  const tiesOf = (cluster: string): WorkloadTies => {
    const known = ties.get(cluster) ?? createWorkloadTies(types);
    ties.set(cluster, known);
    return known;
  };
  const isRecord = (type: ResourceType): boolean => typeId(type) === recordLane.id;
  const place = ({ namespace = "", name = "" }: Readonly<{ namespace?: string; name?: string }>): string =>
    `${namespace}/${name}`;

  const leave = (id: string, registration: ObjectKey): void => {
    const records = naming.get(formatKey(registration));
    records?.delete(id);
    if (records?.size !== 0) return;
    naming.delete(formatKey(registration));
    watches.unwant(registration);
  };
  const take = (cluster: string, at: string, record: WorkloadSync | undefined): void => {
    const id = `${cluster}|${at}`;
    tiesOf(cluster).takeRecord(at, record);
    const address = record && workloadOfRecord(record, types);
    const { clusters = [], references = [] } = record?.spec ?? {};
    const before = entries.get(id)?.registrations ?? [];
    const registrations = address === undefined ? [] : clusters.map((name) => registrationOf(cluster, name));
    if (registrations.length === 0) entries.delete(id);
    else entries.set(id, { cluster, registrations });
    for (const registration of registrations) {
      const text = formatKey(registration);
      naming.set(text, (naming.get(text) ?? new Set()).add(id));
      const wanted = references.map(({ kind }) => referenceTypes[kind]);
      watches.want(registration, address === undefined ? wanted : [address.type, ...wanted]);
    }
    for (const registration of before) {
      if (!registrations.some(({ name }) => name === registration.name)) leave(id, registration);
    }
  };

  return {
    cache: {
      takeList: (type, cluster, objects) => {
        if (!isRecord(type)) return [];
        const listed = new Set(objects.map(({ metadata }) => `${cluster}|${place(metadata)}`));
        for (const object of objects) take(cluster, place(object.metadata), recordOf(object));
        for (const [id, entry] of [...entries]) {
          if (entry.cluster === cluster && !listed.has(id)) take(cluster, id.slice(cluster.length + 1), undefined);
        }
        return [];
      },
      takeAbsent: () => {},
      takeSeen: (type, cluster, object) => {
        if (isRecord(type)) take(cluster, place(object.metadata), recordOf(object));
      },
      takeGone: ({ type, cluster, ...address }) => {
        if (isRecord(type)) take(cluster, place(address), undefined);
      },
    },
    referrers: ({ cluster, ...reference }) =>
      [...(ties.get(cluster)?.referrers(reference) ?? [])].map((name) => ({ cluster, kind: "Workload", name })),
    release: (cluster) => {
      for (const [id, entry] of [...entries]) {
        if (entry.cluster === cluster) take(cluster, id.slice(cluster.length + 1), undefined);
      }
      ties.delete(cluster);
    },
  };
}

const registrationOf = (cluster: string, name: string): ObjectKey => ({ cluster, kind: "ClusterRegistration", name });

/** The server holds it to the kind's schema. */
const recordOf = (object: KubeObject): WorkloadSync => object as WorkloadSync;
