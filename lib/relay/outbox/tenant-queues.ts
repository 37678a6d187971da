import { formatKey } from "../../model/key.ts";
import { coalesce, type WorkItem } from "../../model/work-item.ts";

/** A key that waits, since when, and when it last changed: a key that changes while it is being sent waits since that change. */
export type WaitingKey = Readonly<{ item: WorkItem; sinceMs: number; changedMs: number }>;

/** Keys that wait to be sent, in one queue per logical cluster; each key is in it once. */
export interface TenantQueues {
  readonly size: number;
  add(item: WorkItem, nowMs: number): void;
  /**
   * Returns the next keys without removing them, round-robin over the logical clusters: ten thousand keys of one delay the
   * first key of another by one position.
   *
   * @param allowed how many keys of a logical cluster may be sent
   */
  next(most: number, allowed?: (logicalCluster: string) => number): readonly WaitingKey[];
  /** Removes keys that were sent. A key that was added again in the meantime stays. */
  remove(batch: readonly WaitingKey[]): void;
  drop(logicalCluster: string): void;
  /** The logical clusters that have waiting keys. */
  logicalClusters(): Iterable<string>;
  sizeOf(logicalCluster: string): number;
  /** Since when the oldest key waits; undefined if no key waits. */
  oldestMs(isIgnored?: (logicalCluster: string) => boolean): number | undefined;
}

/** Creates empty queues. */
export function createTenantQueues(): TenantQueues {
  /** In round-robin order: the next logical cluster first. */
  const queues = new Map<string, Map<string, WaitingKey>>();
  let size = 0;

  const queueOf = (logicalCluster: string): Map<string, WaitingKey> => {
    const queue = queues.get(logicalCluster) ?? new Map<string, WaitingKey>();
    queues.set(logicalCluster, queue);
    return queue;
  };
  const moveToEnd = (logicalCluster: string): void => {
    const queue = queues.get(logicalCluster);
    queues.delete(logicalCluster);
    if (queue !== undefined && queue.size > 0) queues.set(logicalCluster, queue);
  };

  return {
    get size() {
      return size;
    },
    add: (item, nowMs) => {
      const queue = queueOf(item.key.logicalCluster);
      const text = formatKey(item.key);
      const before = queue.get(text);
      if (before === undefined) size += 1;
      queue.set(text, {
        item: before === undefined ? item : coalesce(before.item, item),
        sinceMs: before?.sinceMs ?? nowMs,
        changedMs: nowMs,
      });
    },
    next: (most, allowed = () => most) => {
      const turns = [
        ...queues
          .entries()
          .map(([logicalCluster, queue]) => ({ logicalCluster, queue, most: allowed(logicalCluster) }))
          // Before `take`: a logical cluster over its limit must not use up a turn.
          .filter((turn) => turn.most > 0)
          .take(most)
          .map((turn) => ({ logicalCluster: turn.logicalCluster, members: turn.queue.values().take(turn.most) })),
      ];
      const batch: WaitingKey[] = [];
      let waiting = turns;
      while (waiting.length > 0 && batch.length < most) {
        waiting = waiting.filter(({ members }) => {
          if (batch.length >= most) return false;
          const { value, done } = members.next();
          if (done === true) return false;
          batch.push(value);
          return true;
        });
      }
      for (const { logicalCluster } of turns) moveToEnd(logicalCluster);
      return batch;
    },
    remove: (batch) => {
      for (const one of batch) {
        const { logicalCluster } = one.item.key;
        const text = formatKey(one.item.key);
        const queue = queues.get(logicalCluster);
        const now = queue?.get(text);
        if (queue === undefined || now === undefined) continue;
        if (now === one) {
          queue.delete(text);
          size -= 1;
          if (queue.size === 0) queues.delete(logicalCluster);
        } else queue.set(text, { ...now, sinceMs: now.changedMs });
      }
    },
    drop: (logicalCluster) => {
      size -= queues.get(logicalCluster)?.size ?? 0;
      queues.delete(logicalCluster);
    },
    logicalClusters: () => queues.keys(),
    sizeOf: (logicalCluster) => queues.get(logicalCluster)?.size ?? 0,
    oldestMs: (isIgnored = () => false) => {
      let oldest: number | undefined;
      for (const [logicalCluster, queue] of queues) {
        if (isIgnored(logicalCluster)) continue;
        for (const { sinceMs } of queue.values()) oldest = Math.min(oldest ?? sinceMs, sinceMs);
      }
      return oldest;
    },
  };
}
