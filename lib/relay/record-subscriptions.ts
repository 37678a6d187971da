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
  release(logicalCluster: string): void;
}

/** A record, as far as it says where to look. */
type Entry = Readonly<{ logicalCluster: string; registrations: readonly ObjectKey[] }>;

/** Creates what follows records. A cluster is watched as long as any record names it. */
export function createRecordAttention(
  watches: Pick<CopyWatches, "want" | "unwant">,
  types: readonly WorkloadType[],
): RecordAttention {
  const entries = new Map<string, Entry>();
  /** The records that name a registration. */
  const naming = new Map<string, Set<string>>();
  const ties = new Map<string, WorkloadTies>();
  const tiesOf = (logicalCluster: string): WorkloadTies => {
    const known = ties.get(logicalCluster) ?? createWorkloadTies(types);
    ties.set(logicalCluster, known);
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
  const take = (logicalCluster: string, at: string, record: WorkloadSync | undefined): void => {
    const id = `${logicalCluster}|${at}`;
    tiesOf(logicalCluster).takeRecord(at, record);
    const address = record && workloadOfRecord(record, types);
    const { clusters = [], references = [] } = record?.spec ?? {};
    const before = entries.get(id)?.registrations ?? [];
    const registrations = address === undefined ? [] : clusters.map((name) => registrationOf(logicalCluster, name));
    if (registrations.length === 0) entries.delete(id);
    else entries.set(id, { logicalCluster, registrations });
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
      takeList: (type, logicalCluster, objects) => {
        if (!isRecord(type)) return [];
        const listed = new Set(objects.map(({ metadata }) => `${logicalCluster}|${place(metadata)}`));
        for (const object of objects) take(logicalCluster, place(object.metadata), recordOf(object));
        for (const [id, entry] of [...entries]) {
          if (entry.logicalCluster === logicalCluster && !listed.has(id))
            take(logicalCluster, id.slice(logicalCluster.length + 1), undefined);
        }
        return [];
      },
      takeAbsent: () => {},
      takeSeen: (type, logicalCluster, object) => {
        if (isRecord(type)) take(logicalCluster, place(object.metadata), recordOf(object));
      },
      takeGone: ({ type, logicalCluster, ...address }) => {
        if (isRecord(type)) take(logicalCluster, place(address), undefined);
      },
    },
    referrers: ({ logicalCluster, ...reference }) =>
      [...(ties.get(logicalCluster)?.referrers(reference) ?? [])].map((name) => ({
        logicalCluster: logicalCluster,
        kind: "Workload",
        name,
      })),
    release: (logicalCluster) => {
      for (const [id, entry] of [...entries]) {
        if (entry.logicalCluster === logicalCluster)
          take(logicalCluster, id.slice(logicalCluster.length + 1), undefined);
      }
      ties.delete(logicalCluster);
    },
  };
}

const registrationOf = (logicalCluster: string, name: string): ObjectKey => ({
  logicalCluster,
  kind: "ClusterRegistration",
  name,
});

/** The server holds it to the kind's schema. */
const recordOf = (object: KubeObject): WorkloadSync => object as WorkloadSync;
