import type { BatchRecord } from "../../../lib/queue/batch.ts";
import type { SqsQueue } from "../../../lib/queue/sqs.ts";
import { formatBody, messageGroupOf, type WorkMessage } from "../../../lib/queue/work-message.ts";

let made = 0;

/** Builds a work queue message for a placement: emulators do not deliver several messages of one group. */
export function aRecord(
  name: string,
  { record = {}, ...message }: Partial<WorkMessage> & Readonly<{ record?: Partial<BatchRecord> }> = {},
): BatchRecord {
  const whole: WorkMessage = {
    key: { logicalCluster: "t", kind: "WorkloadPlacement", name },
    reason: "changed",
    ...message,
  };
  made += 1;
  return {
    messageId: `${name}-${made}`,
    body: formatBody(whole),
    groupId: messageGroupOf(whole.key),
    sentMs: 0,
    receives: 1,
    ...record,
  };
}

/** A message that the batch runner has sent. */
export type Sent = Readonly<
  | { to: "later"; item: WorkMessage; afterSeconds: number }
  | { to: "deadLetters"; message: Parameters<SqsQueue["deadLetter"]>[0]; cause: string }
>;

/** A queue that records sent messages, and can reject them. */
export function aSendingQueue(rejects: Readonly<{ later?: boolean; deadLetters?: boolean }> = {}) {
  const sent: Sent[] = [];
  const take = async (refused: boolean | undefined, one: Sent): Promise<void> => {
    if (refused === true) throw new Error("sqs: away");
    sent.push(one);
  };
  const queue: Pick<SqsQueue, "sendLater" | "deadLetter"> = {
    sendLater: (item, afterSeconds) => take(rejects.later, { to: "later", item, afterSeconds }),
    deadLetter: (message, cause) => take(rejects.deadLetters, { to: "deadLetters", message, cause }),
  };
  return { queue, sent };
}
