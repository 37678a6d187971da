import { compareStrings } from "@tmc/kube/compare.ts";
import type { JsonObject } from "@tmc/kube/kube-object.ts";
import type { StatusStrategy } from "../../api/workload-kinds.ts";

/** The status of a copy on a cluster that could be read. */
export type StatusCopy = Readonly<{
  targetCluster: string;
  status: JsonObject | undefined;
  /** Whether it was written from the current workload and its controller has observed that (`hasObservedGeneration`). */
  isCurrent: boolean;
  /** When we last observed a change, by our own clock. */
  observedMs: number;
}>;

/** The facts from which the status of a workload is aggregated. */
export type StatusFacts = Readonly<{
  apiVersion: string;
  kind: string;
  /** The workload's generation, not a copy's. */
  generation: number | undefined;
  /** The current status of the workload. */
  previous: JsonObject | undefined;
  /**
   * Only copies that could be read: the last status of a cluster that is not Ready is no longer known. A copy on a cluster that
   * is no longer a target counts as long as it runs, but nothing waits for it.
   */
  copies: readonly StatusCopy[];
  /** Names of the target clusters, in the order of the placement. */
  targets: readonly string[];
  /** Only for types without rules of their own. */
  strategy?: StatusStrategy | undefined;
  /** Fields that are added up, whatever the strategy; only for types without rules of their own. */
  summedFields?: ReadonlySet<string> | undefined;
  /** The time of this reconcile, in RFC 3339. */
  now: string;
}>;

/** The copies and targets in an order that does not depend on the order of the facts. */
export type StatusView = Readonly<{
  /** By name. */
  copies: readonly StatusCopy[];
  targets: readonly string[];
  /** Targets whose copy could not be read, by name. */
  missingTargets: readonly string[];
  /** Whether more than one cluster is involved, so that messages name the cluster. */
  hasSeveralClusters: boolean;
}>;

export function statusViewOf({ copies, targets }: Pick<StatusFacts, "copies" | "targets">): StatusView {
  const reporting = new Set(copies.map(({ targetCluster }) => targetCluster));
  return {
    copies: copies.toSorted((one, other) => compareStrings(one.targetCluster, other.targetCluster)),
    targets,
    missingTargets: targets.filter((name) => !reporting.has(name)).toSorted(),
    hasSeveralClusters: new Set([...reporting, ...targets]).size > 1,
  };
}

/** `Deployment.apps`, `Service`: a type without its version, as key of a table. */
export function typeName({ apiVersion, kind }: Readonly<{ apiVersion: string; kind: string }>): string {
  const slash = apiVersion.indexOf("/");
  return slash < 0 ? kind : `${kind}.${apiVersion.slice(0, slash)}`;
}
