import { SendMessageBatchCommand, type SendMessageBatchRequestEntry, SendMessageCommand } from "@aws-sdk/client-sqs";
import { ControllerError } from "@tmc/kube/fault.ts";
import { forEachConcurrently } from "../model/concurrency.ts";
import { errorOfSqs, nameOfQueue, type SqsClient } from "./sqs-client.ts";

/** A message as SQS takes it. */
export type Outgoing = Omit<SendMessageBatchRequestEntry, "Id">;

/** One that SQS did not take, by its place among those that were to be sent. */
export type NotTaken = Readonly<{ index: number; error: ControllerError }>;

/** SQS takes no more in one call. */
const largestBatch = 10;

/** Calls on their way at once; more would only meet the queue's own limit sooner. */
const callsAtOnce = 4;

/**
 * Sends messages in batches and answers which were not taken.
 *
 * A batch can be taken in part. What was left out is tried once more by itself, because the client's own retries see
 * failed calls only. A call that failed as a whole has had those retries, and is not tried ten times over.
 */
export async function sendAll(
  sqs: SqsClient,
  queueUrl: string,
  outgoing: readonly Outgoing[],
): Promise<readonly NotTaken[]> {
  const what = `send to ${nameOfQueue(queueUrl)}`;
  const notTaken: NotTaken[] = [];
  const batches: number[] = [];
  for (let start = 0; start < outgoing.length; start += largestBatch) batches.push(start);

  const sendOne = async (index: number, message: Outgoing): Promise<void> => {
    try {
      await sqs.send(new SendMessageCommand({ QueueUrl: queueUrl, ...message }));
    } catch (error) {
      notTaken.push({ index, error: errorOfSqs(what, error) });
    }
  };
  const sendBatch = async (start: number): Promise<void> => {
    const batch = outgoing.slice(start, start + largestBatch);
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
      const failure = errorOfSqs(what, error);
      notTaken.push(...batch.map((_, at) => ({ index: start + at, error: failure })));
    }
  };

  await forEachConcurrently(batches, callsAtOnce, sendBatch);
  return notTaken.toSorted((one, other) => one.index - other.index);
}

/** Fails in one line that says how many messages were not taken, and why the first was not. */
export function refuseNotTaken(notTaken: readonly NotTaken[], sent: number): void {
  const [first] = notTaken;
  if (first === undefined) return;
  const { error } = first;
  const fault = notTaken.every((one) => one.error.fault === "throttled") ? "throttled" : "unreachable";
  if (sent === 1) throw error;
  throw new ControllerError(fault, `${error.message} (${notTaken.length} of ${sent} messages were not taken)`, {
    cause: error.cause,
  });
}
