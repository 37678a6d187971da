import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { KubeClient } from "@tmc/kube/client.ts";
import { formatKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig-file.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import type { Endpoint } from "@tmc/kube/transport/transport.ts";
import { createUndiciTransport } from "@tmc/kube/transport/undici-transport.ts";
import { serviceAccounts } from "../../lib/api/export-access.ts";
import { exportName, exportWorkspace } from "../../lib/api/group.ts";
import { bindExport } from "../../lib/install/bind.ts";
import { ensureWorkspace } from "../../lib/install/workspaces.ts";
import { type ApiExportEndpointSlice, endpointSlices } from "../../lib/upstream/kcp-types.ts";
import { eventuallyOk, rbac } from "../contract/resources.ts";
import { tmc } from "../lib/cli/support.ts";
import { ensureBuilt } from "../real/build.ts";
import { type RealCluster, startCluster } from "../real/cluster.ts";
import { startKcp } from "../real/kcp.ts";
import { type AuditedRequest, parseAuditLog } from "./audit-log.ts";
import type { Who } from "./audit-violations.ts";
import { type Tenant, tenantOf } from "./tenant.ts";

/** A tenant: a user, the workspace that is his, and a cluster that only he has credentials for. */
export type Team = Readonly<{
  user: string;
  path: string;
  /** The logical cluster of the workspace. */
  cluster: string;
  /** In the workspace, as the user. */
  client: KubeClient;
  tenant: Tenant;
  /** A kubeconfig for the cluster, as a user whom no other cluster knows. */
  kubeconfig: string;
  /** What the cluster was asked so far. */
  clusterAudit(): Promise<readonly AuditedRequest[]>;
}>;

/** A real kcp that writes down every request, with the export, two tenants and an outsider. */
export type IsolationEnvironment = Readonly<{
  ants: Team;
  bees: Team;
  who: Who;
  /** Of the virtual workspaces of the export, below the server's root. */
  viewPath: string;
  /** A client at the server's root; somebody by token. */
  as(token: string): KubeClient;
  outsiderToken: string;
  /** The folder with the kubeconfigs of relay and worker. */
  folder: string;
  audit(): Promise<readonly AuditedRequest[]>;
  stop(): Promise<void>;
}>;

const newToken = (): string => randomBytes(16).toString("hex");
const accountUser = (name: string): string => `system:serviceaccount:tmc-system:${name}`;

/** Sets up everything as an operator and two tenants would; nothing of ours runs yet. */
export async function startIsolationEnvironment(waitMs: number): Promise<IsolationEnvironment> {
  const binaries = await ensureBuilt();
  const folder = await mkdtemp(join(tmpdir(), "tmc-isolation-"));
  const ends: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  const stop = async (): Promise<void> => {
    for (const end of ends.splice(0).toReversed()) await end();
  };
  try {
    const tokens = { ants: newToken(), bees: newToken(), eve: newToken() };
    const users = Object.entries(tokens).map(([name, token]) => ({ name, token }));
    const kcp = await startKcp({ binaries, auditLog: true, users });
    ends.push(() => kcp.stop());
    const as = (token: string): KubeClient => {
      const endpoint: Endpoint = { server: kcp.url, ca: kcp.ca, token: async () => token };
      const client = createKubeClient({ endpoint, transport: createUndiciTransport(endpoint) });
      ends.push(() => client.close());
      return client;
    };
    const admin = as(kcp.adminToken);
    const adminKubeconfig = join(folder, "admin.kubeconfig");
    await writeFile(adminKubeconfig, kcp.kubeconfig, { mode: 0o600 });
    const line = ["bootstrap", "--kubeconfig-dir", folder, "--timeout", "90s"];
    const { code, err } = await tmc(line, { env: { KUBECONFIG: adminKubeconfig } });
    if (code !== 0) throw new Error(`tmc bootstrap: ${code} ${err}`);

    const aTeam = async (user: "ants" | "bees"): Promise<Team> => {
      const path = `root:${user}`;
      const cluster = await ensureWorkspace(admin, path);
      await eventuallyOk(() => admin.at(`/clusters/${cluster}`).create({ type: owners }, ownerOf(user)), waitMs);
      const client = as(tokens[user]).at(`/clusters/${cluster}`);
      await eventuallyOk(() => bindExport(client, exportWorkspace), waitMs);
      const probe = { name: `tmc-of-${user}`, token: newToken(), groups: ["system:masters"] };
      const physical = await startCluster({ binaries, name: user, workloads: false, auditLog: true, users: [probe] });
      ends.push(() => physical.stop());
      const endpoint = { server: physical.url, ca: physical.ca };
      return {
        user,
        path,
        cluster,
        client,
        tenant: tenantOf(client, waitMs),
        kubeconfig: formatKubeconfig({ contexts: [{ name: user, endpoint, token: probe.token }] }),
        clusterAudit: () => readAudit(physical),
      };
    };
    const [ants, bees] = [await aTeam("ants"), await aTeam("bees")];
    const provider = await ensureWorkspace(admin, exportWorkspace);
    const viewPath = await eventuallyOk(async () => {
      const slice = { type: endpointSlices, name: exportName };
      const { status } = await admin.at(`/clusters/${provider}`).get<ApiExportEndpointSlice>(slice);
      return new URL(status?.endpoints?.[0]?.url ?? "none").pathname;
    }, waitMs);
    return {
      ants,
      bees,
      who: {
        provider,
        tenants: new Map([ants, bees].map(({ cluster, user }) => [cluster, user])),
        outsider: "eve",
        relay: { user: accountUser(serviceAccounts.relay), home: provider },
        worker: { user: accountUser(serviceAccounts.worker), home: provider },
      },
      viewPath,
      as,
      outsiderToken: tokens.eve,
      folder,
      audit: () => readAudit(kcp),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

const owners = rbac("clusterrolebindings");
const ownerOf = (user: string): object => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRoleBinding",
  metadata: { name: "owner" },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
  subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: user }],
});

async function readAudit({ auditLog }: Pick<RealCluster, "auditLog">): Promise<readonly AuditedRequest[]> {
  return auditLog === undefined ? [] : parseAuditLog(await readFile(auditLog, "utf8"));
}
