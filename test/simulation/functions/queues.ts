import type { SendMessageBatchRequestEntry, SQSClient } from "@aws-sdk/client-sqs";
import type { Clock } from "@tmc/kube/clock.ts";
import { maxSqsReceives } from "../../../lib/queue/retry-policy.ts";
import type { QueueUrls, SqsClient } from "../../../lib/queue/sqs-client.ts";
import type { QueueWeather } from "../scenario.ts";
import type { Seeded } from "../seeded.ts";

export const queueNames = ["work.fifo", "delay", "dead-letters.fifo", "heartbeat", "resync"] as const;
export type QueueName = (typeof queueNames)[number];
export const urlOf = (queue: QueueName): string => `https://sqs.eu-west-1.amazonaws.com/000000000000/${queue}`;
export const queueUrls: QueueUrls = {
  work: urlOf("work.fifo"),
  delay: urlOf("delay"),
  deadLetters: urlOf("dead-letters.fifo"),
};

/** A message as a consumer receives it. */
export type Received = Readonly<{
  id: string;
  body: string;
  groupId: string | undefined;
  sentMs: number;
  receives: number;
  receipt: string;
}>;

type Message = {
  readonly id: string;
  readonly body: string;
  readonly groupId: string | undefined;
  readonly cause: string | undefined;
  readonly sentMs: number;
  visibleAtMs: number;
  receives: number;
  /** Of the last receive; undefined before the first one. */
  receipt: string | undefined;
};
type Queue = {
  readonly name: QueueName;
  readonly isFifo: boolean;
  readonly maxReceives: number;
  readonly visibilityMs: number;
  readonly retentionMs: number;
  messages: Message[];
  /** Until when a deduplication id of a group is in use. */
  readonly ids: Map<string, number>;
};

/** Queues with the semantics of SQS that TMC relies on, as the deployment configures them (`infra/constructs`). */
export interface Queues {
  /** A client of one process; `before` runs first and may never resolve, `after` when SQS has acted on the call. */
  client(process: Readonly<{ before: () => Promise<void>; after: () => Promise<void> }>): SqsClient;
  /** Receives messages for an event source, at most `most`. */
  receive(queue: QueueName, most: number): readonly Received[];
  /** Deletes received messages; a receipt of an earlier receive deletes nothing. */
  remove(queue: QueueName, receipts: readonly string[]): void;
  /** The next moment at which a message of a queue becomes visible; undefined if no message waits for one. */
  nextVisibleMs(queue: QueueName): number | undefined;
  /** Called when a message may be received. */
  onMessage(listener: (queue: QueueName) => void): void;
}

export type QueuesOptions = Readonly<{
  clock: Clock;
  dice: Seeded;
  weather: () => QueueWeather;
  /** Called before a message is stored; returns whether it is. */
  onSend(queue: QueueName, body: string): boolean;
  /** Called for every message that is dead-lettered, by a function or by SQS. */
  onDeadLetter(queue: QueueName, body: string, cause: string): void;
}>;

/** SQS remembers deduplication ids for five minutes. */
const deduplicationMs = 300_000;

const specs: Readonly<Record<QueueName, Pick<Queue, "maxReceives" | "visibilityMs" | "retentionMs">>> = {
  "work.fifo": { maxReceives: maxSqsReceives, visibilityMs: 30_000, retentionMs: 345_600_000 },
  delay: { maxReceives: maxSqsReceives, visibilityMs: 30_000, retentionMs: 345_600_000 },
  "dead-letters.fifo": { maxReceives: Infinity, visibilityMs: 30_000, retentionMs: 1_209_600_000 },
  heartbeat: { maxReceives: 2, visibilityMs: 30_000, retentionMs: 180_000 },
  resync: { maxReceives: Infinity, visibilityMs: 310_000, retentionMs: 900_000 },
};

