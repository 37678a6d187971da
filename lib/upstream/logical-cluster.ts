import type { KubeClient } from "@tmc/kube/client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";

/** Each logical cluster has one LogicalCluster object, with the name "cluster". */
export const logicalClusters: ResourceType = { group: "core.kcp.io", version: "v1alpha1", plural: "logicalclusters" };

/** A logical cluster of kcp: its permanent name, and the path of its workspace. */
export type LogicalCluster = Readonly<{
  /** Used in keys; empty on plain Kubernetes. */
  name: string;
  /** For display only: another logical cluster can get the same path later. */
  path: string;
}>;

/** The annotation with which kcp names the logical cluster of an object, the only way to distinguish tenants in a wildcard list. */
export const logicalClusterAnnotation = "kcp.io/cluster";

/** The logical cluster in an object's annotation; empty without it. */
export function logicalClusterIn({ metadata }: KubeObject): string {
  return metadata.annotations?.[logicalClusterAnnotation] ?? "";
}

/** Stands for a plain Kubernetes cluster that serves our kinds, without kcp. */
export const plainKubernetes: LogicalCluster = { name: "", path: "" };

const segment = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?";
const workspacePattern = new RegExp(`^${segment}(:${segment})*$`);

/** Whether a text has the form of a workspace path or of a logical cluster name. */
export function isWorkspaceAddress(text: string): boolean {
  return workspacePattern.test(text);
}

/** The client for a logical cluster, on the connections of the given client; the given client itself on plain Kubernetes. */
export function clientOf(root: KubeClient, logicalCluster: string): KubeClient {
  return logicalCluster === "" ? root : root.at(`/clusters/${logicalCluster}`);
}

/**
 * Resolves a workspace path, or the name of a logical cluster, to the logical cluster.
 *
 * kcp answers 403 or 404 both for a workspace that does not exist and for one without access; both become the fault "invalid" in one
 * line. An unreachable server stays a transient fault.
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
  const { [logicalClusterAnnotation]: name, "kcp.io/path": path } = found.metadata.annotations ?? {};
  if (name === undefined) {
    throw new ControllerError("invalid", `workspace "${workspace}": the server does not return its logical cluster`);
  }
  return { name, path: path ?? workspace };
}
