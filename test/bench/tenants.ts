import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { KubeClient } from "@tmc/kube/client.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { createUndiciTransport } from "@tmc/kube/transport/undici-transport.ts";
import { exportWorkspace } from "../../lib/api/group.ts";
import { bindExport, installExport } from "../../lib/install/bind.ts";
import { ensureWorkspace } from "../../lib/install/workspaces.ts";
import { clientOf } from "../../lib/upstream/logical-cluster.ts";
import { reconciledTypes } from "../../lib/upstream/watched-resources.ts";
import { startKcp } from "../real/kcp.ts";
import { bundle } from "./bundle.ts";
import type { Target } from "./clients/bench-client.ts";
import { findBinaries } from "./find-binaries.ts";
import { forEachOf } from "./load.ts";
import type { BenchReport, Goal, Row } from "./report.ts";
import type { Settings } from "./settings.ts";
import { startWorkerProcess } from "./worker-process.ts";
import type { EngineServers, EngineServerTask } from "./workers/engine-server-worker.ts";
import type { RelayTask, RelayUsage } from "./workers/relay-worker.ts";

const placementsEach = 4;
const objectsEach = placementsEach + 1;
/** The slice, bindings and two kinds: nobody refers to a secret. */
const watchesOfExport = 4;
const concurrency = 16;

/** Measures a relay over many tenants of an embedded kcp: through the export, and beside it workspace by workspace. */
export async function benchTenants(settings: Settings): Promise<BenchReport> {
  await using servers = startWorkerProcess("engine-server-worker.ts");
  const { kcp } = await servers.ask<EngineServers>({
    kind: "start",
    clusters: [],
    workspaces: [],
  } satisfies EngineServerTask);
  return await measure("tenants", "an embedded kcp", kcp, settings);
}

/** The same over a real kcp, where that has been built. */
export async function benchTenantsReal(settings: Settings): Promise<BenchReport> {
  const found = await findBinaries();
  if ("missing" in found) return { name: "tenants-real", tables: [], goals: [], notes: [`skipped: ${found.missing}`] };
  const kcp = await startKcp({ binaries: found.binaries });
  try {
    const target = { server: kcp.url, ca: kcp.ca, token: kcp.adminToken };
    return await measure("tenants-real", "a real kcp", target, settings);
  } finally {
    await kcp.stop();
  }
}

type Measured = Readonly<{
  form: string;
  listedMs: number;
  usage: RelayUsage;
  restRequests: number;
  newcomerMs: number;
}>;

async function measure(name: string, what: string, hub: Target, settings: Settings): Promise<BenchReport> {
  const { tenants, restSeconds } = settings;
  const endpoint = { server: hub.server, ca: hub.ca, token: async () => hub.token };
  const client = createKubeClient({ endpoint, transport: createUndiciTransport(endpoint), name: "kcp" });
  try {
    await ensureWorkspace(client, exportWorkspace);
    await installExport(clientOf(client, exportWorkspace));
    const workspaces = Array.from({ length: tenants }, (_, at) => `root:tenant-${at}`);
    // One by one: kcp makes workspaces below one parent no faster for being asked for many at once.
    for (const workspace of workspaces) await furnish(client, workspace);
    const rows = [
      await measureForm(client, { hub, settings, form: "through the export", workspaces: undefined }),
      await measureForm(client, { hub, settings, form: "each by itself", workspaces }),
    ];
    const title = `a relay over ${tenants} tenants × ${objectsEach} objects of ${what}, in its own process`;
    return {
      name,
      tables: [{ title, columns, rows: rows.map(rowOf(restSeconds)) }],
      goals: rows[0] === undefined ? [] : goalsOf(rows[0]),
      notes: ["watches are begun anew every 240 to 300 seconds; what is at rest was watched for less"],
    };
  } finally {
    await client.close();
  }
}

