import { type Condition, findCondition } from "../model/condition.ts";
import { type ReconciledKind, reconciledKinds } from "../model/key.ts";
import type { KubeObject } from "../model/kube-object.ts";
import type { Metrics } from "../observe/metrics.ts";

type Readiness = "true" | "false" | "unknown";

/** Counts the objects that the relay sees by how ready they are; of each it keeps its name and that one word. */
export interface FleetCensus {
  takeList(kind: ReconciledKind, cluster: string, objects: readonly KubeObject[]): void;
  take(kind: ReconciledKind, cluster: string, object: KubeObject): void;
  lose(kind: ReconciledKind, cluster: string, name: string): void;
  /** Forgets a logical cluster. */
  release(cluster: string): void;
  /** Sets the gauges of the fleet. */
  record(metrics: Pick<Metrics, "set">): void;
}

/** Creates a census that has seen nothing. */
export function createFleetCensus(): FleetCensus {
  const seen: Readonly<Record<ReconciledKind, Map<string, Map<string, Readiness>>>> = {
    ClusterRegistration: new Map(),
    WorkloadPlacement: new Map(),
  };
  const inCluster = (kind: ReconciledKind, cluster: string): Map<string, Readiness> => {
    const names = seen[kind].get(cluster) ?? new Map<string, Readiness>();
    seen[kind].set(cluster, names);
    return names;
  };
  return {
    takeList: (kind, cluster, objects) => {
      const listed = objects.map((object) => [object.metadata.name ?? "", readinessOf(object)] as const);
      seen[kind].set(cluster, new Map(listed));
    },
    take: (kind, cluster, object) => void inCluster(kind, cluster).set(object.metadata.name ?? "", readinessOf(object)),
    lose: (kind, cluster, name) => void inCluster(kind, cluster).delete(name),
    release: (cluster) => {
      for (const kind of reconciledKinds) seen[kind].delete(cluster);
    },
    record: (metrics) => {
      for (const kind of reconciledKinds) {
        const counts = { true: 0, false: 0, unknown: 0 };
        for (const names of seen[kind].values()) for (const ready of names.values()) counts[ready] += 1;
        metrics.set("tmc_relay_objects", { kind }, counts.true + counts.false + counts.unknown);
        const gauge = kind === "ClusterRegistration" ? "tmc_clusters" : "tmc_placements";
        for (const ready of ["true", "false", "unknown"] as const) metrics.set(gauge, { ready }, counts[ready]);
      }
    },
  };
}

function readinessOf({ status }: KubeObject): Readiness {
  if (typeof status !== "object" || status === null || !("conditions" in status)) return "unknown";
  // The schema of both kinds gives conditions this form.
  const ready = findCondition(status.conditions as readonly Condition[] | undefined, "Ready");
  return ready?.status === "True" ? "true" : ready?.status === "False" ? "false" : "unknown";
}
