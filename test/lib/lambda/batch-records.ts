import type { BatchRecord } from "../../../lib/queue/batch.ts";
import type { SqsQueue } from "../../../lib/queue/sqs.ts";
import { formatBody, groupOf, type WorkMessage } from "../../../lib/queue/work-message.ts";

let made = 0;

/** A message of the work queue for a placement, by hand: emulators do not hand out several of a line. */
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
    groupId: groupOf(whole.key),
    sentMs: 0,
    receives: 1,
    ...record,
  };
}

/** What was sent by whoever works on a batch. */
export type Sent = Readonly<
  | { to: "later"; item: WorkMessage; afterSeconds: number }
  | { to: "aside"; message: Parameters<SqsQueue["setAside"]>[0]; cause: string }
>;

/** A queue that keeps what is sent, and can refuse it. */
export function aSendingQueue(refuses: Readonly<{ later?: boolean; aside?: boolean }> = {}) {
  const sent: Sent[] = [];
  const take = async (refused: boolean | undefined, one: Sent): Promise<void> => {
    if (refused === true) throw new Error("sqs: away");
    sent.push(one);
  };
  const queue: Pick<SqsQueue, "sendLater" | "setAside"> = {
    sendLater: (item, afterSeconds) => take(refuses.later, { to: "later", item, afterSeconds }),
    setAside: (message, cause) => take(refuses.aside, { to: "aside", message, cause }),
  };
  return { queue, sent };
}
