import type { SQSBatchResponse, SQSEvent } from "aws-lambda";
import { createForwarder, type Forwarder } from "../queue/forward.ts";
import type { SqsClient } from "../queue/sqs-client.ts";
import { batchResponse, createFunction, type FunctionHandler } from "./function.ts";
import type { Host } from "./host.ts";

/** Creates the function that forwards due messages from the delay queue to the work queue. */
export function createForwardFunction(
  host: Host,
  { sqs }: Readonly<{ sqs: SqsClient }>,
): FunctionHandler<SQSEvent, SQSBatchResponse> {
  return createFunction(host, {
    name: "forward",
    environmentNames: ["workQueueUrl", "delayQueueUrl"],
    start: async ({ environment, log }): Promise<Forwarder> => {
      const forward = createForwarder({
        sqs,
        urls: { work: environment.workQueueUrl, delay: environment.delayQueueUrl },
      });
      return async (records) => {
        const result = await forward(records);
        const failed = result.failed.length;
        if (failed > 0) log.warn("messages not forwarded", { messages: records.length, failed });
        else log.debug("messages forwarded", { messages: records.length });
        return result;
      };
    },
    handle: async (forward, { Records }: SQSEvent) =>
      batchResponse(await forward(Records.map(({ messageId, body }) => ({ messageId, body })))),
  });
}
