import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { type Readiness, readinessOf } from "../model/condition.ts";
import { type ReconciledKind, reconciledKinds } from "../model/key.ts";
import type { Metrics } from "../observe/metrics.ts";
import { recordReadiness } from "../observe/recorders.ts";

/** Counts the objects that the relay sees by how ready they are; of each it keeps its name and that one word. */
export interface FleetCensus {
  takeList(kind: ReconciledKind, logicalCluster: string, objects: readonly KubeObject[]): void;
  take(kind: ReconciledKind, logicalCluster: string, object: KubeObject): void;
  lose(kind: ReconciledKind, logicalCluster: string, name: string): void;
  /** Forgets a logical cluster. */
  release(logicalCluster: string): void;
  /** Sets the gauges of the fleet. */
  record(metrics: Pick<Metrics, "set">): void;
}

/** Creates a census that has seen nothing. */
export function createFleetCensus(): FleetCensus {
  const seen: Readonly<Record<ReconciledKind, Map<string, Map<string, Readiness>>>> = {
    ClusterRegistration: new Map(),
    WorkloadPlacement: new Map(),
  };
  const inCluster = (kind: ReconciledKind, logicalCluster: string): Map<string, Readiness> => {
    const names = seen[kind].get(logicalCluster) ?? new Map<string, Readiness>();
    seen[kind].set(logicalCluster, names);
    return names;
  };
  return {
    takeList: (kind, logicalCluster, objects) => {
      const listed = objects.map((object) => [object.metadata.name ?? "", readinessOf(object)] as const);
      seen[kind].set(logicalCluster, new Map(listed));
    },
    take: (kind, logicalCluster, object) =>
      void inCluster(kind, logicalCluster).set(object.metadata.name ?? "", readinessOf(object)),
    lose: (kind, logicalCluster, name) => void inCluster(kind, logicalCluster).delete(name),
    release: (logicalCluster) => {
      for (const kind of reconciledKinds) seen[kind].delete(logicalCluster);
    },
    record: (metrics) => {
      for (const kind of reconciledKinds) {
        const counts = { true: 0, false: 0, unknown: 0 };
        for (const names of seen[kind].values()) for (const ready of names.values()) counts[ready] += 1;
        metrics.set("tmc_relay_objects", { kind }, counts.true + counts.false + counts.unknown);
        recordReadiness(metrics, kind, counts);
      }
    },
  };
}
