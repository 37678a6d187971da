import type { BenchReport } from "./report.ts";
import type { Settings } from "./settings.ts";
import { measureCrowd, measureCrowdByHand } from "./sync/measure.ts";
import { measureSync, syncReport } from "./sync/report.ts";
import { furnish, openSession, type SyncWorld, syncWorkspace } from "./sync/session.ts";
import { crowdGoal, crowdTable } from "./sync/tables.ts";
import { startWorkerProcess, type WorkerProcess } from "./worker-process.ts";
import type { CountingServer, ServerCounts, SyncServerTask } from "./workers/sync-server-worker.ts";

const clusterNames = Array.from({ length: 10 }, (_, at) => `cluster-${at}`);
const leastPerSecond = 300;

/** Measures sync against an embedded kcp and ten embedded clusters, each side in a process of its own, over TLS. */
export async function benchSync({ synced: { singles, burst, many, crowd } }: Settings): Promise<BenchReport> {
  await using hubProcess = startWorkerProcess("sync-server-worker.ts");
  await using clusterProcess = startWorkerProcess("sync-server-worker.ts");
  await using session = await openSession(await startWorld(hubProcess, clusterProcess));
  await furnish(session);
  const measured = await measureSync(session, {
    singles,
    burst,
    warm: (controller) => measureCrowd(session, controller, { prefix: "warm-crowd", count: clusterNames.length }),
    more: async (controller) => {
      const byHandMs = await measureCrowdByHand(session, "hand-crowd", many);
      const synced = await measureCrowd(session, controller, { prefix: "crowd", count: many });
      await measureCrowd(session, controller, { prefix: "rest", count: crowd - many });
      return { byHandMs, synced };
    },
  });
  const { byHandMs, synced } = measured.more;
  return syncReport(measured, {
    name: "sync",
    synced: crowd,
    more: {
      tables: [crowdTable(synced, byHandMs, clusterNames.length)],
      goals: [crowdGoal(synced, leastPerSecond)],
    },
    notes: ["what is in both clusters is so when their watches say so, for what was made by hand too"],
  });
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
