import type { BenchReport } from "./report.ts";
import type { Settings } from "./settings.ts";
import {
  measureCrowd,
  measureCrowdByHand,
  measureMany,
  measureManyByHand,
  measureSingles,
  warmUp,
  writers,
} from "./sync/measure.ts";
import { measureRestart, untilTold } from "./sync/restart.ts";
import {
  begin,
  furnish,
  openSession,
  type SyncWorld,
  startController,
  syncWorkspace,
  untilPlaced,
} from "./sync/session.ts";
import {
  crowdGoal,
  crowdTable,
  manyGoals,
  manyTable,
  restartGoals,
  restartTable,
  singlesGoals,
  singlesTable,
  writesTable,
} from "./sync/tables.ts";
import { startWorkerProcess, type WorkerProcess } from "./worker-process.ts";
import type { CountingServer, ServerCounts, SyncServerTask } from "./workers/sync-server-worker.ts";

const clusterNames = Array.from({ length: 10 }, (_, at) => `cluster-${at}`);
const leastPerSecond = 300;

/** Measures sync against an embedded kcp and ten embedded clusters, each side in a process of its own, over TLS. */
export async function benchSync({ synced: { singles, burst, many, crowd } }: Settings): Promise<BenchReport> {
  await using hubProcess = startWorkerProcess("sync-server-worker.ts");
  await using clusterProcess = startWorkerProcess("sync-server-worker.ts");
  const world = await startWorld(hubProcess, clusterProcess);
  await using session = await openSession(world);
  await furnish(session);

  const measured = await (async () => {
    await using controller = await startController(world);
    await begin(controller, world);
    await untilPlaced(session);
    await warmUp(session, controller);
    await measureCrowd(session, controller, { prefix: "warm-crowd", count: clusterNames.length });
    const all = {
      singles: await measureSingles(session, controller, { prefix: "one", count: singles }),
      byHand: await measureManyByHand(session, "hand-burst", burst),
      burst: await measureMany(session, controller, { prefix: "burst", count: burst }),
      crowdByHandMs: await measureCrowdByHand(session, "hand-crowd", many),
      many: await measureCrowd(session, controller, { prefix: "crowd", count: many }),
      rest: await measureCrowd(session, controller, { prefix: "rest", count: crowd - many }),
    };
    await untilTold();
    return all;
  })();
  const restart = await measureRestart(session, "restart");
  return {
    name: "sync",
    tables: [
      singlesTable(measured.singles),
      writesTable("what the servers were asked to write for a changed image", measured.singles.writes, singles),
      manyTable(measured.byHand, measured.burst, writers),
      crowdTable(measured.many, measured.crowdByHandMs, clusterNames.length),
      restartTable(restart, crowd),
    ],
    goals: [
      ...singlesGoals(measured.singles),
      ...manyGoals(measured.byHand, measured.burst),
      crowdGoal(measured.many, leastPerSecond),
      ...restartGoals(restart, crowd),
    ],
    notes: ["what is in both clusters is so when their watches say so, for what was made by hand too"],
  };
}

async function startWorld(hubProcess: WorkerProcess, clusterProcess: WorkerProcess): Promise<SyncWorld> {
  const ask = <Answer>(of: WorkerProcess, task: SyncServerTask): Promise<Answer> => of.ask<Answer>(task);
  const [hub, servers] = await Promise.all([
    ask<CountingServer>(hubProcess, { kind: "start kcp", workspaces: [syncWorkspace] }),
    ask<readonly CountingServer[]>(clusterProcess, { kind: "start clusters", names: clusterNames }),
  ]);
  return {
    hub,
    clusters: servers.map((server, at) => ({ ...server, name: clusterNames[at] ?? "" })),
    writes: async () => {
      const [up, down] = await Promise.all([
        ask<ServerCounts>(hubProcess, { kind: "counts" }),
        ask<ServerCounts>(clusterProcess, { kind: "counts" }),
      ]);
      return { up: up.writes, down: down.writes };
    },
  };
}
