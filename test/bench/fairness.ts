import { performance } from "node:perf_hooks";
import { setTimeout as delay } from "node:timers/promises";
import { type ControllerSettings, defaultControllerSettings } from "../../lib/engine/settings.ts";
import { openTenant, type Seen, type Tenant } from "./engine-client.ts";
import type { FakeTenantOptions } from "./fake-tenant.ts";
import { type ControllerProcess, type EngineWorld, isReady, startControllerProcess } from "./measure-engine.ts";
import type { BenchReport, Goal, Row } from "./report.ts";
import type { Settings } from "./settings.ts";
import { percentile } from "./statistics.ts";
import { startWorkerProcess } from "./worker-process.ts";
import type { EngineServers, EngineServerTask } from "./workers/engine-server-worker.ts";

const cluster = "east";
const placement = "web";
const noisyClusters = ["east", "north", "west"];
/** How many changes a second the quiet tenants make, all together. */
const quietPerSecond = 40;
/** The p99 of quiet tenants beside a noisy one, to what it is without. */
const mostRatio = 1.1;

/** A noisy tenant and the shares that tenants have. */
type Form = Readonly<{
  what: string;
  settings: Partial<ControllerSettings>;
  noisy: Pick<FakeTenantOptions, "placements" | "answerMs">;
  isGoal: boolean;
}>;

/** As a server in the same network answers; and as one that is in trouble, or far away. */
const fast = { placements: 2_000, answerMs: 2 };
const slow = { placements: 60, answerMs: 200 };
const all = { tenantConcurrency: defaultControllerSettings.workers };

const forms: readonly Form[] = [
  { what: "fast writes", settings: {}, noisy: fast, isGoal: true },
  { what: "slow writes", settings: {}, noisy: slow, isGoal: true },
  { what: "slow writes, it may have all workers", settings: all, noisy: slow, isGoal: false },
];

/**
 * Measures what a tenant with very many changes does to others: a controller in its own process, quiet tenants in an embedded
 * kcp in another, and a noisy one on paper.
 *
 * The noisy one's events and the answers to its writes are made inside the controller's process: an embedded kcp that takes
 * a hundred thousand writes needs all of a small machine, and then it would be its slowness that is measured.
 */
export async function benchFairness(settings: Settings): Promise<BenchReport> {
  const { quietTenants, noise } = settings;
  await using servers = startWorkerProcess("engine-server-worker.ts");
  const workspaces = Array.from({ length: quietTenants }, (_, at) => `root:quiet-${at}`);
  const { kcp, controllerToken, clusters } = await servers.ask<EngineServers>({
    kind: "start",
    clusters: noisyClusters,
    workspaces,
  } satisfies EngineServerTask);
  const world: EngineWorld = { hub: kcp, controllerToken, clusters };
  await using tenants = await openTenants(world, workspaces);
  const measured: Measured[] = [];
  for (const form of forms) measured.push(await measureForm(world, { form, workspaces, tenants: tenants.all, noise }));
  return {
    name: "fairness",
    tables: [
      {
        title: `${quietTenants} quiet tenants, ${quietPerSecond} changes/s, beside one with ${noise.events} changes at ${noise.perSecond}/s`,
        columns,
        rows: measured.map(rowOf),
      },
    ],
    goals: measured.filter(({ form }) => form.isGoal).map(goalOf),
    notes: [
      "the noisy tenant's events are made in the controller's process: no server slows down for them",
      `alone and beside take turns, ${noise.parts} times`,
    ],
  };
}

type Measured = Readonly<{ form: Form; aloneMs: readonly number[]; besideMs: readonly number[]; cpuShare: number }>;

type Measuring = Readonly<{
  form: Form;
  workspaces: readonly string[];
  tenants: readonly QuietTenant[];
  noise: Settings["noise"];
}>;

