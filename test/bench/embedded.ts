import type { Target } from "./clients/bench-client.ts";
import { measureCalls } from "./measure-calls.ts";
import { measureWatch } from "./measure-watch.ts";
import type { BenchReport } from "./report.ts";
import type { Settings } from "./settings.ts";
import { startWorkerProcess } from "./worker-process.ts";
import type { ServerTask } from "./workers/server-worker.ts";

/** Times the clients against an embedded cluster over TLS in another process, and ours inside the server's process. */
export async function benchEmbedded(settings: Settings): Promise<BenchReport> {
  await using server = startWorkerProcess("server-worker.ts");
  const target = await server.ask<Target>({ kind: "start" } satisfies ServerTask);
  const calls = await measureCalls(
    "calls against an embedded cluster; in process: client and server in one process, without a socket",
    ["tmc, undici", "tmc, https", "tmc, in process", "client-node"],
    target,
    settings,
  );
  const watch = await measureWatch("watches of an embedded cluster", {
    clients: ["tmc, undici", "tmc, https", "client-node"],
    target,
    settings,
    writeBurst: async (namespace, count) => {
      await server.ask({ kind: "burst", namespace, count } satisfies ServerTask);
    },
  });
  return { name: "embedded", tables: [calls.table, watch], goals: [], notes: [] };
}
