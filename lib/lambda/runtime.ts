import { createDeadline, unlessAborted } from "@tmc/kube/deadline.ts";
import { createCloudCredentials } from "../credentials/cloud-credentials.ts";
import { createConnections } from "../credentials/connections.ts";
import type { Environment } from "../engine/environment.ts";
import { createEventRecorder } from "../engine/event-recorder.ts";
import { logReconciles } from "../engine/reconcile-log.ts";
import { createReconcilers, type ReconcilersSettings } from "../engine/reconcilers.ts";
import type { Work } from "../model/work-item.ts";
import type { Log } from "../observe/log.ts";
import { queueEventRecorder } from "../observe/recorders.ts";
import { type BatchRunner, createBatchRunner } from "../queue/batch.ts";
import { rateLimitFanOut } from "../queue/fan-out.ts";
import { isolatingRunner } from "../queue/isolate.ts";
import type { QueueEvent } from "../queue/queue-event.ts";
import { createSqsQueue } from "../queue/sqs.ts";
import { deleteMessages } from "../queue/sqs-receive.ts";
import { isMultiTenant, tenantRateOf } from "../queue/tenant-rate-limit.ts";
import { defaultRegistrationSettings } from "../registration/settings.ts";
import { defaultDeletionGuardSettings } from "../sync/eviction/deletion-guard.ts";
import { createBindingReader, readBindingsThroughExport } from "../upstream/export/bindings.ts";
import { createFreshHub } from "../upstream/fresh-hub.ts";
import { createFreshWorkloadHub } from "../upstream/fresh-workload-hub.ts";
import { ensureHubIdentity } from "../upstream/hub-record.ts";
import type { EmfMetrics } from "./emf-metrics.ts";
import { type FunctionTools, lazy } from "./function.ts";
import type { SyncWork, SyncWorkOptions } from "./sync-work.ts";
import {
  clusterTransports,
  endsWithoutDeployment,
  openUpstreamHub,
  type ReconcileClients,
  readWorkloadTypes,
  type UpstreamHub,
} from "./upstream.ts";

