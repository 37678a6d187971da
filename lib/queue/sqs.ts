import { type Clock, systemClock } from "@tmc/kube/clock.ts";
import { formatKey } from "../model/key.ts";
import type { WorkQueue } from "../model/work-item.ts";
import { assertValidDelay } from "../model/work-item.ts";
import { ignoreListenerErrors, type QueueEvent } from "./queue-event.ts";
import type { QueueUrls, SqsClient } from "./sqs-client.ts";
import { planDelay } from "./sqs-delay.ts";
import { type OutgoingMessage, sendMessages, throwIfRejected } from "./sqs-send.ts";
import {
  coalesceMessages,
  type DelayedMessage,
  deduplicationIdOf,
  formatAttempts,
  formatBody,
  messageGroupOf,
  needsNonce,
  type WorkMessage,
} from "./work-message.ts";

export type { QueueUrls, SqsClient } from "./sqs-client.ts";
export type { WorkMessage } from "./work-message.ts";

/** A message as it was received, for messages that cannot be parsed. */
export type RawMessage = Readonly<{ body: string; groupId: string }>;

export type DelayedItem = Readonly<{ item: WorkMessage; afterSeconds: number }>;

/** A work queue on SQS. A call that resolves was accepted by SQS; every error it throws is transient. */
export interface SqsQueue extends WorkQueue {
  /** Sends items now; items of the same key are coalesced. */
  send(items: readonly WorkMessage[]): Promise<void>;
  /** Sends an item after a delay of any length, in whole seconds, never early. A retry of less than half a second is sent now. */
  sendLater(item: WorkMessage, afterSeconds: number): Promise<void>;
  /** Sends many delayed items, ten per call. */
  sendManyLater(items: readonly DelayedItem[]): Promise<void>;
  /** Sends a message to the dead-letter queue, with its cause. It stays there until an operator redrives it. */
  deadLetter(message: WorkMessage | RawMessage, cause: string): Promise<void>;
}

export type SqsQueueOptions = Readonly<{
  sqs: SqsClient;
  urls: QueueUrls;
  /** @default the system clock */
  clock?: Clock;
  /** From 0 up to 1; makes nonces unique. @default Math.random */
  random?: () => number;
  /** Calls with ten messages each that are sent at a time. @default 4 */
  maxConcurrentCalls?: number;
  /** Called after every send, for metrics and logs. Errors it throws are ignored. */
  onEvent?: (event: QueueEvent) => void;
}>;

/** Message attribute of a dead letter with the error that caused it. */
export const causeAttribute = "cause";

/** Creates the sending side of a work queue on SQS; the batch runner and the worker are the receiving side. */
export function createSqsQueue(options: SqsQueueOptions): SqsQueue {
  const { sqs, urls, clock = systemClock, random = Math.random } = options;
  const nonce = createNonceSource({ clock, random });
  const emit = ignoreListenerErrors(options.onEvent);

  const deliver = async (url: string, outgoing: readonly OutgoingMessage[]): Promise<void> =>
    throwIfRejected(await sendMessages(sqs, url, outgoing, options.maxConcurrentCalls), outgoing.length);

  const send = async (items: readonly WorkMessage[]): Promise<void> => {
    const messages = new Map<string, WorkMessage>();
    for (const item of items) {
      const text = formatKey(item.key);
      const waiting = messages.get(text);
      messages.set(text, waiting === undefined ? item : coalesceMessages(waiting, item));
    }
    await deliver(
      urls.work,
      [...messages.values()].map((message) =>
        workQueueMessage({ ...message, nonce: needsNonce(message) ? nonce() : undefined }),
      ),
    );
    const seen = new Set<string>();
    for (const item of items) {
      emit({ kind: "added", item, coalesced: seen.has(formatKey(item.key)) });
      seen.add(formatKey(item.key));
    }
  };

  const sendManyLater = async (items: readonly DelayedItem[]): Promise<void> => {
    for (const { afterSeconds } of items) assertValidDelay(afterSeconds);
    const nowMs = clock.now();
    const planned = items.map((delayedItem) => ({
      ...delayedItem,
      plan: planDelay(delayedItem.item, delayedItem.afterSeconds, nowMs),
    }));
    const delayed = planned.filter(({ plan }) => plan.delaySeconds > 0);
    const immediate = planned.filter(({ plan }) => plan.delaySeconds === 0);
    await deliver(
      urls.delay,
      delayed.map(({ item, plan: { delaySeconds, remainingSeconds, dueSecond } }) => {
        // Equal ids must have equal bodies, and the attempts are part of the body.
        const nonceText =
          dueSecond === undefined ? nonce() : `${dueSecond.toString(36)}.${formatAttempts(item.attempts)}`;
        return delayQueueMessage({ ...item, nonce: nonceText, remainingSeconds }, delaySeconds);
      }),
    );
    for (const { item, afterSeconds } of delayed) emit({ kind: "delayed", item, afterSeconds });
    if (immediate.length > 0) await send(immediate.map(({ item }) => item));
  };

  return {
    send,
    sendLater: (item, afterSeconds) => sendManyLater([{ item, afterSeconds }]),
    sendManyLater,
    deadLetter: async (message, cause) => {
      const { body, groupId } =
        "body" in message ? message : { body: formatBody(message), groupId: messageGroupOf(message.key) };
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

/** A message for the work queue, in the message group of its key. */
export function workQueueMessage(message: WorkMessage): OutgoingMessage {
  return {
    MessageBody: formatBody(message),
    MessageGroupId: messageGroupOf(message.key),
    MessageDeduplicationId: deduplicationIdOf(message),
  };
}

export function delayQueueMessage(
  { remainingSeconds = 0, ...message }: DelayedMessage,
  delaySeconds: number,
): OutgoingMessage {
  return {
    MessageBody: formatBody(remainingSeconds > 0 ? { ...message, remainingSeconds } : message),
    DelaySeconds: delaySeconds,
  };
}

/**
 * Creates a source of unique short texts: the time, a counter, and a random number that distinguishes processes that
 * started in the same millisecond.
 */
export function createNonceSource({ clock, random }: Readonly<{ clock: Clock; random: () => number }>): () => string {
  const processId = Math.floor(random() * 36 ** 6).toString(36);
  let count = 0;
  return () => {
    count += 1;
    return [clock.now().toString(36), processId, count.toString(36)].join(".");
  };
}
