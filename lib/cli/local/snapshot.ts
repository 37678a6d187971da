import type { ClusterRegistration } from "../../api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import type { WorkloadSync } from "../../api/workload-sync.ts";
import { findCondition } from "../../model/condition.ts";
import { clusterTable } from "../cluster/cluster-view.ts";
import { formatTable } from "../output.ts";
import { placementStatus, placementTable } from "../placement/placement-view.ts";
import { type ListedWorkload, listedWorkloads, workloadTable } from "../workload/workload-list.ts";
import { byName } from "../workload/workload-read.ts";

/** The objects of a workspace at one point in time. */
export type WorkspaceSnapshot = Readonly<{
  registrations: readonly ClusterRegistration[];
  placements: readonly WorkloadPlacement[];
  syncRecords: readonly WorkloadSync[];
}>;

/** Returns the placed workloads of a snapshot. */
export function snapshotWorkloads({
  registrations,
  placements,
  syncRecords,
}: WorkspaceSnapshot): readonly ListedWorkload[] {
  return listedWorkloads(syncRecords, { placements: byName(placements), registrations: byName(registrations) });
}

/** Lists what is missing until all clusters and workloads are Ready and all placements are decided; empty when complete. */
export function findMissing(
  snapshot: WorkspaceSnapshot,
  expected: Readonly<{ clusters: readonly string[]; placements: readonly string[]; workloads: readonly string[] }>,
): readonly string[] {
  const { registrations, placements } = snapshot;
  const workloads = snapshotWorkloads(snapshot);
  const isMissing = (
    objects: WorkspaceSnapshot["registrations"] | WorkspaceSnapshot["placements"],
    name: string,
  ): boolean => !objects.some(({ metadata }) => metadata.name === name);
  const absent = [
    ...expected.clusters.filter((name) => isMissing(registrations, name)).map((name) => `cluster ${name}: not found`),
    ...expected.placements.filter((name) => isMissing(placements, name)).map((name) => `placement ${name}: not found`),
  ];
  const unready = registrations.flatMap(({ metadata, status }) => {
    const ready = findCondition(status?.conditions, "Ready");
    if (ready?.status === "True") return [];
    return [`cluster ${metadata.name}: ${ready === undefined ? "not probed" : `${ready.reason}: ${ready.message}`}`];
  });
  const undecided = placements
    .filter((placement) => placementStatus(placement) === "Pending")
    .map(({ metadata }) => `placement ${metadata.name}: not decided`);
  const unplaced = expected.workloads
    .filter((title) => !workloads.some((each) => each.title === title))
    .map((title) => `workload ${title}: not placed`);
  const notReady = workloads
    .filter(({ view }) => !view.readiness.isReady)
    .map(({ title, view }) => `workload ${title}: ${view.readiness.message}`);
  return [...absent, ...unready, ...undecided, ...unplaced, ...notReady];
}

/** Returns a snapshot as a document for programs. */
export function snapshotDocument(
  snapshot: WorkspaceSnapshot,
  run: Readonly<{ workspace: string; kcp: string; tookMs: number; missing: readonly string[] }>,
): object {
  const { registrations, placements } = snapshot;
  return {
    workspace: run.workspace,
    kcp: run.kcp,
    settled: run.missing.length === 0,
    settledAfterSeconds: run.missing.length === 0 ? Number((run.tookMs / 1000).toFixed(2)) : null,
    missing: run.missing,
    clusters: registrations.map(({ metadata, spec, status }) => {
      const ready = findCondition(status?.conditions, "Ready");
      return {
        name: metadata.name,
        location: spec.location,
        ready: ready?.status ?? "Unknown",
        reason: ready?.reason ?? null,
        kubernetesVersion: status?.kubernetesVersion ?? null,
        nodes: status?.nodes ?? null,
        lastHeartbeat: status?.lastHeartbeat ?? null,
      };
    }),
    placements: placements.map((placement) => {
      const { metadata, spec, status } = placement;
      const ready = findCondition(status?.conditions, "Ready");
      return {
        name: metadata.name,
        strategy: spec.strategy ?? "RoundRobin",
        settled: placementStatus(placement) !== "Pending",
        ready: ready?.status ?? "Unknown",
        reason: ready?.reason ?? null,
        message: ready?.message ?? null,
        selectedClusters: status?.selectedClusters ?? [],
        decisions: status?.decisions ?? [],
      };
    }),
    workloads: snapshotWorkloads(snapshot).map(({ namespace, kind, name, placement, view }) => ({
      namespace,
      kind,
      name,
      placement: placement ?? null,
      ready: view.readiness.isReady,
      status: view.status,
      message: view.readiness.message,
      replicas: view.desired === undefined ? null : { desired: view.desired, ready: view.ready ?? 0 },
      clusters: view.copies.map(({ targetCluster, state, desired, ready, message }) => ({
        name: targetCluster,
        state,
        desired: desired ?? null,
        ready: ready ?? null,
        message: message === "" ? null : message,
      })),
    })),
  };
}

/** Formats a snapshot as tables. */
export function formatSnapshot(snapshot: WorkspaceSnapshot, nowMs: number): string {
  const { registrations, placements } = snapshot;
  return [
    clusterTable(registrations, { wide: true, nowMs }),
    placementTable(placements, { wide: true, nowMs }),
    workloadTable(snapshotWorkloads(snapshot), { wide: true, nowMs, withNamespace: true }),
  ]
    .map(({ columns, rows }) => formatTable(columns, rows))
    .join("\n");
}
