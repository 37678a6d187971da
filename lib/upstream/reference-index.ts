import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { createBackwardIndex } from "@tmc/kube/reverse-index.ts";
import type { WorkloadType } from "../api/workload-kinds.ts";
import type { WorkloadSync } from "../api/workload-sync.ts";
import { workloadKey } from "../model/key.ts";
import { type Reference, referencesOf } from "../sync/dependencies/references.ts";
import type { ReferenceAddress } from "../sync/workload-hub.ts";
import { workloadOfRecord } from "./watched-resources.ts";

/**
 * What ties the workloads of one logical cluster to their records and to what they refer to. Workloads go by the names of their
 * keys, records by namespace and name.
 */
export interface WorkloadTies {
  /** Takes in a workload; undefined for one that has gone. */
  takeWorkload(name: string, namespace: string, workload: KubeObject | undefined): void;
  /** Takes in a record; undefined for one that has gone. */
  takeRecord(id: string, record: WorkloadSync | undefined): void;
  /** The workload that a record is about; undefined for one of a type that is not looked after. */
  workloadOf(record: string): string | undefined;
  /** Whether there is a record of a workload. */
  isRecorded(name: string): boolean;
  /** The workloads that refer to something, by what they say themselves and by their records. */
  referrers(reference: Omit<ReferenceAddress, "logicalCluster">): ReadonlySet<string>;
}

const nothing: readonly never[] = [];

/** Creates ties between nothing. */
export function createWorkloadTies(types: readonly WorkloadType[]): WorkloadTies {
  const references = createBackwardIndex();
  const recordReferences = createBackwardIndex();
  const workloads = new Map<string, string>();
  const records = createBackwardIndex();
  return {
    takeWorkload: (name, namespace, workload) =>
      references.set(name, idsOf(workload === undefined ? nothing : referencesOf(workload), namespace)),
    takeRecord: (id, record) => {
      const address = record === undefined ? undefined : workloadOfRecord(record, types);
      const workload = address === undefined ? undefined : workloadKey("", address).name;
      recordReferences.set(id, idsOf(record?.spec.references ?? nothing, id.slice(0, id.indexOf("/"))));
      records.set(id, workload === undefined ? nothing : [workload]);
      if (workload === undefined) workloads.delete(id);
      else workloads.set(id, workload);
    },
    workloadOf: (record) => workloads.get(record),
    isRecorded: (name) => {
      for (const _ of records.owners(name)) return true;
      return false;
    },
    referrers: ({ kind, namespace, name }) => {
      const reference = `${kind}/${namespace}/${name}`;
      const found = new Set(references.owners(reference));
      for (const record of recordReferences.owners(reference)) {
        const workload = workloads.get(record);
        if (workload !== undefined) found.add(workload);
      }
      return found;
    },
  };
}

function idsOf(said: readonly Pick<Reference, "kind" | "name">[], namespace: string): readonly string[] {
  return said.map(({ kind, name }) => `${kind}/${namespace}/${name}`);
}
