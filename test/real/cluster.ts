import { execFile } from "node:child_process";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import {
  type CertificateAuthority,
  type Credentials,
  createCertificateAuthority,
} from "@tmc/embedded/tls/certificates.ts";
import { type ApiAccess, callApi } from "./api-call.ts";
import { type StaticUser, writeSharedFlags } from "./api-server-flags.ts";
import { type Binaries, ensureBuilt } from "./build.ts";
import { type Etcd, restoreSnapshot } from "./etcd.ts";
import { formatKubeconfig } from "./kubeconfig.ts";
import { type ServerGroup, type StopOptions, startGroup } from "./server-group.ts";

const readyTimeoutMs = 60_000;
const adminGroup = "system:masters";

export type RealClusterOptions = Readonly<{
  name: string;
  /** @default those of the cache, built when missing */
  binaries?: Binaries;
  /** How many nodes there are, each with 8 CPUs, 32 GiB and room for 110 pods. @default 2 */
  nodes?: number;
  /**
   * Run controllers, scheduler and kwok, so that a Deployment gets pods that turn ready. Without them there is storage
   * only: not even a namespace is ever finally deleted. @default true
   */
  workloads?: boolean;
  users?: readonly StaticUser[];
  /** Write every request to a file. @default false */
  auditLog?: boolean;
  /** A snapshot of the etcd of another cluster: this cluster starts as a restored copy of it. @default nothing */
  snapshot?: string;
  /** More flags for kube-apiserver. */
  flags?: readonly string[];
  /** Ends a start that is no longer wanted. */
  signal?: AbortSignal;
}>;

/** A running Kubernetes cluster, whose nodes and pods are kwok's. */
export interface RealCluster {
  readonly name: string;
  readonly url: string;
  /** PEM. */
  readonly ca: string;
  /** Of the user admin, group system:masters. */
  readonly adminToken: string;
  /** The same user by certificate. */
  readonly adminIdentity: Credentials;
  /** For the admin, by certificate; its context has the cluster's name. */
  readonly kubeconfig: string;
  readonly auditLog: string | undefined;
  readonly etcd: Etcd;
  readonly group: ServerGroup;
  /** A client certificate for whomever a test needs. */
  readonly issueClient: CertificateAuthority["issueClient"];
  stop(options?: StopOptions): Promise<string | undefined>;
}

/** Starts a Kubernetes cluster on free loopback ports and answers once it is ready for workloads. */
export async function startCluster(options: RealClusterOptions): Promise<RealCluster> {
  const { name, workloads = true, nodes = 2 } = options;
  const { kubeall } = options.binaries ?? (await ensureBuilt());
  return startGroup({ name, portCount: 3, signal: options.signal }, async (group, ports) => {
    const folder = group.folder.path;
    const [port, etcdPort, peerPort] = ports;
    const url = `https://127.0.0.1:${port}`;
    const etcd: Etcd = {
      name: "one",
      clientUrl: `http://127.0.0.1:${etcdPort}`,
      peerUrl: `http://127.0.0.1:${peerPort}`,
      dataDir: join(folder, "etcd"),
    };
    if (options.snapshot !== undefined) {
      await mkdir(etcd.dataDir);
      await restoreSnapshot(kubeall, etcd, { file: options.snapshot });
    }
    startEtcd(group, kubeall, etcd);

    const authority = createCertificateAuthority({ name: `${name}-ca` });
    const adminIdentity = authority.issueClient({ name: "admin", groups: [adminGroup] });
    const adminToken = randomBytes(24).toString("hex");
    const kubeconfig = formatKubeconfig(authority.certificate, adminIdentity, { [name]: url });
    const server = authority.issueServing(["127.0.0.1", "localhost", "kubernetes.default.svc"]);
    await writePki(folder, authority.certificate, server, kubeconfig);
    const auditLog = options.auditLog === true ? join(group.folder.logs, "audit.log") : undefined;
    const admin: StaticUser = { name: "admin", token: adminToken, groups: [adminGroup] };
    const shared = await writeSharedFlags(folder, { users: [admin, ...(options.users ?? [])], auditLog });

    group.start(1, {
      name: "kube-apiserver",
      command: kubeall,
      cwd: folder,
      args: [
        "kube-apiserver",
        `--etcd-servers=http://127.0.0.1:${etcdPort}`,
        "--bind-address=127.0.0.1",
        `--secure-port=${port}`,
        "--advertise-address=127.0.0.1",
        "--endpoint-reconciler-type=none",
        "--tls-cert-file=server.crt",
        "--tls-private-key-file=server.key",
        "--client-ca-file=ca.crt",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-account-key-file=sa.pub",
        "--service-account-signing-key-file=sa.key",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--allow-privileged=true",
        "--authorization-mode=RBAC",
        ...shared,
        ...(options.flags ?? []),
      ],
    });
    const access: ApiAccess = { url, ca: authority.certificate, token: adminToken };
    await group.waitUntilNothingMissing(async () => {
      const { status, body } = await callApi(access, "GET", "/readyz");
      return status === 200 ? undefined : `/readyz answers ${status}: ${body.slice(0, 300)}`;
    }, readyTimeoutMs);

    if (workloads) await startWorkloads(group, kubeall);
    const nodeNames = Array.from({ length: nodes }, (_, index) => `${name}-node-${index + 1}`);
    await Promise.all(nodeNames.map((node) => createNode(access, node, name)));
    if (workloads) await waitForWorkloads(group, access, nodeNames);

    return {
      name,
      url,
      ca: authority.certificate,
      adminToken,
      adminIdentity,
      kubeconfig,
      auditLog,
      etcd,
      group,
      issueClient: authority.issueClient,
      stop: (stopOptions) => group.stop(stopOptions),
    };
  });
}

