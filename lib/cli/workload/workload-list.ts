import { compareStrings } from "@tmc/kube/compare.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../../api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import type { WorkloadSync } from "../../api/workload-sync.ts";
import { ageOf, formatTable } from "../output.ts";
import { workloadTitle } from "./workload-argument.ts";
import { copySummary } from "./workload-format.ts";
import { type WorkloadView, workloadView } from "./workload-view.ts";

/** One row of a workload list. */
export type ListedWorkload = Readonly<{
  namespace: string;
  kind: string;
  name: string;
  title: string;
  placement: string | undefined;
  view: WorkloadView;
  created: string | undefined;
}>;

/** The placements and registrations of the workspace, by name. */
export type WorkloadContext = Readonly<{
  placements: ReadonlyMap<string, WorkloadPlacement>;
  registrations: ReadonlyMap<string, ClusterRegistration>;
}>;

/** A workload without a sync record that no placement selects. */
export type UnselectedWorkload = Readonly<{ apiVersion: string; kind: string; metadata: KubeObject["metadata"] }>;

/** Converts sync records, and workloads that no placement selects, to rows, sorted by namespace and name. */
export function listedWorkloads(
  syncRecords: readonly WorkloadSync[],
  { placements, registrations }: WorkloadContext,
  unselected: readonly UnselectedWorkload[] = [],
): readonly ListedWorkload[] {
  const unselectedRows = unselected.map(({ apiVersion, kind, metadata }): ListedWorkload => {
    const { name = "", namespace = "", creationTimestamp } = metadata;
    return {
      namespace,
      kind,
      name,
      title: workloadTitle({ apiVersion, kind, name }),
      placement: undefined,
      view: workloadView({ workload: { metadata }, syncRecord: undefined, placement: undefined, registrations }),
      created: creationTimestamp,
    };
  });
  return syncRecords
    .map((syncRecord): ListedWorkload => {
      const { placement } = syncRecord.spec;
      return {
        namespace: syncRecord.metadata.namespace ?? "",
        kind: syncRecord.spec.workload.kind,
        name: syncRecord.spec.workload.name,
        title: workloadTitle(syncRecord.spec.workload),
        placement,
        view: workloadView({
          workload: "notRead",
          syncRecord,
          placement: placements.get(placement ?? ""),
          registrations,
        }),
        created: syncRecord.metadata.creationTimestamp,
      };
    })
    .concat(unselectedRows)
    .toSorted((one, other) => compareStrings(one.namespace, other.namespace) || compareStrings(one.title, other.title));
}

/** Formats workloads as a table; `wide` adds the state on each cluster and the message. */
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
    ...(wide ? [view.copies.map(copySummary).join(", "), view.readiness.message] : []),
  ]);
  const all = [...(withNamespace ? ["NAMESPACE"] : []), ...columns, ...(wide ? ["COPIES", "MESSAGE"] : [])];
  return formatTable(all, rows);
}

function clusterCount({ copies }: WorkloadView): string {
  const targets = copies.filter(({ isTarget }) => isTarget);
  return `${targets.filter(({ state }) => state === "Ready").length}/${targets.length}`;
}

function replicaCount({ desired, ready }: WorkloadView): string {
  return desired === undefined && ready === undefined ? "-" : `${ready ?? 0}/${desired ?? 0}`;
}
