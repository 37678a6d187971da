import type { ClientName, Target } from "./clients/bench-client.ts";
import { baseline } from "./measure-calls.ts";
import type { Table } from "./report.ts";
import type { Settings } from "./settings.ts";
import { percentile } from "./statistics.ts";
import { startWorkerProcess, type WorkerProcess } from "./worker-process.ts";
import type { Arrivals, LoadTask, ReplayResult } from "./workers/load-worker.ts";

export type WatchOptions = Readonly<{
  clients: readonly ClientName[];
  target: Target;
  settings: Settings;
  /** Writes a burst without a request, where the server can; otherwise a client writes it, many at a time. */
  writeBurst?: ((namespace: string, count: number) => Promise<void>) | undefined;
}>;

/**
 * Times watches by each client: events of all there is, read as fast as they come; a burst of new objects, from the first
 * create to the last event; and single objects, each from just before its create to its event.
 */
export async function measureWatch(title: string, options: WatchOptions): Promise<Table> {
  const rows: WatchRow[] = [];
  await using workers = new AsyncDisposableStack();
  const connect = async (client: ClientName): Promise<WorkerProcess> => {
    const worker = workers.use(startWorkerProcess("load-worker.ts"));
    await worker.ask({ kind: "connect", client, target: options.target } satisfies LoadTask);
    return worker;
  };
  const writer = await connect("tmc, undici");
  const stored = "watch-replay";
  await writer.ask({ kind: "seed", namespace: stored, count: options.settings.burst } satisfies LoadTask);
  for (const [index, name] of options.clients.entries()) {
    const worker = await connect(name);
    rows.push(...(await measureClient({ name, worker, writer, stored, namespace: `watch-${index}` }, options)));
  }
  const rateOf = (what: string) => rows.find((row) => row.what === what && row.client === baseline)?.perSecond;
  const compared = rows.map((row) => {
    const rate = rateOf(row.what);
    const comparable = row.client !== baseline && rate !== undefined && row.perSecond !== undefined;
    return { ...row, ratio: comparable ? row.perSecond / rate : undefined };
  });
  return { title, columns, rows: compared.toSorted((a, b) => order.indexOf(a.what) - order.indexOf(b.what)) };
}

const order = ["replay", "burst by the server", "burst by a client", "single creates"];
const columns: Table["columns"] = [
  { key: "what", label: "watch" },
  { key: "client", label: "client" },
  { key: "events", label: "events" },
  { key: "perSecond", label: "events/s" },
  { key: "p50Ms", label: "create→event p50 ms", digits: 2 },
  { key: "p99Ms", label: "p99 ms", digits: 2 },
  { key: "cpuMicros", label: "client CPU µs/event" },
  { key: "ratio", label: "× client-node", digits: 1 },
];

type Watching = Readonly<{
  name: ClientName;
  worker: WorkerProcess;
  writer: WorkerProcess;
  stored: string;
  namespace: string;
}>;
type WatchRow = Readonly<{
  what: string;
  client: ClientName;
  events: number;
  perSecond?: number | undefined;
  p50Ms?: number;
  p99Ms?: number;
  cpuMicros?: number;
}>;

async function measureClient(
  { name, worker, writer, stored, namespace }: Watching,
  { settings, writeBurst }: WatchOptions,
): Promise<WatchRow[]> {
  const { burst, singles } = settings;
  const replay = (count: number): Promise<ReplayResult> =>
    worker.ask<ReplayResult>({ kind: "replay", namespace: stored, count } satisfies LoadTask);
  await replay(Math.ceil(burst / 5));
  const { durationMs, cpuMs } = await replay(burst);

  // The object that is there before is how the watch shows that it has begun.
  await writer.ask({ kind: "seed", namespace, count: 1 } satisfies LoadTask);
  await worker.ask({ kind: "watch", namespace } satisfies LoadTask);
  const arrivals = (count: number): Promise<Arrivals> =>
    worker.ask<Arrivals>({ kind: "arrivals", count } satisfies LoadTask);
  const stamp = (count: number, concurrency: number): Promise<undefined> =>
    writer.ask({ kind: "stamp", namespace, count, concurrency } satisfies LoadTask);

  const [single] = await Promise.all([arrivals(singles), stamp(singles, 1)]);
  const write = writeBurst === undefined ? stamp(burst, 64) : writeBurst(namespace, burst);
  const [many] = await Promise.all([arrivals(burst), write]);
  const shown = (what: string, { durationMs: ms, latenciesMs }: Arrivals): WatchRow => ({
    what,
    client: name,
    events: latenciesMs.length,
    perSecond: (latenciesMs.length * 1000) / ms,
    p50Ms: percentile(latenciesMs, 0.5),
    p99Ms: percentile(latenciesMs, 0.99),
  });
  const cpuMicros = (cpuMs * 1000) / burst;
  return [
    { what: "replay", client: name, events: burst, perSecond: (burst * 1000) / durationMs, cpuMicros },
    shown(writeBurst === undefined ? "burst by a client" : "burst by the server", many),
    // One waits for the other: a rate would only be the latency again.
    { ...shown("single creates", single), perSecond: undefined },
  ];
}