/** The settings that a function with a runtime reads from the environment. */
export const runtimeEnvironmentNames = [
  "hub",
  "hubId",
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
type RuntimeEnvironment = Pick<Environment, (typeof runtimeEnvironmentNames)[number] | "stage">;

/** Well below the timeout of the function: a key that hangs is then retried by itself and does not fail its batch. */
const reconcileSeconds = 12;
/** `lastHeartbeat` of an idle cluster is written every fifth time: ten thousand heartbeats would be most of the upstream's load. */
const heartbeatsPerWrite = 5;

/** A Lambda process may have 1,024 open files. Each cluster takes up to four, and a process meets every cluster over time. */
const maxConnections = 128;

/** How long a response waits for Events in flight: Lambda freezes the process after the response. */
const eventFlushMs = 2_000;

export type RuntimeOptions = Readonly<{
  /** Keys of a batch that are reconciled concurrently. */
  maxConcurrentKeys: number;
  /** Creates the reconcilers of workloads. Functions that only enqueue workloads omit it, and do not load the code. */
  createSyncWork?: ((parts: SyncWorkOptions) => SyncWork) | undefined;
}>;

export function runtimeSettings({ heartbeatSeconds }: Pick<Environment, "heartbeatSeconds">): ReconcilersSettings {
  return {
    heartbeatSeconds,
    heartbeatWriteSeconds: heartbeatSeconds * heartbeatsPerWrite,
    reconcileSeconds,
    registration: defaultRegistrationSettings,
  };
}

/** Finds the id of the hub: from the environment, or with two requests per process. */
async function findHubId({ rootClient }: UpstreamHub, environment: RuntimeEnvironment): Promise<string> {
  const { hub, hubId, workspaces, apiExport } = environment;
  const part = { workspaces: hub === "kcp" ? workspaces : undefined, apiExport };
  return hubId ?? (await ensureHubIdentity({ client: rootClient, part }));
}

/**
 * Opens everything that reconciles need: the upstream, which is read again in each batch, the queues, the clusters, and the same
 * reconcilers as in the controller. Returns the runner for batches.
 */
export async function openRuntime(
  clients: ReconcileClients,
  tools: FunctionTools & Readonly<{ environment: RuntimeEnvironment }>,
  { maxConcurrentKeys, createSyncWork }: RuntimeOptions,
): Promise<BatchRunner> {
  const { host, log, metrics, environment } = tools;
  const { clock, random, overrides } = host;
  const onEvent = queueListener(tools);
  const upstream = await openUpstreamHub(clients, tools);
  const { client } = upstream;
  const hub = createFreshHub({
    client,
    onWrite: ({ key, part }) => metrics.add("tmc_upstream_writes_total", { kind: key.kind, part }),
  });
  const queue = createSqsQueue({
    sqs: clients.sqs,
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
    openTransport: clusterTransports(clients, environment),
    capacity: maxConnections,
    clock,
    random,
  });
  const { maxDeletions: maxCopies, maxDeletionsPercent: maxPercent } = environment;
  const deletionGuard = { ...defaultDeletionGuardSettings, maxCopies, maxPercent };
  const workloads = environment.sync
    ? createFreshWorkloadHub({
        client,
        types: await readWorkloadTypes(upstream, tools),
        clock,
        onWrite: ({ part }) => metrics.add("tmc_upstream_writes_total", { kind: "Workload", part }),
        // Debug level: nothing depends on an Event, and a tenant may deny them.
        onEventFailure: (error, { logicalCluster, name }) =>
          log.debug("event not written", { logicalCluster, name, error }),
      })
    : undefined;
  const events = createEventRecorder({ client, clock, hub, workloads, log, metrics });
  const limitedQueue = rateLimitFanOut(
    queue,
    tenantRateOf({ perSecond: environment.tenantEventsPerSecond, isShared: isMultiTenant(environment) }),
  );
  let beginSyncBatch = (): void => {};
  // Copies and secrets carry the id of the hub.
  const reconcilers = lazy(async (): Promise<Work> => {
    const hubId = await findHubId(upstream, environment);
    const credentials = createCloudCredentials({
      hub,
      rules: { allowedRanges: environment.allowedEndpoints },
      providers: environment.credentialProviders,
      secretsManager: clients.secretsManager,
      scope: { stage: environment.stage, hubId },
      awsCredentials: clients.awsCredentials,
      clock,
      random,
    });
    const shared = { hub, queue: limitedQueue, connections, credentials, clock, metrics };
    const sync =
      workloads && createSyncWork?.({ ...shared, hubId, workloads, settings: { deletionGuard, ...overrides?.sync } });
    const work = createReconcilers({
      ...shared,
      sync: workloads && { workloads, ...sync },
      readBindings: environment.apiExport === undefined ? createBindingReader(client) : readBindingsThroughExport,
      settings: { ...runtimeSettings(environment), ...overrides?.settings },
      onReadyChange: ({ logicalCluster, name }, { type, reason, message }) => {
        const fields = { logicalCluster, name, reason, detail: message };
        if (type === "Warning") log.warn("cluster changed", fields);
        else log.info("cluster changed", fields);
      },
      recordEvent: events.record,
    });
    beginSyncBatch = () => sync?.beginBatch();
    return overrides?.wrapWork?.(work) ?? work;
  });
  await reconcilers().catch((error: unknown) => {
    // Not fatal while the upstream is unreachable: every key tries again and is retried. Any other failure stops the function.
    if (!endsWithoutDeployment(error)) throw error;
    log.warn("hub identity cannot be read yet", { error });
  });
  const work: Work = async (item, signal) => (await reconcilers())(item, signal);
  const onBatchEvent = (event: QueueEvent): void => {
    onEvent(event);
    events.onQueueEvent(event);
  };
  const run = isolatingRunner({
    run: createBatchRunner({ work, queue, clock, random, maxConcurrentKeys, onEvent: onBatchEvent }),
    queue,
    acknowledge: (records) => deleteMessages(clients.sqs, environment.workQueueUrl, records),
  });
  return async (records, signal, drain) => {
    hub.beginBatch();
    workloads?.beginBatch();
    beginSyncBatch();
    const result = await run(records, signal, drain);
    const deadline = createDeadline(clock, { signal, timeoutMs: eventFlushMs });
    // An Event may be lost; the response may not.
    await unlessAborted(Promise.all([workloads?.whenFlushed(), events.flush()]), deadline.signal).catch(() => {});
    deadline.end();
    return result;
  };
}

/** Listener of a queue that records metrics and logs one line per reconcile and per unreadable message. */
export function queueListener({
  log,
  metrics,
}: Readonly<{ log: Log; metrics: EmfMetrics }>): (event: QueueEvent) => void {
  const record = queueEventRecorder(metrics);
  const logEnd = logReconciles(log);
  return (event) => {
    record(event);
    if (event.kind === "unreadable") {
      const { messageId, cause, receives, error } = event;
      if (error === undefined) log.error("message dead-lettered", { messageId, cause, receives });
      else log.error("message cannot be dead-lettered", { messageId, cause, receives, error });
    } else if (event.kind === "ended" && event.outcome === "returned") {
      const { item, durationSeconds, error } = event;
      const { logicalCluster, kind, name } = item.key;
      const durationMs = Math.round(durationSeconds * 1000);
      log.warn("reconcile returned to queue", {
        logicalCluster,
        kind,
        name,
        reason: item.reason,
        durationMs,
        error,
      });
    } else logEnd(event);
  };
}
