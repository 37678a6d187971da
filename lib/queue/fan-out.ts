import type { WorkItem, WorkQueue } from "../model/work-item.ts";
import type { Later, SqsQueue } from "./sqs.ts";
import type { TenantRate } from "./tenant-rate-limit.ts";

/** When each of some keys goes. */
export type Spread = Readonly<{ atOnce: readonly WorkItem[]; later: readonly Later[] }>;

/** Decides when keys go that were sent together: of each tenant its burst at once, what is beyond it second by second. */
export function spreadOut(items: readonly WorkItem[], { perSecond, burst }: TenantRate): Spread {
  const seen = new Map<string, number>();
  const atOnce: WorkItem[] = [];
  const later: Later[] = [];
  for (const item of items) {
    const before = seen.get(item.key.logicalCluster) ?? 0;
    seen.set(item.key.logicalCluster, before + 1);
    if (before < burst) atOnce.push(item);
    else later.push({ item, afterSeconds: Math.floor((before - burst) / perSecond) + 1 });
  }
  return { atOnce, later };
}

/**
 * A queue on SQS whose fan-out keeps to a tenant's share: a change of a cluster that ten thousand placements are told of would
 * otherwise stand before everybody else's keys. The rest waits on the delay queue; a fresh change of one of them does not.
 */
export function spreadFanOut(queue: SqsQueue, rate: TenantRate | undefined): WorkQueue {
  if (rate === undefined) return queue;
  return {
    sendLater: queue.sendLater,
    send: async (items) => {
      const isFanOut = ({ reason }: WorkItem): boolean => reason === "fan-out";
      const { atOnce, later } = spreadOut(items.filter(isFanOut), rate);
      await queue.send([...items.filter((item) => !isFanOut(item)), ...atOnce]);
      await queue.sendEachLater(later);
    },
  };
}
