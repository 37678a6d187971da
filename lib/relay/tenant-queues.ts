import { formatKey } from "../model/key.ts";
import { coalesce, type WorkItem } from "../model/work-item.ts";

/** A key that waits, and since when: a change while it was on its way out counts from that change on. */
export type Waiting = Readonly<{ item: WorkItem; sinceMs: number; lastMs: number }>;

/** What waits to be sent, a line for each logical cluster; a key waits once. */
export interface OutboxLines {
  readonly size: number;
  add(item: WorkItem, nowMs: number): void;
  /**
   * The next ones, a key of each logical cluster in turn: ten thousand of one delay the first of another by one place.
   *
   * @param allowed how many of a logical cluster may go at most
   */
  take(most: number, allowed?: (logicalCluster: string) => number): readonly Waiting[];
  /** Lets go of what was sent. What was added while it was on its way is news, and stays. */
  sent(batch: readonly Waiting[]): void;
  drop(logicalCluster: string): void;
  /** The logical clusters that have keys waiting. */
  clusters(): Iterable<string>;
  /** How many keys of a logical cluster wait. */
  sizeOf(logicalCluster: string): number;
  /** Since when the one that waits longest has been waiting, those of some left out; undefined when none does. */
  oldestMs(isLeftOut?: (logicalCluster: string) => boolean): number | undefined;
}

/** Creates lines in which nobody waits. */
export function createOutboxLines(): OutboxLines {
  /** In the order in which their turn comes. */
  const lines = new Map<string, Map<string, Waiting>>();
  let size = 0;

  const lineOf = (logicalCluster: string): Map<string, Waiting> => {
    const line = lines.get(logicalCluster) ?? new Map<string, Waiting>();
    lines.set(logicalCluster, line);
    return line;
  };
  /** Whoever had a turn goes behind those who had none. */
  const sendBack = (logicalCluster: string): void => {
    const line = lines.get(logicalCluster);
    lines.delete(logicalCluster);
    if (line !== undefined && line.size > 0) lines.set(logicalCluster, line);
  };

  return {
    get size() {
      return size;
    },
    add: (item, nowMs) => {
      const line = lineOf(item.key.logicalCluster);
      const text = formatKey(item.key);
      const before = line.get(text);
      if (before === undefined) size += 1;
      line.set(text, {
        item: before === undefined ? item : coalesce(before.item, item),
        sinceMs: before?.sinceMs ?? nowMs,
        lastMs: nowMs,
      });
    },
    take: (most, allowed = () => most) => {
      const turns = [
        ...lines
          .entries()
          .map(([logicalCluster, line]) => ({ logicalCluster, line, most: allowed(logicalCluster) }))
          // Whoever may send nothing takes nobody's place.
          .filter((turn) => turn.most > 0)
          .take(most)
          .map((turn) => ({ logicalCluster: turn.logicalCluster, members: turn.line.values().take(turn.most) })),
      ];
      const batch: Waiting[] = [];
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
      for (const { logicalCluster } of turns) sendBack(logicalCluster);
      return batch;
    },
    sent: (batch) => {
      for (const one of batch) {
        const { logicalCluster } = one.item.key;
        const text = formatKey(one.item.key);
        const line = lines.get(logicalCluster);
        const now = line?.get(text);
        if (line === undefined || now === undefined) continue;
        if (now === one) {
          line.delete(text);
          size -= 1;
          if (line.size === 0) lines.delete(logicalCluster);
        } else line.set(text, { ...now, sinceMs: now.lastMs });
      }
    },
    drop: (logicalCluster) => {
      size -= lines.get(logicalCluster)?.size ?? 0;
      lines.delete(logicalCluster);
    },
    clusters: () => lines.keys(),
    sizeOf: (logicalCluster) => lines.get(logicalCluster)?.size ?? 0,
    oldestMs: (isLeftOut = () => false) => {
      let oldest: number | undefined;
      for (const [logicalCluster, line] of lines) {
        if (isLeftOut(logicalCluster)) continue;
        for (const { sinceMs } of line.values()) oldest = Math.min(oldest ?? sinceMs, sinceMs);
      }
      return oldest;
    },
  };
}
