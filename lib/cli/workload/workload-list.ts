import { compareStrings } from "@tmc/kube/compare.ts";
import type { ClusterRegistration } from "../../api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import type { WorkloadSync } from "../../api/workload-sync.ts";
import type { Workload } from "../../sync/sync-objects.ts";
import { ageOf, type ListTable } from "../output.ts";
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

/** A workload without a sync record, and the placement that governs it, if any. */
export type UnrecordedWorkload = Readonly<{ workload: Workload; placement: WorkloadPlacement | undefined }>;

/** Converts sync records, and workloads that have none, to rows, sorted by namespace and name. */
export function listedWorkloads(
  syncRecords: readonly WorkloadSync[],
  { placements, registrations }: WorkloadContext,
  unrecorded: readonly UnrecordedWorkload[] = [],
): readonly ListedWorkload[] {
  const recorded = syncRecords.map((syncRecord) => {
    const { placement, workload } = syncRecord.spec;
    const input = {
      workload: "notRead",
      syncRecord,
      placement: placements.get(placement ?? ""),
      registrations,
    } as const;
    return {
      namespace: syncRecord.metadata.namespace ?? "",
      kind: workload.kind,
      name: workload.name,
      title: workloadTitle(workload),
      placement,
      view: workloadView(input),
      created: syncRecord.metadata.creationTimestamp,
    };
  });
  const others = unrecorded.map(({ workload, placement }) => {
    const { apiVersion, kind, metadata } = workload;
    const { name = "", namespace = "" } = metadata;
    return {
      namespace,
      kind,
      name,
      title: workloadTitle({ apiVersion, kind, name }),
      placement: placement?.metadata.name,
      view: workloadView({ workload, syncRecord: undefined, placement, registrations }),
      created: metadata.creationTimestamp,
    };
  });
  return [...recorded, ...others].toSorted(
    (one, other) => compareStrings(one.namespace, other.namespace) || compareStrings(one.title, other.title),
  );
}

/** Returns workloads as a table; `wide` adds the state on each cluster and the message. */
export function workloadTable(
  workloads: readonly ListedWorkload[],
  { wide, nowMs, withNamespace }: Readonly<{ wide: boolean; nowMs: number; withNamespace: boolean }>,
): ListTable {
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
  return { columns: all, rows };
}

function clusterCount({ copies }: WorkloadView): string {
  const targets = copies.filter(({ isTarget }) => isTarget);
  return `${targets.filter(({ state }) => state === "Ready").length}/${targets.length}`;
}

function replicaCount({ desired, ready }: WorkloadView): string {
  return desired === undefined && ready === undefined ? "-" : `${ready ?? 0}/${desired ?? 0}`;
}
