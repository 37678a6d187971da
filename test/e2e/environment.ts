import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { KubeClient } from "@tmc/kube/client.ts";
import { writeKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig-file.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import type { Endpoint } from "@tmc/kube/transport/transport.ts";
import { createUndiciTransport } from "@tmc/kube/transport/undici-transport.ts";
import { exportWorkspace } from "../../lib/api/group.ts";
import { bindExport, installExport } from "../../lib/install/bind.ts";
import { ensureWorkspace } from "../../lib/install/workspaces.ts";
import type { ControllerForm } from "./controller-form.ts";
import type { Tenant } from "./tenant.ts";

/** The workspace of the tenant that everything happens in. */
export const tenantWorkspace = "root:production";
/** The clusters that there are, by the names of their registrations. */
export const clusterNames = ["us-east", "us-west"] as const;
export type ClusterName = (typeof clusterNames)[number];

/** A server that the scenario reaches over TLS, and how it is harmed. */
export type Part = Readonly<{
  endpoint: Endpoint;
  token: string;
  /** Has it gone at once, in the middle of whatever it does. */
  kill(): Promise<void>;
  /** Starts it again with the data it had, where it was. */
  revive(): Promise<void>;
  /** Lets it take requests and answer none. */
  freeze(): void;
  thaw(): void;
}>;

/** A cluster, which can also lose what it stores into and answer that it is not ready. */
export type ClusterPart = Part & Readonly<{ loseStore(): Promise<void>; regainStore(): Promise<void> }>;

/** What the two worlds are made of. */
export type Parts = Readonly<{
  kcp: Part;
  clusters: Readonly<Record<ClusterName, ClusterPart>>;
  /** The program that people apply their files with, where there is one. */
  kubectl?: string;
  stop(): Promise<void>;
}>;

/** A backup of the data of a server. */
export type Backup = Readonly<{
  take(): Promise<void>;
  /** Puts the data back, as a person restores a server from a backup. */
  restore(): Promise<void>;
}>;
type Backups = Readonly<Record<"kcp" | ClusterName, Backup>>;

/** Parts that can be restored. */
export type RestorableParts = Parts &
  Readonly<{
    /** Copies of the data: revisions go back with a restore. */
    backups: Backups;
    /** Snapshots that are restored with bumped revisions, as the documentation of etcd says. */
    snapshots: Backups;
  }>;

/** What is added to the revision of a snapshot: more than was ever written since, as the documentation of etcd recommends. */
export const bumpedRevisions = 1_000_000_000;

/** A kcp with a tenant and some clusters, with kubeconfigs for all of them. */
export type Environment = Readonly<{
  parts: Parts;
  /** In the tenant's workspace. */
  tenant: KubeClient;
  /** The logical cluster that the tenant's workspace is. */
  tenantCluster: string;
  /** In a cluster, as its administrator. */
  clusterClient(name: ClusterName): KubeClient;
  /** A folder for what a test writes. */
  folder: string;
  kcpKubeconfig: string;
  clusterKubeconfigs: Readonly<Record<ClusterName, string>>;
  stop(): Promise<void>;
}>;

/** Installs TMC's export on a kcp, binds it for the tenant, and writes the kubeconfigs. */
export async function furnish(parts: Parts): Promise<Environment> {
  const folder = await mkdtemp(join(tmpdir(), "tmc-e2e-"));
  const clients: KubeClient[] = [];
  const open = ({ endpoint }: Part): KubeClient => {
    const client = createKubeClient({ endpoint, transport: createUndiciTransport(endpoint), userAgent: "tmc-e2e" });
    clients.push(client);
    return client;
  };
  const write = async (name: string, { endpoint, token }: Part, path = ""): Promise<string> => {
    const file = join(folder, `${name}.kubeconfig`);
    const server = `${endpoint.server}${path}`;
    await writeKubeconfig(file, { contexts: [{ name, endpoint: { ...endpoint, server }, token }] });
    return file;
  };
  const stop = async (): Promise<void> => {
    await Promise.all(clients.map((client) => client.close()));
    await parts.stop();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const kcp = open(parts.kcp);
    await ensureWorkspace(kcp, exportWorkspace);
    const tenantCluster = await ensureWorkspace(kcp, tenantWorkspace);
    await installExport(kcp.at(`/clusters/${exportWorkspace}`));
    const tenant = kcp.at(`/clusters/${tenantWorkspace}`);
    await bindExport(tenant, exportWorkspace);
    return {
      parts,
      tenant,
      tenantCluster,
      clusterClient: (name) => open(parts.clusters[name]),
      folder,
      kcpKubeconfig: await write("kcp", parts.kcp, "/clusters/root"),
      clusterKubeconfigs: {
        "us-east": await write("us-east", parts.clusters["us-east"]),
        "us-west": await write("us-west", parts.clusters["us-west"]),
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Where the cases run, and how long they may take there. */
export type SuiteSettings = Readonly<{ kind: "embedded" | "real"; testMs: number; waitMs: number; startMs: number }>;

/** What a case works with. */
export type E2eContext = Readonly<{ world: Environment; tenant: Tenant; form: ControllerForm }>;
