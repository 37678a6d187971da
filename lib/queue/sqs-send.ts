import { SendMessageBatchCommand, type SendMessageBatchRequestEntry, SendMessageCommand } from "@aws-sdk/client-sqs";
import { ControllerError } from "@tmc/kube/fault.ts";
import { forEachConcurrently } from "../model/concurrency.ts";
import { queueName, type SqsClient, sqsError } from "./sqs-client.ts";

/** A message as SQS accepts it. */
export type OutgoingMessage = Omit<SendMessageBatchRequestEntry, "Id">;

/** A message that SQS rejected, by its index in the list to send. */
export type RejectedMessage = Readonly<{ index: number; error: ControllerError }>;

/** Limit of SQS for one call. */
const maxBatchSize = 10;

/** Enough for what a reconcile or a relay sends; a resync has more. */
const defaultConcurrentCalls = 4;

/**
 * Sends messages in batches and returns the rejected ones.
 *
 * SQS can reject single entries of a batch. They are sent once more, one by one, because the SDK retries failed calls only. A
 * call that failed as a whole has been retried by the SDK and is not repeated for each of its messages.
 */
export async function sendMessages(
  sqs: SqsClient,
  queueUrl: string,
  outgoing: readonly OutgoingMessage[],
  maxConcurrentCalls: number = defaultConcurrentCalls,
): Promise<readonly RejectedMessage[]> {
  const operation = `send to ${queueName(queueUrl)}`;
  const rejected: RejectedMessage[] = [];
  const batches: number[] = [];
  for (let start = 0; start < outgoing.length; start += maxBatchSize) batches.push(start);

  const sendOne = async (index: number, message: OutgoingMessage): Promise<void> => {
    try {
      await sqs.send(new SendMessageCommand({ QueueUrl: queueUrl, ...message }));
    } catch (error) {
      rejected.push({ index, error: sqsError(operation, error) });
    }
  };
  const sendBatch = async (start: number): Promise<void> => {
    const batch = outgoing.slice(start, start + maxBatchSize);
    const [only] = batch;
    if (only !== undefined && batch.length === 1) return sendOne(start, only);
    try {
      const { Failed = [] } = await sqs.send(
        new SendMessageBatchCommand({
          QueueUrl: queueUrl,
          Entries: batch.map((message, at) => ({ Id: String(at), ...message })),
        }),
      );
      for (const { Id } of Failed) {
        const message = batch[Number(Id)];
        if (message !== undefined) await sendOne(start + Number(Id), message);
      }
    } catch (error) {
      const failure = sqsError(operation, error);
      rejected.push(...batch.map((_, at) => ({ index: start + at, error: failure })));
    }
  };

  await forEachConcurrently(batches, maxConcurrentCalls, sendBatch);
  return rejected.toSorted((one, other) => one.index - other.index);
}

/** Throws if messages were rejected: one line with their number and the first error. */
export function throwIfRejected(rejected: readonly RejectedMessage[], sent: number): void {
  const [first] = rejected;
  if (first === undefined) return;
  const { error } = first;
  const fault = rejected.every((one) => one.error.fault === "throttled") ? "throttled" : "unreachable";
  if (sent === 1) throw error;
  throw new ControllerError(fault, `${error.message} (${rejected.length} of ${sent} messages rejected)`, {
    cause: error.cause,
  });
}
