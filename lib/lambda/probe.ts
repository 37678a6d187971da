import type { SQSBatchResponse, SQSEvent, SQSRecord } from "aws-lambda";
import { formatKey } from "../model/key.ts";
import type { Log } from "../observe/log.ts";
import type { BatchRecord, BatchRunner } from "../queue/batch.ts";
import { formatBody } from "../queue/work-message.ts";
import { batchResponse, createFunction, type FunctionHandler } from "./function.ts";
import type { Host } from "./host.ts";
import { type HeartbeatMessage, parseHeartbeat, registrationKeysOf } from "./messages.ts";
import { openRuntime, runtimeEnvironmentNames } from "./runtime.ts";
import type { ReconcileClients } from "./upstream.ts";

/** Probes mostly wait; this many fit into the memory and the sockets of a small function. */
const maxConcurrentProbes = 25;

/**
 * Creates the function that probes the clusters of a message.
 *
 * No message returns to its queue. A key that fails is retried through the work queue, like after any reconcile. Clusters that
 * were not probed in time are due again at the next heartbeat. A message that is late by more than an interval is dropped,
 * because the next heartbeat has been sent already. One that is delivered again is not: the function that received it first may
 * have died, and SQS dead-letters it if that happens again.
 */
export function createProbeFunction(
  host: Host,
  clients: ReconcileClients,
): FunctionHandler<SQSEvent, SQSBatchResponse> {
  const { clock } = host;
  return createFunction(host, {
    name: "probe",
    environmentNames: runtimeEnvironmentNames,
    start: async (tools) => ({
      log: tools.log,
      intervalSeconds: tools.environment.heartbeatSeconds,
      run: await openRuntime(clients, tools, { maxConcurrentKeys: maxConcurrentProbes }),
    }),
    handle: async ({ run, log, intervalSeconds }, { Records }: SQSEvent, signal) => {
      for (const record of Records) {
        const message = parseOrDrop(record, log);
        if (message === undefined) continue;
        const receives = Number(record.attributes.ApproximateReceiveCount);
        const dueMs = Number(record.attributes.SentTimestamp) + message.delaySeconds * 1000;
        const lateSeconds = (clock.now() - dueMs) / 1000;
        // A process that had the message before may have died of one of its clusters. The others are sent to the work queue,
        // however late they are: the next heartbeat names that cluster again, together with them.
        if (lateSeconds > intervalSeconds && receives <= 1) {
          log.warn("heartbeat dropped", { clusters: message.clusters.length, lateSeconds: Math.round(lateSeconds) });
          continue;
        }
        await probeClusters(run, { message, dueMs, receives, log }, signal);
      }
      return batchResponse({ failed: [] });
    },
  });
}

async function probeClusters(
  run: BatchRunner,
  { message, dueMs, receives, log }: Readonly<{ message: HeartbeatMessage; dueMs: number; receives: number; log: Log }>,
  signal: AbortSignal,
): Promise<void> {
  // The same runner as for the work queue, so that failed keys are retried by the same rules.
  const records = registrationKeysOf(message).map(
    (key): BatchRecord => ({
      messageId: formatKey(key),
      body: formatBody({ key, reason: "heartbeat" }),
      groupId: formatKey(key),
      sentMs: dueMs,
      receives,
    }),
  );
  const { failed } = await run(records, signal);
  if (failed.length > 0) log.warn("probes not finished", { clusters: records.length, failed: failed.length });
}

function parseOrDrop({ body, messageId }: SQSRecord, log: Log): HeartbeatMessage | undefined {
  try {
    return parseHeartbeat(body);
  } catch (error) {
    log.error("heartbeat cannot be read", { messageId, error });
    return undefined;
  }
}
