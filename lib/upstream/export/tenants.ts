import type { KubeClient } from "@tmc/kube/client.ts";
import { compareStrings } from "@tmc/kube/compare.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import { exportName } from "../../api/group.ts";
import { type ApiBinding, apiBindings } from "../kcp-types.ts";
import { logicalClusterIn, resolveLogicalCluster } from "../logical-cluster.ts";
import { readEndpointUrls } from "./endpoints.ts";

/** A workspace with an APIBinding to the export. */
export type BoundTenant = Readonly<{
  logicalCluster: string;
  /** For display; the name of the logical cluster if TMC cannot read the path. */
  path: string;
  binding: string;
}>;

/** Opens a client for a URL of an endpoint slice; closing the original client closes it too. */
export type OpenEndpoint = (url: string) => KubeClient;

/**
 * Lists the tenants of the export on all shards, sorted by path. The virtual workspaces show every binding to the export.
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
      const logicalCluster = logicalClusterIn(binding);
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
