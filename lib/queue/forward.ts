import { forEachConcurrently } from "../model/concurrency.ts";
import { toDelay, toWork } from "./sqs.ts";
import type { QueueUrls, SqsClient } from "./sqs-client.ts";
import { inHops } from "./sqs-delay.ts";
import { type Outgoing, sendAll } from "./sqs-send.ts";
import { hashOf, parseBody } from "./work-message.ts";

/** A message whose wait on the delay queue is over. */
export type WaitedMessage = Readonly<{ messageId: string; body: string }>;

/** Where it goes now. */
export type Forwarding = Readonly<{ to: "work" | "delay"; outgoing: Outgoing }>;

/** Hands on a batch and answers which messages were not taken and have to come again. */
export type Forwarder = (records: readonly WaitedMessage[]) => Promise<Readonly<{ failed: readonly string[] }>>;

/**
 * Decides where a message goes whose wait is over: to its key's line, or round again with what is left of its wait.
 *
 * Its nonce stays, so that a message which is handed on twice is one. What cannot be read goes to the work queue as it is:
 * those who work there may set it aside, with the reason.
 */
export function decideForward({ messageId, body }: WaitedMessage): Forwarding {
  try {
    const { restSeconds = 0, ...message } = parseBody(body);
    if (restSeconds <= 0) return { to: "work", outgoing: toWork(message) };
    const hop = inHops(Math.ceil(restSeconds));
    return { to: "delay", outgoing: toDelay({ ...message, restSeconds: hop.restSeconds }, hop.delaySeconds) };
  } catch {
    const group = hashOf(body);
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

/** Creates what carries messages from the delay queue to the work queue. */
export function createForwarder({
  sqs,
  urls,
}: Readonly<{ sqs: SqsClient; urls: Pick<QueueUrls, "work" | "delay"> }>): Forwarder {
  return async (records) => {
    const decided = records.map((record) => ({ record, ...decideForward(record) }));
    const failed: string[] = [];
    await forEachConcurrently(["work", "delay"] as const, 2, async (queue) => {
      const those = decided.filter(({ to }) => to === queue);
      const notTaken = await sendAll(
        sqs,
        urls[queue],
        those.map(({ outgoing }) => outgoing),
      );
      for (const { index } of notTaken) failed.push(those[index]?.record.messageId ?? "");
    });
    return { failed };
  };
}
