import { formatKey } from "../model/key.ts";
import { collapse, type WorkItem } from "../model/work-item.ts";

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
  take(most: number, allowed?: (cluster: string) => number): readonly Waiting[];
  /** Lets go of what was sent. What was added while it was on its way is news, and stays. */
  sent(batch: readonly Waiting[]): void;
  drop(cluster: string): void;
  /** The logical clusters that have keys waiting. */
  clusters(): Iterable<string>;
  /** How many keys of a logical cluster wait. */
  sizeOf(cluster: string): number;
  /** Since when the one that waits longest has been waiting, those of some left out; undefined when none does. */
  oldestMs(isLeftOut?: (cluster: string) => boolean): number | undefined;
}

/** Creates lines in which nobody waits. */
export function createOutboxLines(): OutboxLines {
  /** In the order in which their turn comes. */
  const lines = new Map<string, Map<string, Waiting>>();
  let size = 0;

  const lineOf = (cluster: string): Map<string, Waiting> => {
    const line = lines.get(cluster) ?? new Map<string, Waiting>();
    lines.set(cluster, line);
    return line;
  };
  /** Whoever had a turn goes behind those who had none. */
  const sendBack = (cluster: string): void => {
    const line = lines.get(cluster);
    lines.delete(cluster);
    if (line !== undefined && line.size > 0) lines.set(cluster, line);
  };

  return {
    get size() {
      return size;
    },
    add: (item, nowMs) => {
      const line = lineOf(item.key.cluster);
      const text = formatKey(item.key);
      const before = line.get(text);
      if (before === undefined) size += 1;
      line.set(text, {
        item: before === undefined ? item : collapse(before.item, item),
        sinceMs: before?.sinceMs ?? nowMs,
        lastMs: nowMs,
      });
    },
    take: (most, allowed = () => most) => {
      const turns = [
        ...lines
          .entries()
          .map(([cluster, line]) => ({ cluster, line, most: allowed(cluster) }))
          // Whoever may send nothing takes nobody's place.
          .filter((turn) => turn.most > 0)
          .take(most)
          .map((turn) => ({ cluster: turn.cluster, members: turn.line.values().take(turn.most) })),
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
      for (const { cluster } of turns) sendBack(cluster);
      return batch;
    },
    sent: (batch) => {
      for (const one of batch) {
        const { cluster } = one.item.key;
        const text = formatKey(one.item.key);
        const line = lines.get(cluster);
        const now = line?.get(text);
        if (line === undefined || now === undefined) continue;
        if (now === one) {
          line.delete(text);
          size -= 1;
          if (line.size === 0) lines.delete(cluster);
        } else line.set(text, { ...now, sinceMs: now.lastMs });
      }
    },
    drop: (cluster) => {
      size -= lines.get(cluster)?.size ?? 0;
      lines.delete(cluster);
    },
    clusters: () => lines.keys(),
    sizeOf: (cluster) => lines.get(cluster)?.size ?? 0,
    oldestMs: (isLeftOut = () => false) => {
      let oldest: number | undefined;
      for (const [cluster, line] of lines) {
        if (isLeftOut(cluster)) continue;
        for (const { sinceMs } of line.values()) oldest = Math.min(oldest ?? sinceMs, sinceMs);
      }
      return oldest;
    },
  };
}
