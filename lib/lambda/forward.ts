import type { SQSBatchResponse, SQSEvent } from "aws-lambda";
import { createForwarder, type Forwarder } from "../queue/forward.ts";
import type { SqsClient } from "../queue/sqs-client.ts";
import { createFunction, type FunctionHandler, failuresOf } from "./function.ts";

import type { Host } from "./host.ts";

/** Creates the function that takes messages whose wait is over to the work queue. */
export function createForward(
  host: Host,
  { sqs }: Readonly<{ sqs: SqsClient }>,
): FunctionHandler<SQSEvent, SQSBatchResponse> {
  return createFunction(host, {
    name: "forward",
    reads: ["workQueueUrl", "delayQueueUrl"],
    start: async ({ environment, log }): Promise<Forwarder> => {
      const forward = createForwarder({
        sqs,
        urls: { work: environment.workQueueUrl, delay: environment.delayQueueUrl },
      });
      return async (records) => {
        const answer = await forward(records);
        const failed = answer.failed.length;
        if (failed > 0) log.warn("messages were not taken", { messages: records.length, failed });
        else log.debug("messages forwarded", { messages: records.length });
        return answer;
      };
    },
    handle: async (forward, { Records }: SQSEvent) =>
      failuresOf(await forward(Records.map(({ messageId, body }) => ({ messageId, body })))),
  });
}
