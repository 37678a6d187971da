// A client in a process of its own: it does the calls it is asked to do and says how long they took.
import { performance } from "node:perf_hooks";
import { type BenchClient, type ClientName, configMapOf, type Target } from "../clients/bench-client.ts";
import { cpuMsSince, forEachOf, type Load, type LoadResult, runLoad } from "../load.ts";
import { serveTasks } from "../serve-tasks.ts";

/** The calls that are compared. */
export type CallName = "create" | "get" | "list of 500" | "merge patch";

export type LoadTask =
  | Readonly<{ kind: "connect"; client: ClientName; target: Target | undefined }>
  /** Makes the objects that are read and patched later. */
  | Readonly<{ kind: "seed"; namespace: string; count: number }>
  | Readonly<{ kind: "load"; call: CallName; namespace: string; stored: number; load: Load }>
  /** Reads the events of all that is there, as fast as they come. */
  | Readonly<{ kind: "replay"; namespace: string; count: number }>
  /** Opens a watch; answers once it shows what is there already. */
  | Readonly<{ kind: "watch"; namespace: string }>
  /** Answers once that many stamped objects have come. */
  | Readonly<{ kind: "arrivals"; count: number }>
  /** Creates objects one after the other, or many at a time, stamped with the time. */
  | Readonly<{ kind: "stamp"; namespace: string; count: number; concurrency: number }>;

export type ReplayResult = Readonly<{ durationMs: number; cpuMs: number }>;
/** From the first object's stamp to the last one's arrival, and of each object. */
export type Arrivals = Readonly<{ durationMs: number; latenciesMs: readonly number[] }>;

let client: BenchClient | undefined;
let runs = 0;
let arrivals: { sentMs: number; arrivedMs: number }[] = [];
let onArrival: (() => void) | undefined;

async function connect(name: ClientName, target: Target | undefined): Promise<BenchClient> {
  if (name === "tmc, in process") {
    const { startEmbeddedCluster } = await import("@tmc/embedded/kubernetes/embedded-cluster.ts");
    const { overTransport } = await import("../clients/tmc-client.ts");
    const cluster = await startEmbeddedCluster({ name: "bench", listen: false });
    return overTransport(cluster.endpoint(), cluster.transport());
  }
  if (target === undefined) throw new Error(`${name} needs a server`);
  // Each only when it is measured: the others' modules would take its memory.
  if (name === "client-node") return (await import("../clients/client-node.ts")).createClientNode(target);
  const { createTmcClient } = await import("../clients/tmc-client.ts");
  return createTmcClient(target, name === "tmc, https" ? "https" : "undici");
}

/** Microseconds of a clock that all processes of the machine share. */
const stampNow = (): number => Number(process.hrtime.bigint() / 1000n) / 1000;

const callOf = (bench: BenchClient, call: CallName, namespace: string, stored: number) => {
  const run = `${process.pid}-${runs++}`;
  const storedName = (index: number): string => `stored-${index % stored}`;
  switch (call) {
    case "create":
      return (index: number) => bench.create(namespace, configMapOf(`made-${run}-${index}`));
    case "get":
      return (index: number) => bench.get(namespace, storedName(index));
    case "list of 500":
      return () => bench.list(namespace);
    case "merge patch":
      return (index: number) => bench.mergePatch(namespace, storedName(index), { data: { run, index: `${index}` } });
  }
};

async function replay(bench: BenchClient, namespace: string, count: number): Promise<ReplayResult> {
  const enough = new AbortController();
  let seen = 0;
  let durationMs = Number.NaN;
  const cpuBefore = process.cpuUsage();
  const began = performance.now();
  const onData = () => {
    if (++seen !== count) return;
    durationMs = performance.now() - began;
    enough.abort();
  };
  await untilAborted(bench.watch(namespace, onData, enough.signal), enough.signal);
  return { durationMs, cpuMs: cpuMsSince(cpuBefore) };
}

async function openWatch(bench: BenchClient, namespace: string): Promise<void> {
  arrivals = [];
  const { promise: shown, resolve, reject } = Promise.withResolvers<void>();
  const onData = (data: Readonly<Record<string, string>> | undefined) => {
    if (data?.sentMs === undefined) return resolve();
    arrivals.push({ sentMs: Number(data.sentMs), arrivedMs: stampNow() });
    onArrival?.();
  };
  bench.watch(namespace, onData, new AbortController().signal).then(() => reject(new Error("the watch ended")), reject);
  await shown;
}

async function awaitArrivals(count: number): Promise<Arrivals> {
  const { promise, resolve } = Promise.withResolvers<void>();
  onArrival = () => {
    if (arrivals.length >= count) resolve();
  };
  onArrival();
  await promise;
  onArrival = undefined;
  const seen = arrivals.splice(0);
  const first = Math.min(...seen.map(({ sentMs }) => sentMs));
  const last = Math.max(...seen.map(({ arrivedMs }) => arrivedMs));
  return { durationMs: last - first, latenciesMs: seen.map(({ sentMs, arrivedMs }) => arrivedMs - sentMs) };
}

async function untilAborted(watch: Promise<unknown>, signal: AbortSignal): Promise<void> {
  await watch.catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}

async function perform(task: LoadTask): Promise<LoadResult | ReplayResult | Arrivals | undefined> {
  if (task.kind === "connect") {
    client = await connect(task.client, task.target);
    return undefined;
  }
  const bench = client;
  if (bench === undefined) throw new Error("not connected");
  switch (task.kind) {
    case "seed":
      await bench.createNamespace(task.namespace);
      await forEachOf(task.count, 16, (index) => bench.create(task.namespace, configMapOf(`stored-${index}`)));
      return undefined;
    case "load":
      return runLoad(task.load, callOf(bench, task.call, task.namespace, task.stored));
    case "replay":
      return replay(bench, task.namespace, task.count);
    case "watch":
      await openWatch(bench, task.namespace);
      return undefined;
    case "arrivals":
      return awaitArrivals(task.count);
    case "stamp": {
      const run = `${process.pid}-${runs++}`;
      await forEachOf(task.count, task.concurrency, (index) =>
        bench.create(task.namespace, configMapOf(`stamped-${run}-${index}`, { sentMs: `${stampNow()}` })),
      );
      return undefined;
    }
  }
}

serveTasks(perform);
