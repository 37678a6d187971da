import type { ClientName, Target } from "./clients/bench-client.ts";
import type { LoadResult } from "./load.ts";
import type { Row, Table } from "./report.ts";
import type { Settings } from "./settings.ts";
import { percentile } from "./statistics.ts";
import { startWorkerProcess, type WorkerProcess } from "./worker-process.ts";
import type { CallName, LoadTask } from "./workers/load-worker.ts";

const callNames: readonly CallName[] = ["create", "get", "list of 500", "merge patch"];
const storedCount = 500;
/** It opens a connection for each call and keeps them all: many more, and the process runs out of descriptors. */
const mostClientNodeCalls = 400;
/** What is compared with. */
export const baseline: ClientName = "client-node";

/** Another client's rate as a multiple of the baseline's, for one call at one concurrency. */
export type CallRatio = Readonly<{
  call: CallName;
  concurrency: number;
  client: ClientName;
  rate: number;
  cpu: number;
}>;
export type CallMeasurement = Readonly<{ table: Table; ratios: readonly CallRatio[] }>;

type Client = Readonly<{ name: ClientName; worker: WorkerProcess; namespace: string; results: LoadResult[] }>;
type Cell = Readonly<{ call: CallName; concurrency: number }>;

/**
 * Times the same calls by each client, each in a process of its own. They take turns at the same server, so that whatever
 * else the machine does meets all of them.
 */
export async function measureCalls(
  title: string,
  names: readonly ClientName[],
  target: Target,
  settings: Settings,
): Promise<CallMeasurement> {
  const rows: Row[] = [];
  const ratios: CallRatio[] = [];
  await using workers = new AsyncDisposableStack();
  const start = () => workers.use(startWorkerProcess("load-worker.ts"));
  const lasting = new Map(
    await Promise.all(
      names
        .filter((name) => name !== baseline)
        .map(async (name) => [name, await connect(start(), name, target)] as const),
    ),
  );
  for (const call of callNames) {
    // A new one for each call: the connections it has leaked would burden the next.
    await using brief = startWorkerProcess("load-worker.ts");
    if (names.includes(baseline)) await connect(brief, baseline, target);
    const clients = names.map((name, index): Client => {
      const namespace = `${call.replaceAll(" ", "-")}-${index}`;
      return { name, worker: lasting.get(name) ?? brief, namespace, results: [] };
    });
    for (const { name, worker, namespace } of clients) {
      // By a quick client: a slow one would begin with hundreds of open connections.
      const seeder = name === baseline ? lasting.get("tmc, undici") : worker;
      await seeder?.ask({ kind: "seed", namespace, count: storedCount } satisfies LoadTask);
    }
    for (const client of clients) await takeTurn(client, { call, concurrency: 16 }, settings);
    for (const concurrency of settings.concurrencies) {
      const cell = { call, concurrency };
      await takeTurns(clients, cell, settings);
      const measured = clients.map(({ name, results }) => ({ name, ...summarize(results) }));
      const compared = measured.find(({ name }) => name === baseline);
      for (const { name, ...figures } of measured) {
        const rate = compared === undefined ? undefined : figures.perSecond / compared.perSecond;
        rows.push({ ...cell, client: name, ...figures, ratio: name === baseline ? undefined : rate });
        if (compared === undefined || rate === undefined || name === baseline) continue;
        ratios.push({ ...cell, client: name, rate, cpu: compared.cpuMicros / figures.cpuMicros });
      }
    }
  }
  return { table: { title, columns, rows }, ratios };
}

const columns: Table["columns"] = [
  { key: "call", label: "call" },
  { key: "concurrency", label: "at once" },
  { key: "client", label: "client" },
  { key: "calls", label: "calls" },
  { key: "perSecond", label: "req/s" },
  { key: "p50Ms", label: "p50 ms", digits: 2 },
  { key: "p99Ms", label: "p99 ms", digits: 2 },
  { key: "cpuMicros", label: "client CPU µs/req" },
  { key: "ratio", label: "× client-node", digits: 1 },
];

async function connect(worker: WorkerProcess, client: ClientName, target: Target): Promise<WorkerProcess> {
  await worker.ask({ kind: "connect", client, target } satisfies LoadTask);
  return worker;
}

async function takeTurns(clients: readonly Client[], cell: Cell, settings: Settings): Promise<void> {
  for (const { results } of clients) results.splice(0);
  for (let round = 0; round < settings.rounds; round++) {
    // Forwards and backwards: nobody always comes after the same one.
    for (const client of round % 2 === 0 ? clients : clients.toReversed()) {
      client.results.push(await takeTurn(client, cell, settings));
    }
  }
}

function takeTurn(client: Client, { call, concurrency }: Cell, { turnMs }: Settings): Promise<LoadResult> {
  const mostCalls = client.name === baseline ? mostClientNodeCalls : Number.MAX_SAFE_INTEGER;
  return client.worker.ask<LoadResult>({
    kind: "load",
    call,
    namespace: client.namespace,
    stored: storedCount,
    load: { concurrency, turnMs, mostCalls },
  } satisfies LoadTask);
}

type Figures = Readonly<{ calls: number; perSecond: number; p50Ms: number; p99Ms: number; cpuMicros: number }>;

function summarize(results: readonly LoadResult[]): Figures {
  const latenciesMs = results.flatMap((result) => result.latenciesMs);
  const durationMs = results.reduce((sum, result) => sum + result.durationMs, 0);
  const cpuMs = results.reduce((sum, result) => sum + result.cpuMs, 0);
  return {
    calls: latenciesMs.length,
    perSecond: (latenciesMs.length * 1000) / durationMs,
    p50Ms: percentile(latenciesMs, 0.5),
    p99Ms: percentile(latenciesMs, 0.99),
    cpuMicros: (cpuMs * 1000) / latenciesMs.length,
  };
}
