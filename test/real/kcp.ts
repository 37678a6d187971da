import { cp, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { load } from "js-yaml";
import { callApi } from "./api-call.ts";
import { type StaticUser, writeSharedFlags } from "./api-server-flags.ts";
import { type Binaries, ensureBuilt } from "./build.ts";
import { withLock } from "./build-lock.ts";
import type { Etcd } from "./etcd.ts";
import { formatKubeconfig } from "./kubeconfig.ts";
import { type ServerGroup, type StopOptions, startGroup } from "./server-group.ts";

const readyTimeoutMs = 90_000;
/** A template holds certificates, which run out after a year. */
const templateLifeMs = 30 * 24 * 60 * 60 * 1000;

export type RealKcpOptions = Readonly<{
  /** @default those of the cache, built when missing */
  binaries?: Binaries;
  /** Run on this folder and leave it there, to start again on the same data. @default a new one, deleted by `stop` */
  dataDir?: string;
  /** Endpoint slices keep the port they were made with, so data that is used again wants its old one. @default a free one */
  port?: number;
  users?: readonly StaticUser[];
  /** Write every request to a file. @default false */
  auditLog?: boolean;
  /** More flags for `kcp start`. */
  flags?: readonly string[];
  /** @default "kcp" */
  name?: string;
  /** Start from nothing instead of from the bootstrapped template: 25 s instead of 10 s. @default false */
  fromNothing?: boolean;
  /** Ends a start that is no longer wanted. */
  signal?: AbortSignal;
}>;

/** A running kcp. */
export interface RealKcp {
  /** Without a path: workspaces are below `/clusters/<path>`. */
  readonly url: string;
  readonly port: number;
  /** PEM. */
  readonly ca: string;
  /** Of the user kcp-admin, group system:kcp:admin. */
  readonly adminToken: string;
  /** Of the user shard-admin, group system:masters: what no tenant and no provider has. */
  readonly shardAdminToken: string;
  /** For the admin, with contexts `root` (current) and `base`. */
  readonly kubeconfig: string;
  readonly dataDir: string;
  /** The one that runs within kcp. */
  readonly etcd: Etcd;
  /** The file of audit events, one JSON object a line, when asked for. */
  readonly auditLog: string | undefined;
  readonly group: ServerGroup;
  /** For the admin, with one context per workspace path, the first of them current. */
  formatKubeconfig(workspaces: Readonly<Record<string, string>>): string;
  /** Creates a workspace such as `root:demo` below one that is there, and answers its logical cluster when it is ready. */
  createWorkspace(path: string): Promise<string>;
  stop(options?: StopOptions): Promise<string | undefined>;
}

/** Starts a kcp on free loopback ports and answers once it is ready. */
export async function startKcp(options: RealKcpOptions = {}): Promise<RealKcp> {
  const binaries = options.binaries ?? (await ensureBuilt());
  const template = options.fromNothing === true ? undefined : await ensureTemplate(binaries);
  return startGroup({ name: options.name ?? "kcp", portCount: 3, signal: options.signal }, async (group, ports) => {
    const [freePort, etcdPort, peerPort] = ports;
    const port = options.port ?? freePort ?? 0;
    const dataDir = options.dataDir ?? join(group.folder.path, "data");
    if (template !== undefined && !(await hasData(dataDir))) await cp(template, dataDir, { recursive: true });

    const auditLog = options.auditLog === true ? join(group.folder.logs, "audit.log") : undefined;
    const kubeconfigFile = join(dataDir, "admin.kubeconfig");
    const before = await readIfThere(kubeconfigFile);
    group.start(0, {
      name: "kcp",
      command: binaries.kcp,
      args: [
        "start",
        `--root-directory=${dataDir}`,
        "--bind-address=127.0.0.1",
        `--secure-port=${port}`,
        `--embedded-etcd-client-port=${etcdPort}`,
        `--embedded-etcd-peer-port=${peerPort}`,
        // Tests write little; without it each start preallocates 64 MB.
        "--embedded-etcd-wal-size-bytes=5000",
        ...(await writeSharedFlags(group.folder.path, { users: options.users ?? [], auditLog })),
        ...(options.flags ?? []),
      ],
    });

    let access: KcpAccess | undefined;
    await group.waitUntilNothingMissing(async () => {
      // The admin's token is new at every start: what was there before is no longer true.
      const text = await readIfThere(kubeconfigFile);
      if (text === undefined || text === before) return "admin.kubeconfig";
      access = parseAdminKubeconfig(text);
      const { status, body } = await callApi(access, "GET", "/readyz");
      return status === 200 ? undefined : `/readyz answers ${status}: ${body.slice(0, 300)}`;
    }, readyTimeoutMs);
    if (access === undefined) throw new Error("ready without a kubeconfig");
    const etcd = embeddedEtcd(dataDir, { etcdPort, peerPort });
    return createRealKcp(group, { ...access, port, dataDir, auditLog, etcd });
  });
}

type KcpAccess = Readonly<{ url: string; ca: string; token: string; shardAdminToken: string }>;

function createRealKcp(
  group: ServerGroup,
  access: KcpAccess & Readonly<{ port: number; dataDir: string; auditLog: string | undefined; etcd: Etcd }>,
): RealKcp {
  const { url, ca, token, shardAdminToken, port, dataDir, auditLog, etcd } = access;
  return {
    url,
    port,
    ca,
    adminToken: token,
    shardAdminToken,
    dataDir,
    etcd,
    auditLog,
    group,
    kubeconfig: formatKubeconfig(ca, { token }, { root: `${url}/clusters/root`, base: url }),
    formatKubeconfig: (workspaces) => {
      const servers = Object.entries(workspaces).map(([name, path]) => [name, `${url}/clusters/${path}`]);
      return formatKubeconfig(ca, { token }, Object.fromEntries(servers));
    },
    createWorkspace: (path) => createWorkspace(group, access, path),
    stop: (options) => group.stop(options),
  };
}

/** As kcp configures it: the default name of a member, and certificates that it writes at its first start. */
function embeddedEtcd(
  rootDirectory: string,
  { etcdPort, peerPort }: Readonly<{ etcdPort: number | undefined; peerPort: number | undefined }>,
): Etcd {
  const dataDir = join(rootDirectory, "etcd-server");
  const secret = (path: string): string => join(dataDir, "secrets", path);
  return {
    name: "default",
    clientUrl: `https://localhost:${etcdPort}`,
    peerUrl: `https://localhost:${peerPort}`,
    dataDir,
    tls: { ca: secret("ca/cert.pem"), certificate: secret("client/cert.pem"), key: secret("client/key.pem") },
  };
}

async function createWorkspace(group: ServerGroup, access: KcpAccess, path: string): Promise<string> {
  const split = path.lastIndexOf(":");
  const [parent, name] = [path.slice(0, split), path.slice(split + 1)];
  const collection = `/clusters/${parent}/apis/tenancy.kcp.io/v1alpha1/workspaces`;
  const workspace = {
    apiVersion: "tenancy.kcp.io/v1alpha1",
    kind: "Workspace",
    metadata: { name },
    spec: { type: { name: "universal", path: "root" } },
  };
  let logicalCluster: string | undefined;
  await group.waitUntilNothingMissing(async () => {
    const found = await callApi(access, "GET", `${collection}/${name}`);
    if (found.status === 404) {
      const created = await callApi(access, "POST", collection, workspace);
      return created.status === 201 ? "phase Ready" : `workspace: ${created.status} ${created.body}`;
    }
    if (found.status !== 200) return `workspace: ${found.status} ${found.body}`;
    const { spec, status } = parseRecord(JSON.parse(found.body));
    const phase = parseRecord(status).phase;
    const cluster = parseRecord(spec).cluster;
    if (phase !== "Ready" || typeof cluster !== "string") return `phase Ready, it is ${String(phase)}`;
    logicalCluster = cluster;
    return undefined;
  }, 30_000);
  return logicalCluster ?? "";
}

/**
 * Gives a folder in which kcp has already put its own objects, made once beside the binary. Its copies start on any port,
 * because nothing in it has been exported yet.
 */
async function ensureTemplate(binaries: Binaries): Promise<string> {
  const template = join(dirname(binaries.kcp), "template");
  if (await isFresh(template)) return template;
  return withLock(
    `${template}.lock`,
    () => {},
    async () => {
      if (await isFresh(template)) return template;
      await removeUnfinished(template);
      const dataDir = await mkdtemp(`${template}.making-`); // 0700: it will hold private keys
      try {
        const kcp = await startKcp({ binaries, dataDir, fromNothing: true, name: "kcp-template" });
        // Ready comes before the last of the bootstrap is written, and nothing reports its end.
        await delay(3_000);
        await kcp.stop();
        await writeFile(join(dataDir, "template"), "");
        await rm(template, { recursive: true, force: true });
        await rename(dataDir, template);
      } finally {
        await rm(dataDir, { recursive: true, force: true });
      }
      return template;
    },
  );
}

/** What makers that were killed have left; under the lock nobody works on it. */
async function removeUnfinished(template: string): Promise<void> {
  const names = (await readdir(dirname(template))).filter((name) => name.startsWith("template.making-"));
  await Promise.all(names.map((name) => rm(join(dirname(template), name), { recursive: true, force: true })));
}

async function hasData(folder: string): Promise<boolean> {
  return readdir(folder).then(
    (names) => names.length > 0,
    () => false,
  );
}

async function isFresh(template: string): Promise<boolean> {
  const made = await stat(join(template, "template")).catch(() => undefined);
  return made !== undefined && Date.now() - made.mtimeMs < templateLifeMs;
}

/** Reads address, CA and both tokens from what kcp writes; kcp gives the address without a path in context `base`. */
function parseAdminKubeconfig(text: string): KcpAccess {
  const config = parseRecord(load(text));
  const named = (list: unknown, name: string): Readonly<Record<string, unknown>> =>
    (Array.isArray(list) ? list : []).map(parseRecord).find((entry) => entry.name === name) ?? {};
  const tokenOf = (user: string): unknown => parseRecord(named(config.users, user).user).token;
  const cluster = parseRecord(named(config.clusters, "base").cluster);
  const [url, caData] = [cluster.server, cluster["certificate-authority-data"]];
  const [token, shardAdminToken] = [tokenOf("kcp-admin"), tokenOf("shard-admin")];
  if (
    typeof url !== "string" ||
    typeof caData !== "string" ||
    typeof token !== "string" ||
    typeof shardAdminToken !== "string"
  ) {
    throw new Error("admin.kubeconfig lacks the address, the CA or a token");
  }
  return { url, ca: Buffer.from(caData, "base64").toString(), token, shardAdminToken };
}

function parseRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

async function readIfThere(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").catch(() => undefined);
}
