import type { KubeClient } from "@tmc/kube/client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import { type WorkspaceObject, workspaces } from "../upstream/kcp-types.ts";
import { type WaitOptions, waitUntil } from "./wait.ts";

/**
 * Creates a workspace and its parents if they do not exist, waits until they are ready, and returns the name of the logical
 * cluster.
 *
 * @param kcp a client for the root of the server
 * @param path `root:demo`, `root:org:team`
 */
export async function ensureWorkspace(kcp: KubeClient, path: string, options: WaitOptions = {}): Promise<string> {
  const [top, ...rest] = path.split(":");
  let parent = top ?? "";
  let logicalCluster = parent;
  for (const name of rest) {
    logicalCluster = await ensureChildWorkspace(kcp.at(`/clusters/${parent}`), name, options);
    parent = `${parent}:${name}`;
  }
  return logicalCluster;
}

async function ensureChildWorkspace(parent: KubeClient, name: string, options: WaitOptions): Promise<string> {
  const signal = options.signal;
  await waitUntil(
    `the workspace ${name} to be accepted`,
    async () => {
      try {
        await parent.create(
          { type: workspaces },
          { apiVersion: "tenancy.kcp.io/v1alpha1", kind: "Workspace", metadata: { name } },
          { signal },
        );
      } catch (error) {
        if (faultOf(error) !== "exists") throw error;
      }
      return { done: true };
    },
    options,
  );
  return waitUntil(
    `the workspace ${name}`,
    async () => {
      const { spec, status } = await parent.get<WorkspaceObject>({ type: workspaces, name }, { signal });
      return status?.phase === "Ready" && spec?.cluster !== undefined
        ? { done: spec.cluster }
        : { missing: `its phase is ${status?.phase ?? "not set"}` };
    },
    options,
  );
}
