import type { KubeClient } from "@tmc/kube/client.ts";
import { compareStrings } from "@tmc/kube/compare.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import { exportName } from "../../api/group.ts";
import { type ApiBinding, apiBindings } from "../kcp-types.ts";
import { clusterOf, resolveLogicalCluster } from "../logical-cluster.ts";
import { readEndpointUrls } from "./endpoints.ts";

/** A workspace that has bound the export. */
export type BoundTenant = Readonly<{
  /** The logical cluster's name. */
  logicalCluster: string;
  /** For display; the name again where the path cannot be learnt. */
  path: string;
  binding: string;
}>;

/** Opens a client for the address of an endpoint slice; it lives as long as the one it came from. */
export type OpenEndpoint = (url: string) => KubeClient;

/**
 * Lists the tenants of the export, by their paths: the virtual workspaces show every binding to it, on every shard.
 *
 * @param kcp a client at the server's root
 */
export async function listTenants(
  kcp: KubeClient,
  { path, openEndpoint }: Readonly<{ path: string; openEndpoint: OpenEndpoint }>,
  signal?: AbortSignal,
): Promise<readonly BoundTenant[]> {
  const urls = await readEndpointUrls(kcp, { path, name: exportName }, signal).catch((error: unknown) => {
    if (faultOf(error) !== "not-found") throw error;
    return undefined; // no export, no tenants
  });
  const tenants: BoundTenant[] = [];
  for (const url of urls ?? []) {
    const { items } = await openEndpoint(`${url}/clusters/*`).listAll<ApiBinding>({ type: apiBindings }, { signal });
    for (const binding of items) {
      const logicalCluster = clusterOf(binding);
      tenants.push({
        logicalCluster,
        path: await pathOf(kcp, logicalCluster, signal),
        binding: binding.metadata.name ?? "",
      });
    }
  }
  return tenants.toSorted((a, b) => compareStrings(a.path, b.path));
}

async function pathOf(kcp: KubeClient, logicalCluster: string, signal: AbortSignal | undefined): Promise<string> {
  try {
    return (await resolveLogicalCluster(kcp, logicalCluster, signal)).path;
  } catch (error) {
    if (faultOf(error) !== "invalid") throw error;
    return logicalCluster;
  }
}
