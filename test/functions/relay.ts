import { createCloudCredentials } from "../../lib/credentials/cloud-credentials.ts";
import { createHealth } from "../../lib/observe/health.ts";
import { createLog } from "../../lib/observe/log.ts";
import { createMetrics } from "../../lib/observe/metrics.ts";
import { createSqsQueue } from "../../lib/queue/sqs.ts";
import { createRelayService } from "../../lib/relay/service.ts";
import type { CloudStage } from "./stage.ts";

/** Starts a relay as a process of its own would be, which watches the clusters and finds them as functions do; answers its end. */
export async function startClusterRelay({
  tenants,
  sqs,
  cloud,
  clock,
}: Pick<CloudStage, "tenants" | "sqs" | "cloud" | "clock">): Promise<() => Promise<unknown>> {
  const { openTransport } = cloud;
  if (openTransport === undefined) throw new Error("nothing leads to clusters");
  const random = (): number => 0;
  const work = "https://sqs.eu-west-1.amazonaws.com/000000000000/work.fifo";
  const relay = createRelayService({
    client: tenants.client,
    workspaces: ["root:demo"],
    queue: createSqsQueue({ sqs: sqs.sqs, urls: { work, delay: "", deadLetters: "" } }),
    sync: true,
    clusters: {
      openTransport,
      openCredentials: (hub) => createCloudCredentials({ ...cloud, hub, rules: {}, clock, random }),
    },
    clock,
    random,
    log: createLog({ level: 0, write: () => {}, clock }),
    metrics: createMetrics(),
    health: createHealth({ clock }),
  });
  await relay.start();
  return () => relay.stop(0);
}
