import type { ClusterRegistration } from "../../api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import { findCondition } from "../../model/condition.ts";
import { formatClusters } from "../cluster-view.ts";
import { formatPlacements, placementStatus } from "../placement-view.ts";

/** What is known of a workspace at a moment. */
export type LocalFacts = Readonly<{
  clusters: readonly ClusterRegistration[];
  placements: readonly WorkloadPlacement[];
}>;

/** What is still missing until every cluster is Ready and every placement decided; empty when nothing is. */
export function missingIn(
  { clusters, placements }: LocalFacts,
  expected: Readonly<{ clusters: readonly string[]; placements: readonly string[] }>,
): readonly string[] {
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
  return [...absent, ...unready, ...undecided];
}

/** The facts as a program reads them. */
export function factsDocument(
  { clusters, placements }: LocalFacts,
  run: Readonly<{ workspace: string; kcp: string; tookMs: number; missing: readonly string[] }>,
): object {
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
  };
}

/** The facts as a person reads them. */
export function formatFacts({ clusters, placements }: LocalFacts, nowMs: number): string {
  return `${formatClusters(clusters, { wide: true, nowMs })}\n${formatPlacements(placements, { wide: true, nowMs })}`;
}
