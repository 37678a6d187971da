import { faultOf } from "@tmc/kube/errors.ts";
import { Argument } from "commander";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import { parseName } from "./names.ts";
import type { Workspace } from "./workspace.ts";

/** The argument that names a registered cluster. */
export function clusterArgument(): Argument {
  return new Argument("<name>", "the cluster's name").argParser(parseName);
}

/** The cluster of that name, or an error that says which there are. */
export async function findCluster(workspace: Workspace, name: string): Promise<ClusterRegistration> {
  return workspace.cluster(name).catch((error: unknown) => {
    if (faultOf(error) !== "not-found") throw error;
    return missingCluster(workspace, name);
  });
}

/** Also tells a workspace without our kinds, for which the list fails in its own words. */
async function missingCluster(workspace: Workspace, name: string): Promise<never> {
  const names = (await workspace.clusters()).map(({ metadata }) => metadata.name ?? "");
  throw new Error(`cluster "${name}": is not registered; there are ${names.join(", ") || "none"}`);
}
