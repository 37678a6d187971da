import type { ReconciledKind } from "../model/key.ts";
import type { Readiness } from "../model/readiness.ts";
import type { Metrics } from "./metrics.ts";

/** Sets the gauge that says how many objects of a kind are ready, are not, or say nothing of it. */
export function recordReadiness(
  metrics: Pick<Metrics, "set">,
  kind: ReconciledKind,
  counts: Readonly<Record<Readiness, number>>,
): void {
  const gauge = kind === "ClusterRegistration" ? "tmc_clusters" : "tmc_placements";
  for (const ready of ["true", "false", "unknown"] as const) metrics.set(gauge, { ready }, counts[ready]);
}
