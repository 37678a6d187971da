import type { SQSBatchResponse, SQSEvent, SQSRecord } from "aws-lambda";
import { formatKey } from "../model/key.ts";
import type { Log } from "../observe/log.ts";
import type { BatchRecord, BatchRunner } from "../queue/batch.ts";
import { formatBody } from "../queue/work-message.ts";
import type { WorkCloud } from "./cloud.ts";
import { createFunction, type FunctionHandler, failuresOf } from "./function.ts";

import { type HeartbeatMessage, keysOf, parseHeartbeat } from "./heartbeat-message.ts";
import type { Host } from "./host.ts";
import { openWorkbench, workbenchReads } from "./runtime.ts";

/** Mostly waiting: so many fit into the memory and the sockets of a small function. */
const probesAtOnce = 25;

/**
 * Creates the function that probes the clusters of a message.
 *
 * Nothing comes back to its queue: a key that fails goes on by itself, as after any other work, and what was not begun in
 * time is due again with the next round. A message that waited longer than a round is dropped, for that round has come.
 */
export function createProbe(host: Host, cloud: WorkCloud): FunctionHandler<SQSEvent, SQSBatchResponse> {
  const { clock } = host;
  return createFunction(host, {
    name: "probe",
    reads: workbenchReads,
    start: async (tools) => ({
      log: tools.log,
      intervalSeconds: tools.environment.heartbeatSeconds,
      run: await openWorkbench(cloud, tools, { groupsAtOnce: probesAtOnce }),
    }),
    handle: async ({ run, log, intervalSeconds }, { Records }: SQSEvent, signal) => {
      for (const record of Records) {
        const message = readOrDrop(record, log);
        if (message === undefined) continue;
        const dueMs = Number(record.attributes.SentTimestamp) + message.delaySeconds * 1000;
        const lateSeconds = (clock.now() - dueMs) / 1000;
        if (lateSeconds > intervalSeconds) {
          log.warn("heartbeat dropped", { clusters: message.clusters.length, lateSeconds: Math.round(lateSeconds) });
          continue;
        }
        await probeAll(run, { message, dueMs, log }, signal);
      }
      return failuresOf({ failed: [] });
    },
  });
}

async function probeAll(
  run: BatchRunner,
  { message, dueMs, log }: Readonly<{ message: HeartbeatMessage; dueMs: number; log: Log }>,
  signal: AbortSignal,
): Promise<void> {
  // The same runner as for the work queue, so that a failed key goes on by the same rules.
  const records = keysOf(message).map(
    (key): BatchRecord => ({
      messageId: formatKey(key),
      body: formatBody({ key, reason: "heartbeat" }),
      groupId: formatKey(key),
      sentMs: dueMs,
      receives: 1,
    }),
  );
  const { failed } = await run(records, signal);
  if (failed.length > 0) log.warn("probes not done", { clusters: records.length, failed: failed.length });
}

function readOrDrop({ body, messageId }: SQSRecord, log: Log): HeartbeatMessage | undefined {
  try {
    return parseHeartbeat(body);
  } catch (error) {
    log.error("heartbeat cannot be read", { messageId, error });
    return undefined;
  }
}
