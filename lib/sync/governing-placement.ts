import { ControllerError } from "@tmc/kube/fault.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import { governing, type Selectable } from "./selection.ts";
import type { Obstacle } from "./targets/decide.ts";

/** What the placements of a logical cluster are asked about a namespace. */
export type Scope = Readonly<{
  placements: readonly WorkloadPlacement[];
  namespace: string;
  namespaceLabels: Readonly<Record<string, string>> | undefined;
}>;

/** Who says where a workload runs, and what is wrong with that. */
export type Governor = Readonly<{ placement?: WorkloadPlacement | undefined; problem?: Obstacle }>;

/** The placement that governs a workload. One whose selector makes no sense keeps what it has, as it is. */
export function governorOf(
  { placements, namespace, namespaceLabels }: Scope,
  workload: Pick<Selectable, "apiVersion" | "kind" | "labels">,
  recorded: string | undefined,
): Governor {
  const { apiVersion, kind, labels } = workload;
  try {
    return {
      placement: governing(placements, { apiVersion, kind, labels, namespace, namespaceLabels }, recorded)?.placement,
    };
  } catch (error) {
    if (!(error instanceof ControllerError) || error.fault !== "invalid") throw error;
    const placement = placements.find(({ metadata }) => metadata.name === recorded);
    return { placement, problem: { reason: "SelectorInvalid", message: error.message } };
  }
}
