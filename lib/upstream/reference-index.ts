import { createReverseIndex } from "@tmc/kube/informer/reverse-index.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { WorkloadType } from "../api/workload-kinds.ts";
import type { WorkloadSync } from "../api/workload-sync.ts";
import { workloadKey } from "../model/key.ts";
import { type Reference, referencesOf } from "../sync/dependencies/references.ts";
import type { ReferenceAddress } from "../sync/workload-hub.ts";
import { workloadAddressOf } from "./watched-resources.ts";

/**
 * Reverse index of one logical cluster: referenced object → workloads that refer to it, and sync record → workload. Workloads are
 * identified by the names of their keys, sync records by namespace and name.
 */
export interface ReferenceIndex {
  /** Sets the state of a workload; undefined for a deleted one. */
  setWorkload(name: string, namespace: string, workload: KubeObject | undefined): void;
  /** Sets the state of a sync record; undefined for a deleted one. */
  setRecord(id: string, record: WorkloadSync | undefined): void;
  /** The workload of a sync record; undefined if its type is not synced. */
  workloadOf(record: string): string | undefined;
  /** Whether a workload has a sync record. */
  hasRecord(name: string): boolean;
  /** The workloads that refer to an object, by their own spec or by their sync record. */
  referrers(reference: Omit<ReferenceAddress, "logicalCluster">): ReadonlySet<string>;
}

const none: readonly never[] = [];

/** Creates an empty index. */
export function createReferenceIndex(types: readonly WorkloadType[]): ReferenceIndex {
  const references = createReverseIndex();
  const recordReferences = createReverseIndex();
  const workloads = new Map<string, string>();
  const records = createReverseIndex();
  return {
    setWorkload: (name, namespace, workload) =>
      references.set(name, idsOf(workload === undefined ? none : referencesOf(workload), namespace)),
    setRecord: (id, record) => {
      const address = record === undefined ? undefined : workloadAddressOf(record, types);
      const workload = address === undefined ? undefined : workloadKey("", address).name;
      recordReferences.set(id, idsOf(record?.spec.references ?? none, id.slice(0, id.indexOf("/"))));
      records.set(id, workload === undefined ? none : [workload]);
      if (workload === undefined) workloads.delete(id);
      else workloads.set(id, workload);
    },
    workloadOf: (record) => workloads.get(record),
    hasRecord: (name) => {
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

function idsOf(references: readonly Pick<Reference, "kind" | "name">[], namespace: string): readonly string[] {
  return references.map(({ kind, name }) => `${kind}/${namespace}/${name}`);
}