/** Creates empty queues. */
export function createQueues({ clock, dice, weather, onSend, onDeadLetter }: QueuesOptions): Queues {
  const queues = new Map(
    queueNames.map((name): [string, Queue] => [
      urlOf(name),
      { name, isFifo: name.endsWith(".fifo"), ...specs[name], messages: [], ids: new Map() },
    ]),
  );
  let listener = (_: QueueName): void => {};
  let count = 0;
  const queueAt = (url = ""): Queue => {
    const queue = queues.get(url);
    if (queue === undefined) throw awsError("QueueDoesNotExist");
    return queue;
  };

  const accept = (queue: Queue, entry: Partial<SendMessageBatchRequestEntry>): void => {
    const { MessageBody: body = "", MessageGroupId: groupId, DelaySeconds = 0 } = entry;
    if (!onSend(queue.name, body)) return;
    const nowMs = clock.now();
    if (queue.isFifo) {
      const id = `${groupId} ${entry.MessageDeduplicationId}`;
      if ((queue.ids.get(id) ?? 0) > nowMs) return;
      queue.ids.set(id, nowMs + deduplicationMs);
    }
    const cause = entry.MessageAttributes?.cause?.StringValue;
    if (queue.name === "dead-letters.fifo") onDeadLetter("work.fifo", body, cause ?? "unknown cause");
    count += 1;
    const { late, lateMs, double } = weather();
    const message = (): Message => ({
      id: `message-${count}`,
      body,
      groupId,
      cause,
      sentMs: nowMs,
      visibleAtMs: nowMs + DelaySeconds * 1000 + (late > 0 && dice.chance(late) ? dice.next() * lateMs : 0),
      receives: 0,
      receipt: undefined,
    });
    queue.messages.push(message());
    // Only a standard queue delivers a message twice by itself.
    if (!queue.isFifo && double > 0 && dice.chance(double)) queue.messages.push(message());
    listener(queue.name);
  };

  const release = (queue: Queue, receipt: string, afterSeconds: number): void => {
    const message = queue.messages.find((each) => each.receipt === receipt);
    if (message === undefined || message.visibleAtMs <= clock.now()) return;
    message.visibleAtMs = clock.now() + afterSeconds * 1000;
    listener(queue.name);
  };
  const removeFrom = (queue: Queue, receipts: readonly string[]): void => {
    queue.messages = queue.messages.filter(({ receipt }) => receipt === undefined || !receipts.includes(receipt));
    // The next message of its group can be received now.
    listener(queue.name);
  };

  const act = (name: string, input: CallInput): object => {
    const queue = queueAt(input.QueueUrl);
    const entries = input.Entries ?? [input];
    const isRefused = (): boolean => weather().refuse > 0 && dice.chance(weather().refuse);
    switch (name) {
      case "SendMessage":
        if (isRefused()) throw awsError("ThrottlingException");
        accept(queue, input);
        return {};
      case "SendMessageBatch": {
        if (isRefused()) throw awsError("ThrottlingException");
        const failed = entries.filter((entry) => {
          if (isRefused()) return true;
          accept(queue, entry);
          return false;
        });
        return { Failed: failed.map(({ Id }) => ({ Id, Code: "InternalError", SenderFault: false })) };
      }
      case "DeleteMessageBatch":
        removeFrom(
          queue,
          entries.flatMap(({ ReceiptHandle }) => ReceiptHandle ?? []),
        );
        return {};
      case "ChangeMessageVisibilityBatch":
        for (const { ReceiptHandle = "", VisibilityTimeout = 0 } of entries)
          release(queue, ReceiptHandle, VisibilityTimeout);
        return {};
      default:
        throw new Error(`simulation: SQS has no ${name}`);
    }
  };

  return {
    client: ({ before, after }) => {
      const send = async (command: Readonly<{ input: CallInput; constructor: { name: string } }>): Promise<object> => {
        await before();
        const response = act(command.constructor.name.replace(/Command$/, ""), command.input);
        await after();
        // The response is lost although SQS has acted.
        if (weather().lose > 0 && dice.chance(weather().lose / 2)) throw awsError("TimeoutError");
        return response;
      };
      // The client's type has an overload for each command; TMC sends only those above.
      return { send: send as unknown as SQSClient["send"] };
    },
    receive: (name, most) => {
      const queue = queueAt(urlOf(name));
      const nowMs = clock.now();
      queue.messages = queue.messages.filter(({ sentMs }) => nowMs - sentMs < queue.retentionMs);
      const received: Received[] = [];
      /** A message that is in flight, or not visible yet, keeps the rest of its group back. */
      const lockedGroups = new Set(
        queue.messages.flatMap(({ groupId, visibleAtMs }) =>
          queue.isFifo && visibleAtMs > nowMs ? (groupId ?? []) : [],
        ),
      );
      for (const message of queue.isFifo ? [...queue.messages] : dice.shuffled(queue.messages)) {
        if (received.length === most) break;
        if (message.visibleAtMs > nowMs || lockedGroups.has(message.groupId ?? "")) continue;
        message.receives += 1;
        if (message.receives > queue.maxReceives) {
          queue.messages = queue.messages.filter((each) => each !== message);
          onDeadLetter(name, message.body, `${queue.maxReceives} receives without a result`);
          continue;
        }
        message.visibleAtMs = nowMs + queue.visibilityMs;
        count += 1;
        message.receipt = `receipt-${count}`;
        const { id, body, groupId, sentMs, receives, receipt } = message;
        received.push({ id, body, groupId, sentMs, receives, receipt });
      }
      return received;
    },
    remove: (name, receipts) => removeFrom(queueAt(urlOf(name)), receipts),
    nextVisibleMs: (name) => {
      const times = queueAt(urlOf(name)).messages.map(({ visibleAtMs }) => visibleAtMs);
      return times.length === 0 ? undefined : Math.min(...times);
    },
    onMessage: (next) => {
      listener = next;
    },
  };
}

type CallInput = Partial<SendMessageBatchRequestEntry> &
  Readonly<{
    QueueUrl?: string;
    Entries?: readonly CallInput[];
    ReceiptHandle?: string;
    VisibilityTimeout?: number;
  }>;

/** An error as a client of the SDK throws it. */
export function awsError(name: string): Error {
  return Object.assign(new Error(name), { name, $metadata: { httpStatusCode: 400 } });
}
