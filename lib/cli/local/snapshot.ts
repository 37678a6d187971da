import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../../api/cluster-registration.ts";
import type { WorkloadType } from "../../api/workload-kinds.ts";
import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import type { WorkloadSync } from "../../api/workload-sync.ts";
import { findCondition } from "../../model/condition.ts";
import { isReservedNamespace } from "../../sync/ownership/namespace-map.ts";
import { recordName } from "../../sync/ownership/record.ts";
import { upsyncOriginAnnotation } from "../../sync/ownership/upsync-origin.ts";
import { resolvePlacement } from "../../sync/selection.ts";
import { clusterTable } from "../cluster/cluster-view.ts";
import { formatTable } from "../output.ts";
import { placementStatus, placementTable } from "../placement/placement-view.ts";
import {
  type ListedWorkload,
  listedWorkloads,
  type UnrecordedWorkload,
  workloadTable,
} from "../workload/workload-list.ts";
import { byName } from "../workload/workload-read.ts";

/** The objects of a workspace at one point in time. */
export type WorkspaceSnapshot = Readonly<{
  registrations: readonly ClusterRegistration[];
  placements: readonly WorkloadPlacement[];
  syncRecords: readonly WorkloadSync[];
  /** The objects of the types that placements select unless they name types. */
  workloads: readonly SnapshotWorkload[];
  namespaces: readonly KubeObject[];
}>;

export type SnapshotWorkload = Readonly<{ type: WorkloadType; object: KubeObject }>;

/** Returns the workloads of a snapshot: those with a sync record, and those that no placement selects. */
export function snapshotWorkloads(snapshot: WorkspaceSnapshot): readonly ListedWorkload[] {
  const { registrations, placements, syncRecords } = snapshot;
  return listedWorkloads(
    syncRecords,
    { placements: byName(placements), registrations: byName(registrations) },
    unselectedWorkloads(snapshot),
  );
}

function unselectedWorkloads({
  placements,
  syncRecords,
  workloads,
  namespaces,
}: WorkspaceSnapshot): readonly UnrecordedWorkload[] {
  const idOf = (namespace = "", name = ""): string => `${namespace}/${name}`;
  const recorded = new Set(syncRecords.map(({ metadata }) => idOf(metadata.namespace, metadata.name)));
  const namespaceByName = byName(namespaces);
  return workloads.flatMap(({ type: { type, apiVersion, kind }, object: { metadata } }) => {
    const { name = "", namespace = "", labels, deletionTimestamp } = metadata;
    if (isReservedNamespace(namespace)) return []; // TMC never syncs its workloads
    if (deletionTimestamp !== undefined || recorded.has(idOf(namespace, recordName({ type, name })))) return [];
    if (metadata.annotations?.[upsyncOriginAnnotation] !== undefined) return []; // its original runs on a cluster
    if (kind === "PersistentVolumeClaim") return []; // synced as a dependency
    const scope = { placements, namespace, namespaceLabels: namespaceByName.get(namespace)?.metadata.labels };
    const { placement } = resolvePlacement(scope, { apiVersion, kind, labels }, undefined);
    // The sync record of a workload that a placement selects is written at once.
    return placement === undefined ? [{ workload: { apiVersion, kind, metadata }, placement }] : [];
  });
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
  // A workload waits for its placement, which may be decided without a cluster.
  const isPlaced = new Set(
    placements
      .filter(({ status }) => (status?.selectedClusters ?? []).length > 0)
      .map(({ metadata: { name = "" } }) => name),
  );
  const notReady = workloads
    .filter(({ placement = "", view }) => isPlaced.has(placement) && !view.readiness.isReady)
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
