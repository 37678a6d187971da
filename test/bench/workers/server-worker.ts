// An embedded cluster in a process of its own, so that the measured client has its event loop to itself.
import { setImmediate as nextTurn } from "node:timers/promises";
import { type EmbeddedCluster, startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import { configMapOf, type Target } from "../clients/bench-client.ts";
import { serveTasks } from "../serve-tasks.ts";

export type ServerTask =
  | Readonly<{ kind: "start" }>
  /** Creates objects as the server's own controllers do, without a request, each stamped with the time. */
  | Readonly<{ kind: "burst"; namespace: string; count: number }>;

/** So many at once as a busy controller would write before it lets others have a turn. */
const atOnce = 50;
let cluster: EmbeddedCluster | undefined;

async function start(): Promise<Target> {
  cluster = await startEmbeddedCluster({ name: "bench" });
  return { server: cluster.url, ca: cluster.ca, token: cluster.adminToken };
}

async function burst(namespace: string, count: number): Promise<void> {
  const definition = cluster?.catalog.find("", "v1", "configmaps");
  if (cluster === undefined || definition === undefined) throw new Error("not started");
  const context = { user: { name: "bench", groups: ["system:masters"] }, fieldManager: "bench" };
  for (let index = 0; index < count; index++) {
    const sentMs = `${Number(process.hrtime.bigint() / 1000n) / 1000}`;
    const object = configMapOf(`burst-${index}`, { sentMs });
    cluster.operations.create({ definition, logicalCluster: "", namespace }, object, context);
    if (index % atOnce === atOnce - 1) await nextTurn();
  }
}

serveTasks<ServerTask>(async (task) => (task.kind === "start" ? start() : burst(task.namespace, task.count)));
