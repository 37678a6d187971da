import { forEachConcurrently } from "../model/concurrency.ts";
import { delayQueueMessage, workQueueMessage } from "./sqs.ts";
import type { QueueUrls, SqsClient } from "./sqs-client.ts";
import { splitDelay } from "./sqs-delay.ts";
import { type OutgoingMessage, sendMessages } from "./sqs-send.ts";
import { parseBody, sha256Base64Url } from "./work-message.ts";

/** A message of the delay queue whose delay has expired. */
export type DueMessage = Readonly<{ messageId: string; body: string }>;

export type ForwardDecision = Readonly<{ to: "work" | "delay"; outgoing: OutgoingMessage }>;

/** Forwards a batch and returns the ids of messages that could not be sent and must be delivered again. */
export type Forwarder = (records: readonly DueMessage[]) => Promise<Readonly<{ failed: readonly string[] }>>;

/**
 * Decides where a due message goes: to the work queue, or to the delay queue again with its remaining delay.
 *
 * The nonce stays the same, so that SQS deduplicates a message that is forwarded twice. An unreadable message goes to the work
 * queue unchanged: the batch runner may dead-letter it there, with the reason.
 */
export function decideForward({ messageId, body }: DueMessage): ForwardDecision {
  try {
    const { remainingSeconds = 0, ...message } = parseBody(body);
    if (remainingSeconds <= 0) return { to: "work", outgoing: workQueueMessage(message) };
    const hop = splitDelay(Math.ceil(remainingSeconds));
    return {
      to: "delay",
      outgoing: delayQueueMessage({ ...message, remainingSeconds: hop.remainingSeconds }, hop.delaySeconds),
    };
  } catch {
    const group = sha256Base64Url(body);
    return {
      to: "work",
      outgoing: {
        MessageBody: body,
        MessageGroupId: group,
        MessageDeduplicationId: `${group}-${messageId}`.slice(0, 128),
      },
    };
  }
}

/** Creates the forwarder from the delay queue to the work queue. */
export function createForwarder({
  sqs,
  urls,
}: Readonly<{ sqs: SqsClient; urls: Pick<QueueUrls, "work" | "delay"> }>): Forwarder {
  return async (records) => {
    const decisions = records.map((record) => ({ record, ...decideForward(record) }));
    const failed: string[] = [];
    await forEachConcurrently(["work", "delay"] as const, 2, async (queue) => {
      const own = decisions.filter(({ to }) => to === queue);
      const rejected = await sendMessages(
        sqs,
        urls[queue],
        own.map(({ outgoing }) => outgoing),
      );
      for (const { index } of rejected) failed.push(own[index]?.record.messageId ?? "");
    });
    return { failed };
  };
}
