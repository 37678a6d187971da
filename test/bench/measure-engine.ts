import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { writeKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig-file.ts";
import type { ControllerSettings } from "../../lib/engine/settings.ts";
import { findCondition } from "../../lib/model/condition.ts";
import { bundle } from "./bundle.ts";
import type { Target } from "./clients/bench-client.ts";
import { openTenant, pool, type Seen, type Tenant } from "./engine-client.ts";
import type { FakeTenantOptions } from "./fake-tenant.ts";
import { forEachOf } from "./load.ts";
import type { Row, Table } from "./report.ts";
import { percentile } from "./statistics.ts";
import { startWorkerProcess, type WorkerProcess } from "./worker-process.ts";
import type { ControllerTask, ControllerUsage } from "./workers/controller-worker.ts";
import type { EngineCounts } from "./workers/engine-server-worker.ts";

/** Where the engine is measured. */
export type EngineWorld = Readonly<{
  hub: Target;
  /** @default that of the hub */
  controllerToken?: string | undefined;
  clusters: readonly (Target & Readonly<{ name: string }>)[];
  /** What the servers have counted, where they can. */
  counts?: (() => Promise<EngineCounts>) | undefined;
}>;

/** The workspace the controller works on, and one that it never sees, for the bare writes. */
export const engineWorkspaces = { worked: "root:engine", bare: "root:bare" } as const;

/** How many creates the tenant has under way at once. */
const concurrency = 16;

/** A controller in a process of its own, from a bundle as it is published. */
export interface ControllerProcess extends AsyncDisposable {
  start(
    workspaces: readonly string[],
    names: readonly string[],
    settings?: Partial<ControllerSettings>,
    paper?: FakeTenantOptions,
  ): Promise<void>;
  /** Has the tenant on paper make noise; resolves when all of it is told. */
  noise(noise: Readonly<{ events: number; perSecond: number }>): Promise<void>;
  settled(): Promise<void>;
  usage(): Promise<ControllerUsage>;
  /** After a full garbage collection. */
  liveUsage(): Promise<ControllerUsage>;
  /** Lets it end as it does when it is asked to; a start may follow. */
  stop(): Promise<void>;
}

/** Bundles the controller, writes the kubeconfigs of the clusters, and starts the process. */
export async function startControllerProcess(world: EngineWorld): Promise<ControllerProcess> {
  const folder = await mkdtemp(join(tmpdir(), "tmc-bench-"));
  await bundle(folder, { controller: fileURLToPath(new URL("workers/controller-worker.ts", import.meta.url)) });
  const files: string[] = [];
  for (const { name, server, ca, token } of world.clusters) {
    const file = join(folder, `${name}.kubeconfig`);
    await writeKubeconfig(file, { contexts: [{ name, endpoint: { server, ca }, token }] });
    files.push(file);
  }
  const worker: WorkerProcess = startWorkerProcess(join(folder, "controller.mjs"));
  const ask = <Answer>(task: ControllerTask): Promise<Answer> => worker.ask<Answer>(task);
  return {
    start: (workspaces, names, settings = {}, paper = undefined) =>
      ask({
        kind: "start",
        hub: { ...world.hub, token: world.controllerToken ?? world.hub.token },
        workspaces,
        // There may be more registrations than servers.
        kubeconfigs: Object.fromEntries(names.map((name, index) => [name, files[index % files.length] ?? ""])),
        settings,
        paper,
      }),
    noise: (noise) => ask({ kind: "noise", ...noise }),
    settled: () => ask({ kind: "done" }),
    usage: () => ask<ControllerUsage>({ kind: "usage" }),
    liveUsage: () => ask<ControllerUsage>({ kind: "live usage" }),
    stop: () => ask({ kind: "stop" }),
    [Symbol.asyncDispose]: async () => {
      await ask({ kind: "stop" }).catch(() => {}); // it may have ended already
      await worker[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Whether a cluster is Ready, or a placement is decided in its present form. */
export const isReady = ({ metadata, status }: Seen): boolean =>
  status?.observedGeneration === metadata.generation && findCondition(status?.conditions, "Ready")?.status === "True";

export type EngineMeasures = Readonly<{
  count: number;
  /** Creating them and writing their status, by one client, with no controller. */
  bareMs: number;
  /** From the first create to the last status, seen by the tenant. */
  decidedMs: number;
  /** The time that their creates alone took. */
  createdMs: number;
  cpuMs: number;
  /** Only where the server counts. */
  counts: Readonly<{ requests: number; writes: number; serverCpuMs: number; bareServerCpuMs: number }> | undefined;
  idleMs: readonly number[];
  /** Writing the status of that many anew, by one client, with no controller. */
  bareStatusMs: number;
  /** From the label's change to the last status that no longer has the cluster. */
  leftMs: number;
  moved: number;
  leftCpuMs: number;
}>;

/** Measures the way of placements through a running controller, with bare writes in the same run as the yardstick. */
export async function measureEngine(
  world: EngineWorld,
  controller: ControllerProcess,
  { count, singles }: Readonly<{ count: number; singles: number }>,
): Promise<EngineMeasures> {
  const names = world.clusters.map(({ name }) => name);
  await using tenant = await openTenant(world.hub, engineWorkspaces.worked);
  await using bystander = await openTenant(world.hub, engineWorkspaces.bare);
  for (const name of names) await tenant.register(name);
  await controller.start([engineWorkspaces.worked], names);
  await tenant.untilSeen(names.length, isReady);

  // Both ways once before it counts.
  const isDecided = (prefix: string) => (seen: Seen) =>
    seen.metadata.name?.startsWith(prefix) === true && isReady(seen);
  await forEachOf(100, concurrency, (index) => tenant.create(`warm-${index}`));
  await tenant.untilSeen(100, isDecided("warm-"));
  const { status = {} } = await tenant.read("warm-0");
  await writeBarely(bystander, "warm", 100, status);
  await controller.settled();

  const counted = async () => ({ usage: await controller.usage(), counts: await world.counts?.() });
  const beforeBare = await counted();
  const bareMs = await writeBarely(bystander, "bare", count, status);
  await bystander.untilSeen(count, isDecided("bare-"));

  const before = await counted();
  const began = performance.now();
  const allDecided = tenant.untilSeen(count, isDecided("many-")).then(() => performance.now() - began);
  await forEachOf(count, concurrency, (index) => tenant.create(`many-${index}`));
  const createdMs = performance.now() - began;
  const decidedMs = await allDecided;
  await controller.settled();
  const after = await counted();

  const idleMs = await measureIdle(tenant, singles);
  await controller.settled();
  const barely = performance.now();
  await forEachOf(count, concurrency, (index) =>
    bystander.writeStatus(`bare-${index}`, { ...status, selectedClusters: ["elsewhere"] }),
  );
  const bareStatusMs = performance.now() - barely;
  const left = await measureLeaving(tenant, names.at(-1) ?? "", { count, controller });
  return {
    count,
    bareMs,
    decidedMs,
    createdMs,
    cpuMs: after.usage.cpuMs - before.usage.cpuMs,
    counts:
      before.counts === undefined || after.counts === undefined || beforeBare.counts === undefined
        ? undefined
        : {
            requests: (after.counts.hubRequests - before.counts.hubRequests) / count,
            writes: (after.counts.placementWrites - before.counts.placementWrites) / count,
            serverCpuMs: after.counts.serverCpuMs - before.counts.serverCpuMs,
            bareServerCpuMs: before.counts.serverCpuMs - beforeBare.counts.serverCpuMs,
          },
    idleMs,
    bareStatusMs,
    ...left,
  };
}

async function writeBarely(tenant: Tenant, prefix: string, count: number, status: object): Promise<number> {
  const began = performance.now();
  await forEachOf(count, concurrency, async (index) => {
    await tenant.create(`${prefix}-${index}`);
    await tenant.writeStatus(`${prefix}-${index}`, { ...status, observedGeneration: 1 });
  });
  return performance.now() - began;
}

/** One change after the other, each from before its request to the status that has seen it. */
async function measureIdle(tenant: Tenant, singles: number): Promise<readonly number[]> {
  const timesMs: number[] = [];
  for (let index = 0; index < singles; index += 1) {
    const name = `many-${index}`;
    const began = performance.now();
    const isNew = (seen: Seen): boolean =>
      seen.metadata.name === name && (seen.metadata.generation ?? 0) > 1 && isReady(seen);
    const seen = tenant.untilSeen(1, isNew);
    await tenant.resize(name, 2);
    await seen;
    timesMs.push(performance.now() - began);
  }
  return timesMs;
}

async function measureLeaving(
  tenant: Tenant,
  cluster: string,
  { count, controller }: Readonly<{ count: number; controller: ControllerProcess }>,
): Promise<Pick<EngineMeasures, "leftMs" | "moved" | "leftCpuMs">> {
  let moved = 0;
  const isMine = ({ metadata }: Seen): boolean => metadata.name?.startsWith("many-") === true;
  await tenant.untilSeen(count, (seen) => {
    if (isMine(seen) && seen.status?.selectedClusters?.includes(cluster) === true) moved += 1;
    return isMine(seen);
  });
  const before = await controller.usage();
  const began = performance.now();
  const hasLeft = ({ status }: Seen): boolean =>
    status?.decisions?.some((each) => each.cluster === cluster && each.reason === "SelectorMismatch") === true;
  const allLeft = tenant.untilSeen(count, (seen) => isMine(seen) && hasLeft(seen));
  await tenant.label(cluster, { [pool.key]: "closed" });
  await allLeft;
  const leftMs = performance.now() - began;
  await controller.settled(); // others may have had the cluster too
  const after = await controller.usage();
  return { leftMs, moved, leftCpuMs: after.cpuMs - before.cpuMs };
}

/** What was measured, as rows for people. */
export function engineTable(title: string, measures: EngineMeasures): Table {
  const { count, bareMs, createdMs, decidedMs, cpuMs, counts, idleMs, bareStatusMs, leftMs, moved, leftCpuMs } =
    measures;
  const row = (what: string, value: number, unit: string): Row => ({ what, value, unit });
  return {
    title,
    columns: [
      { key: "what", label: "what" },
      { key: "value", label: "got", digits: 2 },
      { key: "unit", label: "" },
    ],
    rows: [
      row(`yardstick: ${count} creates and status writes, no controller`, bareMs, "ms"),
      row(`${count} placements created at once, created`, createdMs, "ms"),
      row(`${count} placements created at once, all decided`, decidedMs, "ms"),
      row("the same to the yardstick", decidedMs / bareMs, "×"),
      row(`controller CPU per 1,000 placements decided`, cpuMs / count, "s"),
      ...(counts === undefined
        ? []
        : [
            row("controller's requests per placement, at the server", counts.requests, ""),
            row("writes per placement, at the store", counts.writes, ""),
            row("server CPU, yardstick", counts.bareServerCpuMs, "ms"),
            row("server CPU, with controller and its watches", counts.serverCpuMs, "ms"),
          ]),
      row(`one change at idle to its status, p50 of ${idleMs.length}`, percentile(idleMs, 0.5), "ms"),
      row(`one change at idle to its status, p99 of ${idleMs.length}`, percentile(idleMs, 0.99), "ms"),
      row(`yardstick: ${count} status writes, no controller`, bareStatusMs, "ms"),
      row(`a cluster leaves the selection of ${count} placements (${moved} move), all decided again`, leftMs, "ms"),
      row("the same to the yardstick", leftMs / bareStatusMs, "×"),
      row("controller CPU of that", leftCpuMs / 1000, "s"),
    ],
  };
}
