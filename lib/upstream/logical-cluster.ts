import type { KubeClient } from "@tmc/kube/client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";

/** What each logical cluster has one of, by the name "cluster". */
export const logicalClusters: ResourceType = { group: "core.kcp.io", version: "v1alpha1", plural: "logicalclusters" };

/** A tenant's place in the hub: by its lasting name, and by the words that people use for it. */
export type LogicalCluster = Readonly<{
  /** What keys carry; empty on a plain Kubernetes hub. */
  name: string;
  /** For display only: a path can mean another logical cluster tomorrow. */
  path: string;
}>;

/** By which kcp says whose an object is; behind an endpoint of all tenants nothing else does. */
export const clusterAnnotation = "kcp.io/cluster";

/** The logical cluster that an object says it is in; empty where it says nothing. */
export function clusterOf({ metadata }: KubeObject): string {
  return metadata.annotations?.[clusterAnnotation] ?? "";
}

/** A whole plain Kubernetes cluster that has our kinds, for people without kcp. */
export const plainHub: LogicalCluster = { name: "", path: "" };

const segment = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?";
const workspacePattern = new RegExp(`^${segment}(:${segment})*$`);

/** Tells whether a text has the form of a workspace's path or of a logical cluster's name. */
export function isWorkspaceAddress(text: string): boolean {
  return workspacePattern.test(text);
}

/** The client for a logical cluster, over the connections of the one that was given; that one itself on a plain hub. */
export function clientOf(hub: KubeClient, logicalCluster: string): KubeClient {
  return logicalCluster === "" ? hub : hub.at(`/clusters/${logicalCluster}`);
}

/**
 * Finds the logical cluster behind a workspace's path, or behind its own name.
 *
 * What does not exist and what may not be seen look the same from outside, kcp answers 403 or 404 for either; both end as
 * the fault "invalid" in one line. A kcp that cannot be reached stays a fault that may pass.
 */
export async function resolveLogicalCluster(
  kcp: KubeClient,
  workspace: string,
  signal?: AbortSignal,
): Promise<LogicalCluster> {
  if (!isWorkspaceAddress(workspace)) {
    throw new ControllerError("invalid", `workspace "${workspace}": is not a path like root:org:team`);
  }
  const found = await clientOf(kcp, workspace)
    .get<KubeObject>({ type: logicalClusters, name: "cluster" }, { signal })
    .catch((error: unknown) => {
      const fault = faultOf(error);
      if (fault !== "not-found" && fault !== "forbidden") throw error;
      throw new ControllerError("invalid", `workspace "${workspace}": there is none, or we have no access to it`, {
        cause: error,
      });
    });
  const { [clusterAnnotation]: name, "kcp.io/path": path } = found.metadata.annotations ?? {};
  if (name === undefined) {
    throw new ControllerError("invalid", `workspace "${workspace}": the server does not say its logical cluster`);
  }
  return { name, path: path ?? workspace };
}