async function measureForm(world: EngineWorld, { form, workspaces, tenants, noise }: Measuring): Promise<Measured> {
  await using controller: ControllerProcess = await startControllerProcess(world);
  const rounds = { resyncSeconds: 3_600, heartbeatSeconds: 3_600 };
  const paper = { name: "noisy", clusters: noisyClusters, ...form.noisy };
  // The noisy tenant is on paper, and has no workloads there.
  await controller.start(workspaces, noisyClusters, { sync: false, ...rounds, ...form.settings }, paper);
  await Promise.all(tenants.map((tenant) => tenant.untilSeen(2, isReady)));
  await controller.settled();
  const part = { events: noise.events / noise.parts, perSecond: noise.perSecond };
  const seconds = part.events / part.perSecond;
  const [aloneMs, besideMs]: [number[], number[]] = [[], []];
  let cpuMs = 0;
  await changeFor(tenants, seconds); // what is not compiled yet is nobody's latency
  for (let at = 0; at < noise.parts; at += 1) {
    aloneMs.push(...(await changeFor(tenants, seconds)));
    const before = await controller.usage();
    const noiseTold = controller.noise(part);
    besideMs.push(...(await changeFor(tenants, seconds)));
    cpuMs += (await controller.usage()).cpuMs - before.cpuMs;
    await noiseTold;
    await controller.settled();
  }
  return { form, aloneMs, besideMs, cpuShare: cpuMs / (seconds * noise.parts * 1000) };
}

/** Has the tenants change their placement, one tenant after the other, and answers how long each change took to be decided. */
async function changeFor(tenants: readonly QuietTenant[], seconds: number): Promise<readonly number[]> {
  const timesMs: number[] = [];
  const changes: Promise<void>[] = [];
  const began = performance.now();
  for (let at = 0; at < seconds * quietPerSecond; at += 1) {
    const dueMs = began + (at * 1000) / quietPerSecond;
    await delay(Math.max(0, dueMs - performance.now()));
    const tenant = tenants[at % tenants.length];
    if (tenant !== undefined) changes.push(timeChange(tenant).then((tookMs) => void timesMs.push(tookMs)));
  }
  await Promise.all(changes);
  return timesMs;
}

/** From before the request to the status that has seen the change. */
async function timeChange(tenant: QuietTenant): Promise<number> {
  const { generation } = tenant;
  const began = performance.now();
  const isDecided = ({ metadata, status }: Seen): boolean =>
    metadata.name === placement &&
    (metadata.generation ?? 0) > generation &&
    status?.observedGeneration === metadata.generation;
  const decided = tenant.untilSeen(1, isDecided);
  tenant.generation = await tenant.resize(placement, (generation % 2) + 1);
  await decided;
  return performance.now() - began;
}

/** A tenant, and the generation that its placement has. */
type QuietTenant = Tenant & { generation: number };

type Tenants = AsyncDisposable & Readonly<{ all: readonly QuietTenant[] }>;

async function openTenants({ hub }: EngineWorld, workspaces: readonly string[]): Promise<Tenants> {
  const opened = await Promise.all(workspaces.map((workspace) => openTenant(hub, workspace)));
  const all = opened.map((tenant): QuietTenant => Object.assign(tenant, { generation: 1 }));
  for (const tenant of all) {
    await tenant.register(cluster);
    await tenant.create(placement);
  }
  return {
    all,
    [Symbol.asyncDispose]: async () => {
      await Promise.all(all.map((tenant) => tenant[Symbol.asyncDispose]()));
    },
  };
}

const columns = [
  { key: "what", label: "the noisy one" },
  { key: "aloneP50", label: "alone p50 ms", digits: 2 },
  { key: "aloneP99", label: "alone p99 ms", digits: 2 },
  { key: "besideP50", label: "beside p50 ms", digits: 2 },
  { key: "besideP99", label: "beside p99 ms", digits: 2 },
  { key: "ratio", label: "p99 ratio", digits: 2 },
  { key: "samples", label: "samples" },
  { key: "cpu", label: "controller CPU %" },
];

const ratioOf = ({ aloneMs, besideMs }: Measured): number => percentile(besideMs, 0.99) / percentile(aloneMs, 0.99);

function rowOf(measured: Measured): Row {
  const { form, aloneMs, besideMs, cpuShare } = measured;
  return {
    what: form.what,
    aloneP50: percentile(aloneMs, 0.5),
    aloneP99: percentile(aloneMs, 0.99),
    besideP50: percentile(besideMs, 0.5),
    besideP99: percentile(besideMs, 0.99),
    ratio: ratioOf(measured),
    samples: besideMs.length,
    cpu: cpuShare * 100,
  };
}

function goalOf(measured: Measured): Goal {
  const ratio = ratioOf(measured);
  return {
    what: `p99 of quiet tenants beside a noisy one, ${measured.form.what}`,
    goal: `≤ ${mostRatio.toFixed(2)} × alone`,
    got: `${ratio.toFixed(2)} ×`,
    met: ratio <= mostRatio,
  };
}
