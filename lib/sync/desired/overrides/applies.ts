import { type LabelSelector, satisfiesRequirement, selectorFromObject } from "@tmc/kube/selector.ts";
import type { WorkloadPlacement } from "../../../api/workload-placement.ts";
import type { Manifest, SyncCluster } from "../../sync-objects.ts";
import { refuse } from "./refuse.ts";

/** What a placement says is different on some clusters. */
export type Override = NonNullable<WorkloadPlacement["spec"]["overrides"]>[number];

/** Tells whether an override is about a cluster and a type; every part that is left out means all. */
export function applies(
  { clusterNames, clusterSelector, workloadTypes }: Override,
  { apiVersion, kind }: Pick<Manifest, "apiVersion" | "kind">,
  cluster: SyncCluster,
  where: string,
): boolean {
  if (clusterNames !== undefined && !clusterNames.includes(cluster.name)) return false;
  if (workloadTypes?.some((type) => type.apiVersion === apiVersion && type.kind === kind) === false) return false;
  return (
    clusterSelector === undefined ||
    readSelector(clusterSelector, where).every((each) => satisfiesRequirement(cluster.labels.get(each.key), each))
  );
}

function readSelector(selector: NonNullable<Override["clusterSelector"]>, where: string): LabelSelector {
  try {
    return selectorFromObject(selector);
  } catch (error) {
    return refuse(`${where}: clusterSelector`, error instanceof Error ? error.message : String(error));
  }
}
