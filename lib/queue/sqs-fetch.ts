import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  type Message,
  type MessageSystemAttributeName,
  ReceiveMessageCommand,
} from "@aws-sdk/client-sqs";
import { causeAttribute } from "./sqs.ts";
import { errorOfSqs, nameOfQueue, type SqsClient } from "./sqs-client.ts";

/** A message that was handed to us, and the receipt it is given back or done away with by. */
export type Fetched = Readonly<{
  messageId: string;
  body: string;
  groupId: string;
  sentMs: number;
  receives: number;
  receipt: string;
  /** Why it lies with the dead letters, where we put it there. */
  cause: string | undefined;
}>;

export type FetchOptions = Readonly<{
  /** How long to wait for a message to come. */
  waitSeconds: number;
  /** For how long nobody else gets it. @default what the queue says */
  visibilitySeconds?: number;
  signal?: AbortSignal;
}>;

const systemAttributes: MessageSystemAttributeName[] = ["ApproximateReceiveCount", "MessageGroupId", "SentTimestamp"];

/** SQS takes and gives no more in one call. */
const largestBatch = 10;

/** Fetches up to ten messages. */
export async function fetchMessages(
  sqs: SqsClient,
  queueUrl: string,
  { waitSeconds, visibilitySeconds, signal }: FetchOptions,
): Promise<readonly Fetched[]> {
  const command = new ReceiveMessageCommand({
    QueueUrl: queueUrl,
    MaxNumberOfMessages: largestBatch,
    WaitTimeSeconds: waitSeconds,
    MessageSystemAttributeNames: systemAttributes,
    MessageAttributeNames: [causeAttribute],
    ...(visibilitySeconds === undefined ? {} : { VisibilityTimeout: visibilitySeconds }),
  });
  try {
    const { Messages = [] } = await sqs.send(command, signal === undefined ? {} : { abortSignal: signal });
    return Messages.map(fetchedOf);
  } catch (error) {
    throw errorOfSqs(`receive from ${nameOfQueue(queueUrl)}`, error);
  }
}

/** Does away with messages. One that is not deleted comes again, which every reader has to bear anyway. */
export async function deleteMessages(sqs: SqsClient, queueUrl: string, messages: readonly Fetched[]): Promise<void> {
  for (let start = 0; start < messages.length; start += largestBatch) {
    const Entries = messages
      .slice(start, start + largestBatch)
      .map(({ receipt }, at) => ({ Id: String(at), ReceiptHandle: receipt }));
    await sqs.send(new DeleteMessageBatchCommand({ QueueUrl: queueUrl, Entries })).catch((error: unknown) => {
      throw errorOfSqs(`delete from ${nameOfQueue(queueUrl)}`, error);
    });
  }
}

/** Gives messages back: others get each of them after its time. */
export async function giveBack(
  sqs: SqsClient,
  queueUrl: string,
  messages: readonly Fetched[],
  afterSeconds: (message: Fetched) => number,
): Promise<void> {
  for (let start = 0; start < messages.length; start += largestBatch) {
    const Entries = messages.slice(start, start + largestBatch).map((message, at) => ({
      Id: String(at),
      ReceiptHandle: message.receipt,
      VisibilityTimeout: afterSeconds(message),
    }));
    await sqs.send(new ChangeMessageVisibilityBatchCommand({ QueueUrl: queueUrl, Entries })).catch((error: unknown) => {
      throw errorOfSqs(`give back to ${nameOfQueue(queueUrl)}`, error);
    });
  }
}

function fetchedOf({ MessageId = "", Body = "", ReceiptHandle = "", Attributes, MessageAttributes }: Message): Fetched {
  return {
    messageId: MessageId,
    body: Body,
    // A standard queue has no lines: each of its messages is one.
    groupId: Attributes?.MessageGroupId ?? MessageId,
    sentMs: Number(Attributes?.SentTimestamp ?? 0),
    receives: Number(Attributes?.ApproximateReceiveCount ?? 1),
    receipt: ReceiptHandle,
    cause: MessageAttributes?.[causeAttribute]?.StringValue,
  };
}
