import { compareStrings } from "@tmc/kube/compare.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import type { WorkloadSync } from "../api/workload-sync.ts";
import { ageOf, formatTable } from "./output.ts";

import { copyWords } from "./workload-format.ts";
import { viewOf, type WorkloadView } from "./workload-view.ts";
import { workloadTitle } from "./workload-words.ts";

/** A row of a list. */
export type ListedWorkload = Readonly<{
  namespace: string;
  kind: string;
  name: string;
  title: string;
  placement: string | undefined;
  view: WorkloadView;
  created: string | undefined;
}>;

/** What a record is shown against, by name. */
export type Surroundings = Readonly<{
  placements: ReadonlyMap<string, WorkloadPlacement>;
  clusters: ReadonlyMap<string, ClusterRegistration>;
}>;

/** Records as rows of a list, in the order of namespaces and names. */
export function listedWorkloads(
  records: readonly WorkloadSync[],
  { placements, clusters }: Surroundings,
): readonly ListedWorkload[] {
  return records
    .map((record) => {
      const { placement } = record.spec;
      return {
        namespace: record.metadata.namespace ?? "",
        kind: record.spec.workload.kind,
        name: record.spec.workload.name,
        title: workloadTitle(record.spec.workload),
        placement,
        view: viewOf({ workload: "unseen", record, placement: placements.get(placement ?? ""), clusters }),
        created: record.metadata.creationTimestamp,
      };
    })
    .toSorted((one, other) => compareStrings(one.namespace, other.namespace) || compareStrings(one.title, other.title));
}

/** Workloads as a table; wide says how they are on each cluster, and why. */
export function formatWorkloads(
  workloads: readonly ListedWorkload[],
  { wide, nowMs, withNamespace }: Readonly<{ wide: boolean; nowMs: number; withNamespace: boolean }>,
): string {
  const columns = ["NAME", "PLACEMENT", "CLUSTERS", "READY", "STATUS", "AGE"];
  const rows = workloads.map(({ namespace, title, placement, view, created }) => [
    ...(withNamespace ? [namespace] : []),
    title,
    placement ?? "",
    clusterCount(view),
    replicaCount(view),
    view.status,
    ageOf(created, nowMs) ?? "",
    ...(wide ? [view.copies.map(copyWords).join(", "), view.verdict.message] : []),
  ]);
  const all = [...(withNamespace ? ["NAMESPACE"] : []), ...columns, ...(wide ? ["WHERE", "WHY"] : [])];
  return formatTable(all, rows);
}

function clusterCount({ copies }: WorkloadView): string {
  const wanted = copies.filter(({ isWanted }) => isWanted);
  return `${wanted.filter(({ state }) => state === "Ready").length}/${wanted.length}`;
}

function replicaCount({ desired, ready }: WorkloadView): string {
  return desired === undefined && ready === undefined ? "-" : `${ready ?? 0}/${desired ?? 0}`;
}
