import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import type { WorkloadSync } from "../../api/workload-sync.ts";
import { controlsOf } from "../control-annotations.ts";
import { resolvePlacement } from "../selection.ts";
import type { Workload } from "../sync-objects.ts";
import type { WorkloadHub } from "../workload-hub.ts";

type RecordFacts = Pick<WorkloadSync, "metadata" | "spec">;

/** Returns the names of the clusters on which a record's copies remain; undefined when none of them is evicted. */
export type RemainingClusters = (record: RecordFacts) => ReadonlySet<string> | undefined;

export type RemainingFacts = Readonly<{
  placements: readonly WorkloadPlacement[];
  /** The workload of a record; undefined when it is not known. */
  workloadOf: (record: RecordFacts) => Workload | undefined;
  namespaceLabelsOf: (namespace: string) => Readonly<Record<string, string>> | undefined;
}>;

/**
 * Decides from the current placements where the copies of records remain. The placement that a record names may be outdated:
 * a selector that was changed a moment ago has evicted nothing yet, and is about to.
 */
export function remainingClusters({ placements, workloadOf, namespaceLabelsOf }: RemainingFacts): RemainingClusters {
  return (record) => {
    const { metadata, spec } = record;
    const { namespace = "" } = metadata;
    const workload = workloadOf(record);
    // A record may be terminating because of an earlier workload of the same name.
    const isDeleted = (workload ?? record).metadata.deletionTimestamp !== undefined;
    // The owner deletes the workload: the eviction is intended.
    if (spec.deleted === true || isDeleted) return undefined;
    const scope = { placements, namespace, namespaceLabels: namespaceLabelsOf(namespace) };
    const placement =
      workload === undefined
        ? placements.find((each) => each.metadata.name === spec.placement)
        : resolvePlacement(scope, { ...spec.workload, labels: workload.metadata.labels }, spec.placement).placement;
    if (placement === undefined || placement.metadata.deletionTimestamp !== undefined) return new Set();
    const selected = (placement.status?.selectedClusters ?? []).filter(controlsOf(workload).allows);
    // No cluster matches: the copies are kept where they are.
    return selected.length === 0 ? undefined : new Set(selected);
  };
}

/** Reads the workloads and namespaces of these records, and returns where their copies remain. */
export async function readRemainingClusters(
  workloads: WorkloadHub,
  {
    logicalCluster,
    records,
    placements,
  }: Readonly<{ logicalCluster: string; records: readonly WorkloadSync[]; placements: readonly WorkloadPlacement[] }>,
  signal: AbortSignal,
): Promise<RemainingClusters> {
  const recordedTypes = new Set(records.map(({ spec }) => typeIdOf(spec.workload)));
  const types = workloads.types.filter((type) => recordedTypes.has(typeIdOf(type)));
  const workloadsById = new Map<string, Workload>();
  await Promise.all(
    types.map(async (type) => {
      for (const each of await workloads.list(logicalCluster, type.type, signal)) {
        workloadsById.set(workloadId(type, each.metadata), each);
      }
    }),
  );
  const labels = new Map<string, Readonly<Record<string, string>> | undefined>();
  const namespaces = new Set(records.map(({ metadata }) => metadata.namespace ?? ""));
  await Promise.all(
    [...namespaces].map(async (name) =>
      labels.set(name, await workloads.namespaceLabels(logicalCluster, name, signal)),
    ),
  );
  return remainingClusters({
    placements,
    workloadOf: ({ metadata, spec: { workload } }) =>
      workloadsById.get(workloadId(workload, { namespace: metadata.namespace, name: workload.name })),
    namespaceLabelsOf: (namespace) => labels.get(namespace),
  });
}

type TypeNames = Readonly<{ apiVersion: string; kind: string }>;
type ObjectName = Readonly<{ namespace?: string | undefined; name?: string | undefined }>;

const typeIdOf = ({ apiVersion, kind }: TypeNames): string => `${apiVersion} ${kind}`;
const workloadId = (type: TypeNames, { namespace = "", name = "" }: ObjectName): string =>
  `${typeIdOf(type)} ${namespace}/${name}`;
