import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import type { WorkloadSync } from "../../api/workload-sync.ts";
import { controlsOf } from "../control-annotations.ts";
import { governorOf } from "../selection.ts";
import type { Workload } from "../sync-objects.ts";
import type { WorkloadHub } from "../workload-hub.ts";

type RecordOf = Pick<WorkloadSync, "metadata" | "spec">;

/** The clusters that a record's copies stay on; undefined for all that have one. */
export type RemainingOn = (record: RecordOf) => ReadonlySet<string> | undefined;

export type RemainingFacts = Readonly<{
  placements: readonly WorkloadPlacement[];
  /** The workload of a record; undefined when it is not known. */
  workloadOf: (record: RecordOf) => Workload | undefined;
  namespaceLabelsOf: (namespace: string) => Readonly<Record<string, string>> | undefined;
}>;

/**
 * Decides where the copies of records belong by what placements say now. What a record says of its placement may be older: a
 * selector that was changed a moment ago has sent nothing away yet, and is about to.
 */
export function remainingClusters({ placements, workloadOf, namespaceLabelsOf }: RemainingFacts): RemainingOn {
  return (record) => {
    const { metadata, spec } = record;
    const { namespace = "" } = metadata;
    const workload = workloadOf(record);
    const isDeleted = [metadata, workload?.metadata].some((each) => each?.deletionTimestamp !== undefined);
    // By its owner: whatever goes is meant to.
    if (spec.deleted === true || isDeleted) return undefined;
    const scope = { placements, namespace, namespaceLabels: namespaceLabelsOf(namespace) };
    const placement =
      workload === undefined
        ? placements.find((each) => each.metadata.name === spec.placement)
        : governorOf(scope, { ...spec.workload, labels: workload.metadata.labels }, spec.placement).placement;
    if (placement === undefined || placement.metadata.deletionTimestamp !== undefined) return new Set();
    const selected = (placement.status?.selectedClusters ?? []).filter(controlsOf(workload).allows);
    // Nothing fits: the copies stay where they are.
    return selected.length === 0 ? undefined : new Set(selected);
  };
}

/** Reads what it takes to say where the copies of these records belong. */
export async function readRemainingClusters(
  workloads: WorkloadHub,
  {
    cluster,
    records,
    placements,
  }: Readonly<{ cluster: string; records: readonly WorkloadSync[]; placements: readonly WorkloadPlacement[] }>,
  signal: AbortSignal,
): Promise<RemainingOn> {
  const named = new Set(records.map(({ spec }) => typeWords(spec.workload)));
  const types = workloads.types.filter((type) => named.has(typeWords(type)));
  const known = new Map<string, Workload>();
  await Promise.all(
    types.map(async (type) => {
      for (const each of await workloads.list(cluster, type.type, signal)) known.set(idOf(type, each.metadata), each);
    }),
  );
  const labels = new Map<string, Readonly<Record<string, string>> | undefined>();
  const namespaces = new Set(records.map(({ metadata }) => metadata.namespace ?? ""));
  await Promise.all(
    [...namespaces].map(async (name) => labels.set(name, await workloads.namespaceLabels(cluster, name, signal))),
  );
  return remainingClusters({
    placements,
    workloadOf: ({ metadata, spec: { workload } }) =>
      known.get(idOf(workload, { namespace: metadata.namespace, name: workload.name })),
    namespaceLabelsOf: (namespace) => labels.get(namespace),
  });
}

type Typed = Readonly<{ apiVersion: string; kind: string }>;
type Named = Readonly<{ namespace?: string | undefined; name?: string | undefined }>;

const typeWords = ({ apiVersion, kind }: Typed): string => `${apiVersion} ${kind}`;
const idOf = (type: Typed, { namespace = "", name = "" }: Named): string => `${typeWords(type)} ${namespace}/${name}`;
