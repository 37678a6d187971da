import type { WorkItem, WorkQueue } from "../model/work-item.ts";
import type { DelayedItem, SqsQueue } from "./sqs.ts";
import type { TenantRate } from "./tenant-rate-limit.ts";

/** Which keys of a fan-out are sent now and which later. */
export type FanOutPlan = Readonly<{ immediate: readonly WorkItem[]; delayed: readonly DelayedItem[] }>;

/** Spreads a fan-out over time: the burst of each tenant is sent now, the rest at the tenant's rate per second. */
export function planFanOut(items: readonly WorkItem[], { perSecond, burst }: TenantRate): FanOutPlan {
  const sentByTenant = new Map<string, number>();
  const immediate: WorkItem[] = [];
  const delayed: DelayedItem[] = [];
  for (const item of items) {
    const sentBefore = sentByTenant.get(item.key.logicalCluster) ?? 0;
    sentByTenant.set(item.key.logicalCluster, sentBefore + 1);
    if (sentBefore < burst) immediate.push(item);
    else delayed.push({ item, afterSeconds: Math.floor((sentBefore - burst) / perSecond) + 1 });
  }
  return { immediate, delayed };
}

/**
 * Wraps a queue on SQS so that fan-out respects the tenant's rate limit. Otherwise a change of one cluster that affects ten
 * thousand placements would delay the keys of every other tenant. Keys over the limit wait on the delay queue; a new
 * change of one of them does not.
 */
export function rateLimitFanOut(queue: SqsQueue, rate: TenantRate | undefined): WorkQueue {
  if (rate === undefined) return queue;
  return {
    sendLater: queue.sendLater,
    send: async (items) => {
      const isFanOut = ({ reason }: WorkItem): boolean => reason === "fan-out";
      const { immediate, delayed } = planFanOut(items.filter(isFanOut), rate);
      await queue.send([...items.filter((item) => !isFanOut(item)), ...immediate]);
      await queue.sendManyLater(delayed);
    },
  };
}
