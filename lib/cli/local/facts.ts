import type { ClusterRegistration } from "../../api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import type { WorkloadSync } from "../../api/workload-sync.ts";
import { findCondition } from "../../model/condition.ts";
import { formatClusters } from "../cluster-view.ts";
import { formatPlacements, placementStatus } from "../placement-view.ts";
import { formatWorkloads, type ListedWorkload, listedWorkloads } from "../workload-list.ts";
import { byName } from "../workload-read.ts";

/** What is known of a workspace at a moment. */
export type LocalFacts = Readonly<{
  clusters: readonly ClusterRegistration[];
  placements: readonly WorkloadPlacement[];
  /** TMC's records of placed workloads. */
  records: readonly WorkloadSync[];
}>;

/** The placed workloads, as people see them. */
export function workloadsIn({ clusters, placements, records }: LocalFacts): readonly ListedWorkload[] {
  return listedWorkloads(records, { placements: byName(placements), clusters: byName(clusters) });
}

/** What is still missing until every cluster and workload is Ready and every placement decided; empty when nothing is. */
export function missingIn(
  facts: LocalFacts,
  expected: Readonly<{ clusters: readonly string[]; placements: readonly string[]; workloads: readonly string[] }>,
): readonly string[] {
  const { clusters, placements } = facts;
  const workloads = workloadsIn(facts);
  const lacks = (objects: LocalFacts["clusters"] | LocalFacts["placements"], name: string): boolean =>
    !objects.some(({ metadata }) => metadata.name === name);
  const absent = [
    ...expected.clusters.filter((name) => lacks(clusters, name)).map((name) => `cluster ${name}: not seen`),
    ...expected.placements.filter((name) => lacks(placements, name)).map((name) => `placement ${name}: not seen`),
  ];
  const unready = clusters.flatMap(({ metadata, status }) => {
    const ready = findCondition(status?.conditions, "Ready");
    if (ready?.status === "True") return [];
    return [`cluster ${metadata.name}: ${ready === undefined ? "not looked at" : `${ready.reason}: ${ready.message}`}`];
  });
  const undecided = placements
    .filter((placement) => placementStatus(placement) === "Pending")
    .map(({ metadata }) => `placement ${metadata.name}: not decided`);
  const unplaced = expected.workloads
    .filter((title) => !workloads.some((each) => each.title === title))
    .map((title) => `workload ${title}: not placed`);
  const idle = workloads
    .filter(({ view }) => !view.verdict.isReady)
    .map(({ title, view }) => `workload ${title}: ${view.verdict.message}`);
  return [...absent, ...unready, ...undecided, ...unplaced, ...idle];
}

/** The facts as a program reads them. */
export function factsDocument(
  facts: LocalFacts,
  run: Readonly<{ workspace: string; kcp: string; tookMs: number; missing: readonly string[] }>,
): object {
  const { clusters, placements } = facts;
  return {
    workspace: run.workspace,
    kcp: run.kcp,
    settled: run.missing.length === 0,
    settledAfterSeconds: run.missing.length === 0 ? Number((run.tookMs / 1000).toFixed(2)) : null,
    missing: run.missing,
    clusters: clusters.map(({ metadata, spec, status }) => {
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
    workloads: workloadsIn(facts).map(({ namespace, kind, name, placement, view }) => ({
      namespace,
      kind,
      name,
      placement: placement ?? null,
      ready: view.verdict.isReady,
      status: view.status,
      message: view.verdict.message,
      replicas: view.desired === undefined ? null : { desired: view.desired, ready: view.ready ?? 0 },
      clusters: view.copies.map(({ cluster, state, desired, ready, why }) => ({
        name: cluster,
        state,
        desired: desired ?? null,
        ready: ready ?? null,
        why: why === "" ? null : why,
      })),
    })),
  };
}

/** The facts as a person reads them. */
export function formatFacts(facts: LocalFacts, nowMs: number): string {
  const { clusters, placements } = facts;
  return [
    formatClusters(clusters, { wide: true, nowMs }),
    formatPlacements(placements, { wide: true, nowMs }),
    formatWorkloads(workloadsIn(facts), { wide: true, nowMs, withNamespace: true }),
  ].join("\n");
}
