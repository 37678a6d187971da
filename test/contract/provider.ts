import type { KubeClient } from "@tmc/kube/client.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { exportName } from "../../lib/api/group.ts";
import { bindExport, installExport } from "../../lib/install/bind.ts";
import { ensureWorkspace } from "../../lib/install/workspaces.ts";
import { eventually, unique } from "./resources.ts";
import type { ServerUnderTest } from "./server-under-test.ts";

export const endpointSlices = { group: "apis.kcp.io", version: "v1alpha1", plural: "apiexportendpointslices" };
export type EndpointSlice = KubeObject & { status?: { endpoints?: { url: string }[] } };

export const registrations = { group: "tmc.kcp.io", version: "v1alpha1", plural: "clusterregistrations" };

/** One of the export's objects, which any of its tenants can make. */
export const aRegistration = (name: string, spec: object = { location: "eu-west" }): object => ({
  apiVersion: "tmc.kcp.io/v1alpha1",
  kind: "ClusterRegistration",
  metadata: { name },
  spec,
});

export type Tenant = Readonly<{ cluster: string; path: string; client: KubeClient }>;
export type Provider = Readonly<{
  /** Path of the workspace that holds the export: `root:…`. */
  path: string;
  cluster: string;
  client: KubeClient;
  tenants: readonly [Tenant, Tenant];
  /** `/services/apiexport/<logical cluster>/<export>`. */
  view: string;
}>;

const providers = new WeakMap<ServerUnderTest, Promise<Provider>>();

/** Our export in a provider workspace, bound by two tenants. Made once for a server: the first binding takes seconds. */
export function providerOf(server: ServerUnderTest): Promise<Provider> {
  const known = providers.get(server) ?? makeProvider(server);
  providers.set(server, known);
  return known;
}

async function makeProvider(server: ServerUnderTest): Promise<Provider> {
  const path = `root:${unique("provider")}`;
  const cluster = await ensureWorkspace(server.admin, path);
  const client = server.admin.at(`/clusters/${cluster}`);
  await installExport(client);
  const tenants: [Tenant, Tenant] = [await aTenant(server, path), await aTenant(server, path)];
  let view = "";
  await eventually(async () => {
    const { status } = await client.get<EndpointSlice>({ type: endpointSlices, name: exportName });
    const url = status?.endpoints?.[0]?.url;
    if (url === undefined) return "the slice has no endpoint";
    view = new URL(url).pathname;
    return undefined;
  }, 30_000);
  return { path, cluster, client, tenants, view };
}

/** A new workspace with the export bound in it. */
export async function aTenant(server: ServerUnderTest, exportPath: string): Promise<Tenant> {
  const name = unique("tenant");
  const cluster = await ensureWorkspace(server.admin, `root:${name}`);
  const client = server.admin.at(`/clusters/${cluster}`);
  await bindExport(client, exportPath);
  return { cluster, path: `root:${name}`, client };
}
