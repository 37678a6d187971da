import { createDeadline } from "@tmc/kube/deadline.ts";
import type { SQSBatchResponse, SQSEvent } from "aws-lambda";
import { batchRecordsOf } from "../queue/batch.ts";
import type { SqsClient } from "../queue/sqs-client.ts";
import { redeliveryDelaySeconds, releaseMessages } from "../queue/sqs-receive.ts";
import { batchResponse, createFunction, type FunctionHandler, type FunctionTools } from "./function.ts";
import type { Host } from "./host.ts";
import { openRuntime, runtimeEnvironmentNames } from "./runtime.ts";
import { createSyncWork } from "./sync-work.ts";
import type { ReconcileClients } from "./upstream.ts";

/** The largest batch of a FIFO queue. */
const maxConcurrentKeys = 10;

/** How long a response waits for the release of messages: half of the time that the signal leaves before the timeout. */
const releaseMs = 1_000;

/** Creates the function that reconciles the keys of the work queue. */
export function createReconcileFunction(
  host: Host,
  clients: ReconcileClients,
): FunctionHandler<SQSEvent, SQSBatchResponse> {
  return createFunction(host, {
    name: "reconcile",
    environmentNames: runtimeEnvironmentNames,
    start: async (tools) => ({
      run: await openRuntime(clients, tools, { maxConcurrentKeys, createSyncWork }),
      release: createRelease(clients.sqs, tools.environment.workQueueUrl, tools),
    }),
    handle: async ({ run, release }, event: SQSEvent, signal) => {
      const result = await run(batchRecordsOf(event), signal);
      await release(event, result.failed, signal.aborted);
      return batchResponse(result);
    },
  });
}

/**
 * Creates the release of messages that the function hands back. Otherwise SQS would keep them, and newer changes of their
 * keys, for the rest of the visibility timeout. Keys that were cut off are visible at once; keys whose next message the queue
 * rejected are visible after a growing delay, as in the worker.
 */
function createRelease(sqs: SqsClient, workQueueUrl: string, { host, log }: FunctionTools) {
  return async ({ Records }: SQSEvent, failed: readonly string[], wasCutOff: boolean): Promise<void> => {
    const failedIds = new Set(failed);
    const messages = Records.filter(({ messageId }) => failedIds.has(messageId)).map(
      ({ receiptHandle, attributes }) => ({
        receipt: receiptHandle,
        receives: Number(attributes.ApproximateReceiveCount),
      }),
    );
    if (messages.length === 0) return;
    const deadline = createDeadline(host.clock, { signal: undefined, timeoutMs: releaseMs });
    try {
      const delayOf = ({ receives }: (typeof messages)[number]): number =>
        wasCutOff ? 0 : redeliveryDelaySeconds(receives);
      await releaseMessages(sqs, workQueueUrl, messages, delayOf, deadline.signal);
    } catch (error) {
      // Not an error of the invocation: SQS delivers the messages again after the visibility timeout.
      log.warn("messages not released", { messages: messages.length, error });
    } finally {
      deadline.end();
    }
  };
}
