import { compareStrings } from "@tmc/kube/compare.ts";
import type { WorkloadSync } from "../../api/workload-sync.ts";
import { controlAnnotations, controlsOf } from "../../sync/control-annotations.ts";
import { holdId } from "../../sync/eviction/deletion-guard.ts";
import type { NamedWorkload } from "./workload-argument.ts";
import { workloadTitle } from "./workload-argument.ts";

/** Copies of one workload whose deletion is held until it is confirmed. */
export type HeldCopies = Readonly<{
  namespace: string;
  title: string;
  syncRecord: WorkloadSync;
  /** The clusters of the copies, with the reason and the identifier of each hold. */
  clusters: readonly Readonly<{ name: string; message: string; hold: string }>[];
}>;

export type HeldFilter = Readonly<{
  /** Limits the result to these workloads. */
  workloads?: readonly Pick<NamedWorkload, "type" | "name" | "kind">[] | undefined;
  /** Limits the result to the workloads of this placement. */
  placement?: string | undefined;
  /** Limits the result to these clusters. */
  clusters?: readonly string[] | undefined;
}>;

/** Finds held copies, sorted by namespace and name. */
export function findHeldCopies(
  records: readonly WorkloadSync[],
  { workloads, placement, clusters }: HeldFilter = {},
): readonly HeldCopies[] {
  return records
    .filter(({ spec }) => placement === undefined || spec.placement === placement)
    .filter((record) => workloads === undefined || workloads.some((each) => isRecordOf(record, each)))
    .map((record) => ({
      namespace: record.metadata.namespace ?? "",
      title: workloadTitle(record.spec.workload),
      syncRecord: record,
      clusters: (record.status?.clusters ?? [])
        .filter(({ name, state }) => state === "Held" && (clusters === undefined || clusters.includes(name)))
        .flatMap(({ name, message = "" }) => {
          const hold = holdId(record, name);
          return hold === undefined ? [] : [{ name, message, hold }];
        }),
    }))
    .filter((each) => each.clusters.length > 0)
    .toSorted((one, other) => compareStrings(keyOf(one), keyOf(other)));
}

/** More copies than this that are held on a cluster for the same reason are one row. */
const maxEqualRows = 3;

/** Returns a row for each held copy, or for many copies that are held on a cluster for the same reason. */
export function heldRows(copies: readonly HeldCopies[]): readonly (readonly string[])[] {
  const all = copies.flatMap(({ namespace, title, clusters }) =>
    clusters.map(({ name, message }) => ({ namespace, title, cluster: name, message })),
  );
  const groups = Map.groupBy(all, ({ cluster, message }) => `${cluster}\n${message}`);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined || group.length <= maxEqualRows) {
      return group.map(({ namespace, title, cluster, message }) => [namespace, title, cluster, message]);
    }
    const namespaces = new Set(group.map(({ namespace }) => namespace));
    const names = group.slice(0, maxEqualRows).map(({ title }) => title);
    return [
      [
        namespaces.size === 1 ? first.namespace : `${namespaces.size} namespaces`,
        `${group.length} copies: ${names.join(", ")} and ${group.length - names.length} more`,
        first.cluster,
        first.message,
      ],
    ];
  });
}

/** Whether a sync record belongs to a workload of this type and name. */
export function isRecordOf(
  { spec }: WorkloadSync,
  { type, name, kind }: Pick<NamedWorkload, "type" | "name" | "kind">,
): boolean {
  const { workload } = spec;
  const group = workload.apiVersion.includes("/") ? workload.apiVersion.split("/", 1)[0] : "";
  return workload.name === name && group === type.group && (kind === undefined || kind === workload.kind);
}

/**
 * Returns the value of the confirmation annotation: the newly confirmed holds, and the previously confirmed ones that still
 * exist. Confirmations of past holds have no effect and are dropped.
 */
export function confirmationValue(
  { syncRecord, clusters }: Pick<HeldCopies, "syncRecord" | "clusters">,
  annotations: Readonly<Record<string, string>> | undefined,
): string {
  const current = new Set(findHeldCopies([syncRecord]).flatMap((each) => each.clusters.map(({ hold }) => hold)));
  const previous = [...controlsOf({ metadata: { annotations: { ...annotations } } }).confirmedHolds];
  const all = [...previous.filter((hold) => current.has(hold)), ...clusters.map(({ hold }) => hold)];
  return [...new Set(all)].toSorted().join(",");
}

/** Returns the value of the confirmation annotation after the copies were deleted; null when it can be removed. */
export function withdrawnValue(
  { clusters }: Pick<HeldCopies, "clusters">,
  annotations: Readonly<Record<string, string>> | undefined,
): string | null {
  const finished = new Set(clusters.map(({ hold }) => hold));
  const { confirmedHolds } = controlsOf({ metadata: { annotations: { ...annotations } } });
  const remaining = [...confirmedHolds].filter((hold) => !finished.has(hold));
  return remaining.length === 0 ? null : remaining.join(",");
}

/** The annotation that confirms held deletions of copies. */
export const confirmAnnotation = controlAnnotations.confirmedDeletions;

const keyOf = ({ namespace, title }: HeldCopies): string => `${namespace}/${title}`;
