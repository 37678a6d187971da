import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { type Readiness, readinessOf } from "../../model/condition.ts";
import { type ReconciledKind, reconciledKinds } from "../../model/key.ts";
import type { Metrics } from "../../observe/metrics.ts";
import { recordReadiness } from "../../observe/recorders.ts";

/** Counts the relayed objects by readiness; of each object it keeps the name and the readiness. */
export interface ObjectCounts {
  applyList(kind: ReconciledKind, logicalCluster: string, objects: readonly KubeObject[]): void;
  apply(kind: ReconciledKind, logicalCluster: string, object: KubeObject): void;
  remove(kind: ReconciledKind, logicalCluster: string, name: string): void;
  /** Forgets a logical cluster. */
  release(logicalCluster: string): void;
  /** Sets the gauges of objects and their readiness. */
  record(metrics: Pick<Metrics, "set">): void;
}

/** Creates counts without objects. */
export function createObjectCounts(): ObjectCounts {
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
    applyList: (kind, logicalCluster, objects) => {
      const listed = objects.map((object) => [object.metadata.name ?? "", readinessOf(object)] as const);
      seen[kind].set(logicalCluster, new Map(listed));
    },
    apply: (kind, logicalCluster, object) =>
      void inCluster(kind, logicalCluster).set(object.metadata.name ?? "", readinessOf(object)),
    remove: (kind, logicalCluster, name) => void inCluster(kind, logicalCluster).delete(name),
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
