import { createDeadline, unlessAborted } from "@tmc/kube/deadline.ts";
import { createCloudCredentials } from "../credentials/cloud-credentials.ts";
import { createConnections } from "../credentials/connections.ts";
import type { Environment } from "../engine/environment.ts";
import { createNews } from "../engine/event-recorder.ts";
import { createReconcilers, type ReconcilersSettings } from "../engine/reconcilers.ts";
import { type BatchRunner, createBatchRunner } from "../queue/batch.ts";
import { spreadFanOut } from "../queue/fan-out.ts";
import type { QueueEvent } from "../queue/queue-event.ts";
import { createSqsQueue } from "../queue/sqs.ts";
import { isSharedByTenants, tenantRateOf } from "../queue/tenant-rate-limit.ts";
import { defaultRegistrationSettings } from "../registration/settings.ts";
import { defaultDeletionGuardSettings } from "../sync/eviction/deletion-guard.ts";
import { createBindingReader, unseenThroughExport } from "../upstream/export/bindings.ts";
import { createFreshHub } from "../upstream/fresh-hub.ts";
import { createFreshWorkloadHub } from "../upstream/fresh-workload-hub.ts";
import { clusterTransports, knownWorkloads, openHub, type WorkCloud } from "./cloud.ts";

import type { Tools } from "./function.ts";
import { queueListener } from "./queue-log.ts";
import type { SyncWork, SyncWorkParts } from "./sync-parts.ts";

/** What a function that works on keys reads of the environment. */
export const workbenchReads = [
  "kcpSecret",
  "workspaces",
  "apiExport",
  "workQueueUrl",
  "delayQueueUrl",
  "deadLettersUrl",
  "heartbeatSeconds",
  "tenantEventsPerSecond",
  "credentialProviders",
  "allowedEndpoints",
  "sync",
  "maxDeletions",
  "maxDeletionsPercent",
] as const;
type WorkbenchEnvironment = Pick<Environment, (typeof workbenchReads)[number]>;

/** Well below the time that a function has: a key that hangs becomes a retry of its own, and no failure of the batch. */
const reconcileSeconds = 12;
/** An idle cluster is written to in every fifth round: the heartbeats of ten thousand would be most of the hub's work. */
const roundsPerWrite = 5;

/** A process of Lambda may have 1,024 files open. Each cluster can take four, and a process meets all of them in time. */
const mostConnected = 128;

/** So long an answer waits for Events that are on their way: a process that has answered is frozen, and they with it. */
const tellingMs = 2_000;

export type WorkbenchOptions = Readonly<{
  /** How many keys of a batch are worked on at once. */
  groupsAtOnce: number;
  /** Makes the work on workloads; who only tells them of a cluster does without, and need not load it. */
  createSyncWork?: ((parts: SyncWorkParts) => SyncWork) | undefined;
}>;

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
  { groupsAtOnce, createSyncWork }: WorkbenchOptions,
): Promise<BatchRunner> {
  const { host, log, metrics, environment } = tools;
  const { clock, random } = host;
  const onEvent = queueListener(tools);
  const opened = await openHub(cloud, tools);
  const { client } = opened;
  const hub = createFreshHub({
    client,
    onWrite: ({ key, part }) => metrics.add("tmc_upstream_writes_total", { kind: key.kind, part }),
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
  const connections = createConnections({
    openTransport: clusterTransports(cloud, environment),
    most: mostConnected,
    clock,
    random,
  });
  const credentials = createCloudCredentials({
    hub,
    rules: { allowedRanges: environment.allowedEndpoints },
    providers: environment.credentialProviders,
    secretsManager: cloud.secretsManager,
    awsCredentials: cloud.awsCredentials,
    clock,
    random,
  });
  const { maxDeletions: maxCopies, maxDeletionsPercent: maxPercent } = environment;
  const brake = { ...defaultDeletionGuardSettings, maxCopies, maxPercent };
  const workloads = environment.sync
    ? createFreshWorkloadHub({
        client,
        types: await knownWorkloads(opened, tools),
        clock,
        onWrite: ({ part }) => metrics.add("tmc_upstream_writes_total", { kind: "Workload", part }),
        // Nothing depends on it, and a tenant need not let us.
        onUntold: (error, { logicalCluster, name }) => log.debug("event not written", { logicalCluster, name, error }),
      })
    : undefined;
  const news = createNews({ client, clock, hub, workloads, log, metrics });
  const spread = spreadFanOut(
    queue,
    tenantRateOf({ perSecond: environment.tenantEventsPerSecond, isShared: isSharedByTenants(environment) }),
  );
  const sync =
    workloads && createSyncWork?.({ hub, workloads, queue: spread, connections, credentials, brake, clock, metrics });
  const work = createReconcilers({
    hub,
    sync: workloads && { workloads, ...sync },
    queue: spread,
    connections,
    credentials,
    readBindings: environment.apiExport === undefined ? createBindingReader(client) : unseenThroughExport,
    clock,
    metrics,
    settings: workbenchSettings(environment),
    onEvent: ({ logicalCluster, name }, { type, reason, message }) => {
      const fields = { logicalCluster, name, reason, detail: message };
      if (type === "Warning") log.warn("cluster changed", fields);
      else log.info("cluster changed", fields);
    },
    tell: news.tell,
  });
  const onEnd = (event: QueueEvent): void => {
    onEvent(event);
    news.take(event);
  };
  const run = createBatchRunner({ work, queue, clock, random, groupsAtOnce, onEvent: onEnd });
  return async (records, signal, drain) => {
    hub.beginBatch();
    workloads?.beginBatch();
    sync?.beginBatch();
    const answer = await run(records, signal, drain);
    const deadline = createDeadline(clock, { signal, timeoutMs: tellingMs });
    // Nobody misses an Event as he would the answer.
    await unlessAborted(Promise.all([workloads?.whenTold(), news.whenTold()]), deadline.signal).catch(() => {});
    deadline.end();
    return answer;
  };
}