async function furnish(client: KubeClient, workspace: string): Promise<void> {
  const cluster = await ensureWorkspace(client, workspace);
  const tenant = clientOf(client, cluster);
  await bindExport(tenant, exportWorkspace);
  const objects = [
    { kind: "ClusterRegistration", name: "east", spec: { location: "us-east-1" } },
    ...Array.from({ length: placementsEach }, (_, at) => ({ kind: "WorkloadPlacement", name: `web-${at}`, spec: {} })),
  ] as const;
  await forEachOf(objects.length, concurrency, async (at) => {
    const object = objects[at];
    if (object === undefined) return;
    const { kind, name, spec } = object;
    const body = { apiVersion: "tmc.kcp.io/v1alpha1", kind, metadata: { name }, spec };
    const type =
      kind === "ClusterRegistration" ? reconciledTypes.ClusterRegistration : reconciledTypes.WorkloadPlacement;
    await tenant.create({ type }, body);
  });
}

type Form = Readonly<{ hub: Target; settings: Settings; form: string; workspaces: readonly string[] | undefined }>;

async function measureForm(client: KubeClient, { hub, settings, form, workspaces }: Form): Promise<Measured> {
  const { restSeconds, tenants } = settings;
  const folder = await mkdtemp(join(tmpdir(), "tmc-bench-"));
  await using _ = { [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
  await bundle(folder, { relay: fileURLToPath(new URL("workers/relay-worker.ts", import.meta.url)) });
  await using relay = startWorkerProcess(join(folder, "relay.mjs"));
  const ask = <Answer>(task: RelayTask): Promise<Answer> => relay.ask<Answer>(task);
  const began = performance.now();
  await ask({ kind: "start", hub, workspaces });
  await ask({ kind: "sent", keys: tenants * objectsEach });
  const listedMs = performance.now() - began;
  const usage = await ask<RelayUsage>({ kind: "usage" });
  await delay(restSeconds * 1000);
  const after = await ask<RelayUsage>({ kind: "usage" });
  const newcomerMs = workspaces === undefined ? await measureNewcomer(client, ask, tenants) : Number.NaN;
  await ask({ kind: "stop" });
  return { form, listedMs, usage: after, restRequests: after.requests - usage.requests, newcomerMs };
}

/** From when a new tenant has all its objects to when the last of their keys is sent. */
async function measureNewcomer(
  client: KubeClient,
  ask: (task: RelayTask) => Promise<unknown>,
  tenants: number,
): Promise<number> {
  await furnish(client, "root:newcomer");
  const began = performance.now();
  await ask({ kind: "sent", keys: (tenants + 1) * objectsEach });
  return performance.now() - began;
}

const columns = [
  { key: "form", label: "tenants are watched" },
  { key: "watches", label: "watches" },
  { key: "requests", label: "requests until all sent" },
  { key: "perMinute", label: "requests/min at rest", digits: 1 },
  { key: "listedMs", label: "start → all sent ms" },
  { key: "heapMb", label: "heap MB", digits: 1 },
  { key: "rssMb", label: "RSS MB" },
  { key: "peakRssMb", label: "peak RSS MB" },
  { key: "newcomerMs", label: "newcomer → sent ms" },
];

const rowOf =
  (restSeconds: number) =>
  ({ form, listedMs, usage, restRequests, newcomerMs }: Measured): Row => ({
    form,
    watches: usage.watches,
    requests: usage.requests - restRequests,
    perMinute: (restRequests * 60) / restSeconds,
    listedMs,
    heapMb: usage.heapMb,
    rssMb: usage.rssMb,
    peakRssMb: usage.peakRssMb,
    newcomerMs,
  });

function goalsOf({ usage, restRequests }: Measured): Goal[] {
  return [
    {
      what: "watches, however many tenants",
      goal: String(watchesOfExport),
      got: String(usage.watches),
      met: usage.watches === watchesOfExport,
    },
    { what: "requests at rest", goal: "0", got: String(restRequests), met: restRequests === 0 },
  ];
}
