import type { SQSClient } from "@aws-sdk/client-sqs";
import type { SQSEvent, SQSRecord } from "aws-lambda";
import type { SqsClient } from "../../lib/queue/sqs-client.ts";

/** A message that was sent. */
export type Sent = Readonly<{
  queue: string;
  body: string;
  delaySeconds: number;
  groupId: string | undefined;
  deduplicationId: string | undefined;
  cause: string | undefined;
  sentMs: number;
}>;

/** A received message that becomes visible again after a delay. */
export type Released = Readonly<{ receipt: string; afterSeconds: number }>;

type Entry = Readonly<{
  ReceiptHandle?: string;
  VisibilityTimeout?: number;
  Id?: string;
  MessageBody?: string;
  DelaySeconds?: number;
  MessageGroupId?: string;
  MessageDeduplicationId?: string;
  MessageAttributes?: Readonly<Record<string, { StringValue?: string }>>;
}>;
type Input = Entry & Readonly<{ QueueUrl?: string; Entries?: readonly Entry[] }>;

/** Queues that keep messages until a test takes them. */
export function recordingSqs(now: () => number = Date.now) {
  const messages = new Map<string, Sent[]>();
  const released = new Map<string, Released[]>();
  const refused = new Set<string>();
  let calls = 0;
  const keep = (queue: string, entry: Entry): void => {
    const sent: Sent = {
      queue,
      body: entry.MessageBody ?? "",
      delaySeconds: entry.DelaySeconds ?? 0,
      groupId: entry.MessageGroupId,
      deduplicationId: entry.MessageDeduplicationId,
      cause: entry.MessageAttributes?.cause?.StringValue,
      sentMs: now(),
    };
    messages.set(queue, [...(messages.get(queue) ?? []), sent]);
  };
  const send = async (command: { input: Input }): Promise<object> => {
    calls += 1;
    const { QueueUrl = "", Entries, ...entry } = command.input;
    const queue = QueueUrl.slice(QueueUrl.lastIndexOf("/") + 1);
    if (refused.has(queue)) throw Object.assign(new Error("is not authorized"), { name: "AccessDenied" });
    if (command.constructor.name === "GetQueueAttributesCommand") {
      return {
        Attributes: {
          ApproximateNumberOfMessages: String((messages.get(queue) ?? []).length),
          ApproximateNumberOfMessagesNotVisible: "0",
          ApproximateNumberOfMessagesDelayed: "0",
        },
      };
    }
    if (command.constructor.name === "ChangeMessageVisibilityBatchCommand") {
      const entries = (Entries ?? []).map(({ ReceiptHandle = "", VisibilityTimeout = -1 }) => ({
        receipt: ReceiptHandle,
        afterSeconds: VisibilityTimeout,
      }));
      released.set(queue, [...(released.get(queue) ?? []), ...entries]);
      return { Successful: [], Failed: [] };
    }
    for (const each of Entries ?? [entry]) keep(queue, each);
    return { Successful: [], Failed: [] };
  };
  // The client's method has an overload for each command; only these commands are sent.
  const sqs: SqsClient = { send: send as unknown as SQSClient["send"] };
  return {
    sqs,
    calls: () => calls,
    put: (queue: string, body: string): void => keep(queue, { MessageBody: body }),
    /** The messages of a queue. */
    in: (queue: string): readonly Sent[] => messages.get(queue) ?? [],
    /** Removes and returns the messages of a queue, at most `most`. */
    take: (queue: string, most = Number.POSITIVE_INFINITY): readonly Sent[] => {
      const all = messages.get(queue) ?? [];
      messages.set(queue, all.slice(most));
      return all.slice(0, most);
    },
    /** The received messages of a queue that were made visible again. */
    released: (queue: string): readonly Released[] => released.get(queue) ?? [],
    refuse: (...queues: readonly string[]): void => {
      refused.clear();
      for (const queue of queues) refused.add(queue);
    },
  };
}

/** The event that Lambda creates for messages. */
export function eventOf(messages: readonly Pick<Sent, "body" | "groupId" | "sentMs">[]): SQSEvent {
  return { Records: messages.map(recordOf) };
}

function recordOf({ body, groupId, sentMs }: Pick<Sent, "body" | "groupId" | "sentMs">, index: number): SQSRecord {
  return {
    messageId: `message-${index}`,
    receiptHandle: `receipt-${index}`,
    body,
    attributes: {
      ApproximateReceiveCount: "1",
      SentTimestamp: String(sentMs),
      SenderId: "",
      ApproximateFirstReceiveTimestamp: String(sentMs),
      ...(groupId !== undefined && { MessageGroupId: groupId }),
    },
    messageAttributes: {},
    md5OfBody: "",
    eventSource: "aws:sqs",
    eventSourceARN: "arn:aws:sqs:eu-west-1:000000000000:queue",
    awsRegion: "eu-west-1",
  };
}
