import { type Clock, systemClock } from "@tmc/kube/clock.ts";
import { formatKey } from "../model/key.ts";
import { assertValidDelay } from "../model/next.ts";
import type { WorkQueue } from "../model/work-item.ts";
import type { QueueEvent } from "./queue-event.ts";
import type { QueueUrls, SqsClient } from "./sqs-client.ts";
import { planWait } from "./sqs-delay.ts";
import { type Outgoing, refuseNotTaken, sendAll } from "./sqs-send.ts";
import {
  collapseMessages,
  type DelayedMessage,
  deduplicationIdOf,
  formatAttempts,
  formatBody,
  groupOf,
  needsNonce,
  type WorkMessage,
} from "./work-message.ts";

export type { QueueUrls, SqsClient } from "./sqs-client.ts";
export type { WorkMessage } from "./work-message.ts";

/** A message as it came, for one that cannot be read. */
export type RawMessage = Readonly<{ body: string; groupId: string }>;

/** A message and how long it is to wait. */
export type Later = Readonly<{ item: WorkMessage; afterSeconds: number }>;

/** A work queue on SQS. Everything it throws may pass; what it answers was taken by SQS. */
export interface SqsQueue extends WorkQueue {
  /** Sends items at once; those for the same key as one. */
  send(items: readonly WorkMessage[]): Promise<void>;
  /** Whole seconds, never early, any length. A retry of less than half a second goes at once. */
  sendLater(item: WorkMessage, afterSeconds: number): Promise<void>;
  /** The same for many, ten to a call. */
  sendEachLater(later: readonly Later[]): Promise<void>;
  /** Gives a message up: it lies with the dead letters, with its cause, until a person sends it again. */
  setAside(message: WorkMessage | RawMessage, cause: string): Promise<void>;
}

export type SqsQueueOptions = Readonly<{
  sqs: SqsClient;
  urls: QueueUrls;
  /** @default the system's */
  clock?: Clock;
  /** From 0 up to 1; makes wishes tell apart. @default Math.random */
  random?: () => number;
  /** Told of everything that was sent, after it was; for metrics and logs. What it throws is nobody's. */
  onEvent?: (event: QueueEvent) => void;
}>;

/** The attribute of a dead letter that says why it is one. */
export const causeAttribute = "cause";

/** Creates the sending half of a work queue on SQS; batch runner and worker are the other. */
export function createSqsQueue(options: SqsQueueOptions): SqsQueue {
  const { sqs, urls, clock = systemClock, random = Math.random, onEvent } = options;
  const nonce = createNonces({ clock, random });
  const tell = (event: QueueEvent): void => {
    try {
      onEvent?.(event);
    } catch {
      // Whoever only listens must not be able to stop the work.
    }
  };

  const deliver = async (url: string, outgoing: readonly Outgoing[]): Promise<void> =>
    refuseNotTaken(await sendAll(sqs, url, outgoing), outgoing.length);

  const send = async (items: readonly WorkMessage[]): Promise<void> => {
    const messages = new Map<string, WorkMessage>();
    for (const item of items) {
      const text = formatKey(item.key);
      const waiting = messages.get(text);
      messages.set(text, waiting === undefined ? item : collapseMessages(waiting, item));
    }
    await deliver(
      urls.work,
      [...messages.values()].map((message) => toWork({ ...message, nonce: needsNonce(message) ? nonce() : undefined })),
    );
    const seen = new Set<string>();
    for (const item of items) {
      tell({ kind: "added", item, collapsed: seen.has(formatKey(item.key)) });
      seen.add(formatKey(item.key));
    }
  };

  const sendEachLater = async (later: readonly Later[]): Promise<void> => {
    for (const { afterSeconds } of later) assertValidDelay(afterSeconds);
    const nowMs = clock.now();
    const planned = later.map((one) => ({ ...one, wait: planWait(one.item, one.afterSeconds, nowMs) }));
    const held = planned.filter(({ wait }) => wait.delaySeconds > 0);
    const atOnce = planned.filter(({ wait }) => wait.delaySeconds === 0);
    await deliver(
      urls.delay,
      held.map(({ item, wait: { delaySeconds, restSeconds, dueSecond } }) => {
        // The letters stand for the attempts: they are in the body, which has to follow from the id.
        const own = dueSecond === undefined ? nonce() : `${dueSecond.toString(36)}.${formatAttempts(item.attempts)}`;
        return toDelay({ ...item, nonce: own, restSeconds }, delaySeconds);
      }),
    );
    for (const { item, afterSeconds } of held) tell({ kind: "delayed", item, afterSeconds });
    if (atOnce.length > 0) await send(atOnce.map(({ item }) => item));
  };

  return {
    send,
    sendLater: (item, afterSeconds) => sendEachLater([{ item, afterSeconds }]),
    sendEachLater,
    setAside: async (message, cause) => {
      const { body, groupId } =
        "body" in message ? message : { body: formatBody(message), groupId: groupOf(message.key) };
      await deliver(urls.deadLetters, [
        {
          MessageBody: body,
          MessageGroupId: groupId,
          MessageDeduplicationId: `${groupId.slice(0, 64)}-${nonce()}`,
          MessageAttributes: { [causeAttribute]: { DataType: "String", StringValue: cause } },
        },
      ]);
    },
  };
}

/** A message for the work queue, in its key's line. */
export function toWork(message: WorkMessage): Outgoing {
  return {
    MessageBody: formatBody(message),
    MessageGroupId: groupOf(message.key),
    MessageDeduplicationId: deduplicationIdOf(message),
  };
}

/** A message for the delay queue. */
export function toDelay({ restSeconds = 0, ...message }: DelayedMessage, delaySeconds: number): Outgoing {
  return {
    MessageBody: formatBody(restSeconds > 0 ? { ...message, restSeconds } : message),
    DelaySeconds: delaySeconds,
  };
}

/**
 * Creates a source of short texts that do not come twice: time, a count, and a number that tells this process from
 * others which began in the same moment.
 */
export function createNonces({ clock, random }: Readonly<{ clock: Clock; random: () => number }>): () => string {
  const own = Math.floor(random() * 36 ** 6).toString(36);
  let count = 0;
  return () => {
    count += 1;
    return [clock.now().toString(36), own, count.toString(36)].join(".");
  };
}
