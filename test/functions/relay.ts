import { createCloudCredentials } from "../../lib/credentials/cloud-credentials.ts";
import { createHealthChecks } from "../../lib/observe/health.ts";
import { createLog } from "../../lib/observe/log.ts";
import { createMetrics } from "../../lib/observe/metrics.ts";
import { createSqsQueue } from "../../lib/queue/sqs.ts";
import { createRelayService } from "../../lib/relay/service/relay-service.ts";
import type { FunctionsEnvironment } from "../support/functions-environment.ts";

/** Starts a relay, as in a separate process, that watches clusters and finds them as functions do. Returns its stop function. */
export async function startClusterRelay({
  tenants,
  sqs,
  cloud,
  clock,
}: Pick<FunctionsEnvironment, "tenants" | "sqs" | "cloud" | "clock">): Promise<() => Promise<unknown>> {
  const { openTransport } = cloud;
  if (openTransport === undefined) throw new Error("nothing leads to clusters");
  const random = (): number => 0;
  const work = "https://sqs.eu-west-1.amazonaws.com/000000000000/work.fifo";
  const relay = createRelayService({
    client: tenants.client,
    workspaces: ["root:demo"],
    queue: createSqsQueue({ sqs: sqs.sqs, urls: { work, delay: "", deadLetters: "" } }),
    sync: true,
    targetClusters: {
      openTransport,
      findHubId: async () => "kcp",
      openCredentials: (hub, hubId) =>
        createCloudCredentials({ ...cloud, scope: { stage: "test", hubId }, hub, rules: {}, clock, random }),
    },
    clock,
    random,
    log: createLog({ level: 0, write: () => {}, clock }),
    metrics: createMetrics(),
    health: createHealthChecks({ clock }),
  });
  await relay.start();
  return () => relay.stop(0);
}
