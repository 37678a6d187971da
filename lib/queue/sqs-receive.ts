import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  type Message,
  type MessageSystemAttributeName,
  ReceiveMessageCommand,
} from "@aws-sdk/client-sqs";
import { causeAttribute } from "./sqs.ts";
import { queueName, type SqsClient, sqsError } from "./sqs-client.ts";

/** A received message, with the receipt handle that releases or deletes it. */
export type ReceivedMessage = Readonly<{
  messageId: string;
  body: string;
  groupId: string;
  sentMs: number;
  receives: number;
  receipt: string;
  /** Why it was dead-lettered; undefined if SQS moved it itself. */
  cause: string | undefined;
}>;

export type ReceiveOptions = Readonly<{
  /** Long-poll time. */
  waitSeconds: number;
  /** How long the messages are invisible to other consumers. @default the queue's setting */
  visibilitySeconds?: number;
  signal?: AbortSignal;
}>;

const systemAttributes: MessageSystemAttributeName[] = ["ApproximateReceiveCount", "MessageGroupId", "SentTimestamp"];

/** Limit of SQS for one call. */
const maxBatchSize = 10;

/** Receives up to ten messages. */
export async function receiveMessages(
  sqs: SqsClient,
  queueUrl: string,
  { waitSeconds, visibilitySeconds, signal }: ReceiveOptions,
): Promise<readonly ReceivedMessage[]> {
  const command = new ReceiveMessageCommand({
    QueueUrl: queueUrl,
    MaxNumberOfMessages: maxBatchSize,
    WaitTimeSeconds: waitSeconds,
    MessageSystemAttributeNames: systemAttributes,
    MessageAttributeNames: [causeAttribute],
    ...(visibilitySeconds === undefined ? {} : { VisibilityTimeout: visibilitySeconds }),
  });
  try {
    const { Messages = [] } = await sqs.send(command, signal === undefined ? {} : { abortSignal: signal });
    return Messages.map(receivedMessageOf);
  } catch (error) {
    throw sqsError(`receive from ${queueName(queueUrl)}`, error);
  }
}

/** Deletes messages. A message that was not deleted is delivered again, which every consumer must tolerate anyway. */
export async function deleteMessages(
  sqs: SqsClient,
  queueUrl: string,
  messages: readonly Readonly<{ receipt?: string | undefined }>[],
): Promise<void> {
  const receipts = messages.map(({ receipt }) => receipt).filter((receipt) => receipt !== undefined);
  for (let start = 0; start < receipts.length; start += maxBatchSize) {
    const Entries = receipts
      .slice(start, start + maxBatchSize)
      .map((receipt, at) => ({ Id: String(at), ReceiptHandle: receipt }));
    await sqs.send(new DeleteMessageBatchCommand({ QueueUrl: queueUrl, Entries })).catch((error: unknown) => {
      throw sqsError(`delete from ${queueName(queueUrl)}`, error);
    });
  }
}

/**
 * The delay before a failed message is delivered again, growing with its receive count: a target queue that does not respond
 * must not be called without a pause. It is short, because newer changes of the key wait behind the message.
 */
export function redeliveryDelaySeconds(receives: number): number {
  return Math.min(30, 5 * 3 ** (Math.max(1, receives) - 1));
}

/** Releases messages: each becomes visible to other consumers after its delay. A message group stays locked until all of its messages are visible, so their order is kept. */
export async function releaseMessages<M extends Pick<ReceivedMessage, "receipt">>(
  sqs: SqsClient,
  queueUrl: string,
  messages: readonly M[],
  afterSeconds: (message: M) => number,
  signal?: AbortSignal,
): Promise<void> {
  for (let start = 0; start < messages.length; start += maxBatchSize) {
    const Entries = messages.slice(start, start + maxBatchSize).map((message, at) => ({
      Id: String(at),
      ReceiptHandle: message.receipt,
      VisibilityTimeout: afterSeconds(message),
    }));
    const command = new ChangeMessageVisibilityBatchCommand({ QueueUrl: queueUrl, Entries });
    await sqs.send(command, signal === undefined ? {} : { abortSignal: signal }).catch((error: unknown) => {
      throw sqsError(`release messages of ${queueName(queueUrl)}`, error);
    });
  }
}

function receivedMessageOf({
  MessageId = "",
  Body = "",
  ReceiptHandle = "",
  Attributes,
  MessageAttributes,
}: Message): ReceivedMessage {
  return {
    messageId: MessageId,
    body: Body,
    // A standard queue has no groups: each message is its own.
    groupId: Attributes?.MessageGroupId ?? MessageId,
    sentMs: Number(Attributes?.SentTimestamp ?? 0),
    receives: Number(Attributes?.ApproximateReceiveCount ?? 1),
    receipt: ReceiptHandle,
    cause: MessageAttributes?.[causeAttribute]?.StringValue,
  };
}
