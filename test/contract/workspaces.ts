import type { KubeClient } from "@tmc/kube/client.ts";
import { ensureWorkspace } from "../../lib/install/workspaces.ts";

/** Makes a workspace below `parent` and gives the path of its logical cluster: `/clusters/<name>`. */
export async function createWorkspace(kcp: KubeClient, parent: string, name: string): Promise<string> {
  return `/clusters/${await ensureWorkspace(kcp, `${parent}:${name}`)}`;
}
