import { createCloudCredentials } from "../clusters/cloud-credentials.ts";
import { createConnections } from "../clusters/connections.ts";
import { createReconcilers, type ReconcilersSettings } from "../controller/reconcilers.ts";
import { createFreshHub } from "../kcp/fresh-hub.ts";
import { createSqsQueue } from "../queue/sqs.ts";
import { defaultRegistrationSettings } from "../registration/settings.ts";
import { type BatchRunner, createBatchRunner } from "./batch.ts";
import { clusterTransports, openHub, type WorkCloud } from "./cloud.ts";
import type { Environment } from "./environment.ts";
import type { Tools } from "./function.ts";
import { queueListener } from "./queue-log.ts";

/** What a function that works on keys reads of the environment. */
export const workbenchReads = [
  "kcpSecret",
  "apiExport",
  "workQueueUrl",
  "delayQueueUrl",
  "deadLettersUrl",
  "heartbeatSeconds",
  "credentialProviders",
  "allowedEndpoints",
] as const;
type WorkbenchEnvironment = Pick<Environment, (typeof workbenchReads)[number]>;

/** Well below the time that a function has: a key that hangs becomes a retry of its own, and no failure of the batch. */
const reconcileSeconds = 12;
/** An idle cluster is written to in every fifth round: the heartbeats of ten thousand would be most of the hub's work. */
const roundsPerWrite = 5;

/** A process of Lambda may have 1,024 files open. Each cluster can take four, and a process meets all of them in time. */
const mostConnected = 128;

/** How reconcilers work in functions. */
export function workbenchSettings({ heartbeatSeconds }: Pick<Environment, "heartbeatSeconds">): ReconcilersSettings {
  return {
    heartbeatSeconds,
    heartbeatWriteSeconds: heartbeatSeconds * roundsPerWrite,
    reconcileSeconds,
    registration: defaultRegistrationSettings,
  };
}

/**
 * Makes everything that work on keys needs: the hub, read fresh in each batch, the queues, the clusters and the same reconcilers
 * as in one process. The answer works on batches.
 */
export async function openWorkbench(
  cloud: WorkCloud,
  tools: Tools & Readonly<{ environment: WorkbenchEnvironment }>,
  { groupsAtOnce }: Readonly<{ groupsAtOnce: number }>,
): Promise<BatchRunner> {
  const { host, log, metrics, environment } = tools;
  const { clock, random } = host;
  const onEvent = queueListener(tools);
  const { client } = await openHub(cloud, tools);
  const hub = createFreshHub({
    client,
    onWrite: ({ key, part }) => metrics.add("tmc_hub_writes_total", { kind: key.kind, part }),
  });
  const queue = createSqsQueue({
    sqs: cloud.sqs,
    urls: {
      work: environment.workQueueUrl,
      delay: environment.delayQueueUrl,
      deadLetters: environment.deadLettersUrl,
    },
    clock,
    random,
    onEvent,
  });
  const work = createReconcilers({
    hub,
    queue,
    connections: createConnections({
      openTransport: clusterTransports(cloud, environment),
      most: mostConnected,
      clock,
      random,
    }),
    credentials: createCloudCredentials({
      hub,
      rules: { allowedRanges: environment.allowedEndpoints },
      providers: environment.credentialProviders,
      secretsManager: cloud.secretsManager,
      awsCredentials: cloud.awsCredentials,
      clock,
      random,
    }),
    clock,
    metrics,
    settings: workbenchSettings(environment),
    onEvent: ({ cluster, name }, { type, reason, message }) => {
      const fields = { cluster, name, reason, detail: message };
      if (type === "Warning") log.warn("cluster changed", fields);
      else log.info("cluster changed", fields);
    },
  });
  const run = createBatchRunner({ work, queue, clock, random, groupsAtOnce, onEvent });
  return (records, signal, drain) => {
    hub.beginBatch();
    return run(records, signal, drain);
  };
}
