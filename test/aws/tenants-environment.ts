import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type EmbeddedKcp, startEmbeddedKcp } from "@tmc/embedded/kcp/embedded-kcp.ts";
import { startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import type { KubeClient } from "@tmc/kube/client.ts";
import { parseKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig.ts";
import { formatKubeconfig, writeKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig-file.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import type { Endpoint } from "@tmc/kube/transport/transport.ts";
import { createUndiciTransport } from "@tmc/kube/transport/undici-transport.ts";
import { accountNamespace, type ServiceRole, serviceAccounts } from "../../lib/api/export-access.ts";
import { resolveLogicalCluster } from "../../lib/upstream/logical-cluster.ts";
import { type Tenant, tenantOf } from "../e2e/tenant.ts";
import { tmc } from "../lib/cli/support.ts";

/** A workspace that has bound the export. */
export type Team = Readonly<{ path: string; cluster: string; client: KubeClient; tenant: Tenant }>;

/** A kcp that `tmc bootstrap` has prepared, and a cluster that tenants may register. */
export interface TenantsEnvironment {
  /** A folder for what a test writes. */
  readonly folder: string;
  /** At the root of kcp, as its administrator. */
  readonly admin: KubeClient;
  readonly clusterKubeconfig: string;
  /** Runs a command as the administrator of kcp; answers what it printed, and fails when it does. */
  tmc(line: string): Promise<string>;
  /** The kubeconfig of a service, as `tmc bootstrap` has written it last. */
  kubeconfigOf(service: ServiceRole): Promise<string>;
  /** Whoever a kubeconfig makes one. */
  clientWith(kubeconfig: string): KubeClient;
  /** Makes a workspace and has it bind the export. */
  join(name: string): Promise<Team>;
  /** Counts from now on what a service asks for in one logical cluster. */
  countRequests(service: ServiceRole, cluster: string): () => number;
  /** Ends every watch of kcp that is open. */
  cutWatches(): void;
  stop(): Promise<void>;
}

/** Starts a kcp and a cluster, and has the command line prepare the kcp. */
export async function startTenantsEnvironment(waitMs: number): Promise<TenantsEnvironment> {
  const folder = await mkdtemp(join(tmpdir(), "tmc-tenants-"));
  const [kcp, cluster] = await Promise.all([startEmbeddedKcp(), startEmbeddedCluster({ name: "shared" })]);
  const clients: KubeClient[] = [];
  const open = (endpoint: Endpoint): KubeClient => {
    const client = createKubeClient({ endpoint, transport: createUndiciTransport(endpoint), userAgent: "tmc-e2e" });
    clients.push(client);
    return client;
  };
  const admin = open({ ...kcp.endpoint(), server: kcp.url });
  const adminKubeconfig = await writeAdmin(kcp, folder);
  const clusterEndpoint = { name: "shared", endpoint: { server: cluster.url, ca: cluster.ca } };
  const world: TenantsEnvironment = {
    folder,
    admin,
    clusterKubeconfig: formatKubeconfig({ contexts: [{ ...clusterEndpoint, token: cluster.adminToken }] }),
    tmc: async (line) => {
      const { code, out, err } = await tmc(line.split(" "), { env: { KUBECONFIG: adminKubeconfig } });
      if (code !== 0 || err !== "") throw new Error(`tmc ${line}: ${code}: ${err}`);
      return out;
    },
    kubeconfigOf: (service) => readFile(join(folder, `${service}.kubeconfig`), "utf8"),
    clientWith: (kubeconfig) => open(parseKubeconfig(kubeconfig, { allow: "data-only" }).endpoint),
    join: async (name) => {
      const path = `root:${name}`;
      await world.tmc(`bind --workspace ${path} --create --timeout 60s`);
      const { name: ownCluster } = await resolveLogicalCluster(admin, path);
      const client = admin.at(`/clusters/${ownCluster}`);
      return { path, cluster: ownCluster, client, tenant: tenantOf(client, waitMs) };
    },
    countRequests: (service, ownCluster) => {
      const user = `system:serviceaccount:${accountNamespace}:${serviceAccounts[service]}`;
      const counted = kcp.faults.inject({
        match: { user, logicalCluster: ownCluster },
        effect: { kind: "delay", ms: 0 },
      });
      return () => counted.hits;
    },
    cutWatches: () => kcp.faults.cutWatches(),
    stop: async () => {
      await Promise.all(clients.map((client) => client.close()));
      await Promise.all([kcp.stop(), cluster.stop()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
  try {
    await world.tmc(bootstrapLine(folder));
    return world;
  } catch (error) {
    await world.stop();
    throw error;
  }
}

/** The command by which kcp is prepared, and by which tokens that are good no longer are renewed. */
export const bootstrapLine = (folder: string): string => `bootstrap --kubeconfig-dir ${folder} --timeout 60s`;

async function writeAdmin(kcp: EmbeddedKcp, folder: string): Promise<string> {
  const path = join(folder, "admin.kubeconfig");
  await writeKubeconfig(path, { contexts: [{ name: "root", endpoint: kcp.endpoint("root"), token: kcp.adminToken }] });
  return path;
}