function startEtcd(group: ServerGroup, kubeall: string, { name, clientUrl, peerUrl, dataDir }: Etcd): void {
  group.start(0, {
    name: "etcd",
    command: kubeall,
    cwd: group.folder.path,
    args: [
      "etcd",
      `--name=${name}`,
      `--data-dir=${dataDir}`,
      `--listen-client-urls=${clientUrl}`,
      `--advertise-client-urls=${clientUrl}`,
      `--listen-peer-urls=${peerUrl}`,
      `--initial-advertise-peer-urls=${peerUrl}`,
      `--initial-cluster=${name}=${peerUrl}`,
      "--unsafe-no-fsync", // the data does not outlive the process
      "--log-level=error",
      "--max-request-bytes=8388608",
    ],
  });
}

async function writePki(folder: string, ca: string, server: Credentials, kubeconfig: string): Promise<void> {
  /** Signs the tokens of service accounts. */
  const serviceAccounts = generateKeyPairSync("ec", {
    namedCurve: "P-256",
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
  const files: Record<string, string> = {
    "ca.crt": ca,
    "server.crt": server.certificate,
    "server.key": server.key,
    "sa.pub": serviceAccounts.publicKey,
    "sa.key": serviceAccounts.privateKey,
    "admin.kubeconfig": kubeconfig,
  };
  await mkdir(folder, { recursive: true });
  await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(folder, name), text, { mode: 0o600 })));
}

async function startWorkloads(group: ServerGroup, kubeall: string): Promise<void> {
  const cwd = group.folder.path;
  const { stdout: stages } = await promisify(execFile)(kubeall, ["kwok-stages"]);
  await writeFile(join(cwd, "stages.yaml"), stages);
  const start = (name: string, ...args: readonly string[]) =>
    group.start(2, { name, command: kubeall, cwd, args: [name, "--kubeconfig=admin.kubeconfig", ...args] });
  const alone = ["--leader-elect=false", "--secure-port=0", "--kube-api-qps=500", "--kube-api-burst=1000"];
  start("kube-controller-manager", ...alone, "--service-account-private-key-file=sa.key", "--root-ca-file=ca.crt");
  start("kube-scheduler", ...alone);
  start(
    "kwok",
    "--config=stages.yaml",
    "--manage-all-nodes=true",
    "--node-lease-duration-seconds=40",
    "--server-address=",
  );
}

async function createNode(access: ApiAccess, name: string, clusterName: string): Promise<void> {
  const room = { cpu: "8", memory: "32Gi", pods: "110", "ephemeral-storage": "100Gi" };
  const node = {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name,
      labels: {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "topology.kubernetes.io/region": clusterName,
        type: "kwok",
      },
      annotations: { "kwok.x-k8s.io/node": "fake" },
    },
    status: { capacity: room, allocatable: room },
  };
  const created = await callApi(access, "POST", "/api/v1/nodes", node);
  if (created.status !== 201) throw new Error(`node "${name}": ${created.status} ${created.body}`);
}

/** A pod needs a node that is ready and free of the not-ready taint, and the service account that pods run as. */
async function waitForWorkloads(group: ServerGroup, access: ApiAccess, nodes: readonly string[]): Promise<void> {
  await group.waitUntilNothingMissing(async () => {
    for (const node of nodes) {
      const { status, body } = await callApi(access, "GET", `/api/v1/nodes/${node}`);
      if (status !== 200) return `node "${node}": ${status}`;
      if (!isNodeReady(JSON.parse(body))) return `node "${node}": Ready`;
    }
    const account = await callApi(access, "GET", "/api/v1/namespaces/default/serviceaccounts/default");
    return account.status === 200 ? undefined : "service account default/default";
  }, readyTimeoutMs);
}

function isNodeReady(node: Node): boolean {
  const ready = node.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
  return ready && (node.spec?.taints ?? []).length === 0;
}

/** The fields of a Node that are read here. */
type Node = Readonly<{
  spec?: Readonly<{ taints?: readonly unknown[] }>;
  status?: Readonly<{ conditions?: readonly Readonly<{ type: string; status: string }>[] }>;
}>;
