import type { Clock } from "@tmc/kube/clock.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { formatKey, type WorkKey } from "../model/key.ts";
import { coalesce, type WorkItem } from "../model/work-item.ts";
import type { DelayHeap } from "./delay-heap.ts";
import type { FairQueue } from "./fair-queue.ts";
import type { QueueEvent } from "./queue-event.ts";
import type { FailureKind } from "./retry-policy.ts";

/** An item that waits for a worker, and since when. */
export type PendingItem = Readonly<{ item: WorkItem; sinceMs: number }>;

/** The state of one key. A key that neither waits, runs nor is delayed has no entry. */
export type QueueEntry = {
  readonly key: WorkKey;
  readonly text: string;
  /** The queue in which the entry waits for a worker. */
  readonly ready: FairQueue<QueueEntry>;
  /** What to run next. While nothing runs, an entry with a pending item is in `ready`. */
  pending: PendingItem | undefined;
  isRunning: boolean;
  /** The earliest delayed item that a sender asked for. It is never canceled: the sender may know more than a run. */
  sentLater: Delayed | undefined;
  /** The retry or requeue that the last run asked for. The next run knows better, so its start cancels this. */
  requeued: Delayed | undefined;
  /** Failures since the last success, by kind. */
  failures: Map<FailureKind, number> | undefined;
};

type Delayed = Readonly<{ atMs: number; cancel: () => void }>;

export type QueueEntriesOptions = Readonly<{
  clock: Pick<Clock, "monotonicMs">;
  delays: DelayHeap;
  maxKeys: number;
  readyQueueOf: (key: WorkKey) => FairQueue<QueueEntry>;
  emit: (event: QueueEvent) => void;
  /** Called after an item was added, so that a free worker takes it. */
  onAdded: () => void;
}>;

/** The keys of an in-memory queue: which wait, which run, which come back later. */
export interface QueueEntries {
  /** Keys with a delayed item. */
  readonly delayed: number;
  /** Keys that failed and have not succeeded since. */
  readonly failing: number;
  oldestAgeSeconds(): number;
  /** Throws "throttled" if these items would exceed the limit of keys. All or nothing. */
  assertCapacity(items: readonly WorkItem[]): void;
  /** The entry of a key, created if necessary. */
  of(key: WorkKey): QueueEntry;
  /** Adds an item, or coalesces it with the pending one. */
  add(entry: QueueEntry, item: WorkItem, sinceMs: number): void;
  /** Adds an item after a delay; an earlier delayed item of the same slot wins. */
  addLater(entry: QueueEntry, slot: "sentLater" | "requeued", delayed: DelayedAdd): void;
  /** Marks the entry as running and returns its item; undefined if it has none. */
  begin(entry: QueueEntry): PendingItem | undefined;
  /** Marks the entry as not running. `returned` is the item of a run that was cut off: it is pending again. */
  end(entry: QueueEntry, returned: PendingItem | undefined): void;
  /** Removes an entry that holds nothing any more. */
  removeIfIdle(entry: QueueEntry): void;
}

export type DelayedAdd = Readonly<{ item: WorkItem; afterSeconds: number }>;

/** Creates an empty table of entries. */
export function createQueueEntries(options: QueueEntriesOptions): QueueEntries {
  const { clock, delays, maxKeys, readyQueueOf, emit, onAdded } = options;
  const entries = new Map<string, QueueEntry>();

  const count = (matches: (entry: QueueEntry) => boolean): number => {
    let matching = 0;
    for (const entry of entries.values()) if (matches(entry)) matching += 1;
    return matching;
  };

  const addToReady = (entry: QueueEntry, { isLowPriority = false }: WorkItem): void =>
    entry.ready.add(entry.key.logicalCluster, entry, { isLowPriority });

  const add = (entry: QueueEntry, item: WorkItem, sinceMs: number): void => {
    const { pending } = entry;
    if (pending === undefined) {
      entry.pending = { item, sinceMs };
      if (!entry.isRunning) addToReady(entry, item);
    } else {
      entry.pending = { item: coalesce(pending.item, item), sinceMs: pending.sinceMs };
      if (pending.item.isLowPriority === true && item.isLowPriority !== true)
        entry.ready.promote(entry.key.logicalCluster, entry);
    }
    emit({ kind: "added", item, coalesced: pending !== undefined });
    onAdded();
  };

  return {
    get delayed() {
      return count(({ sentLater, requeued }) => sentLater !== undefined || requeued !== undefined);
    },
    get failing() {
      return count(({ failures }) => failures !== undefined);
    },
    oldestAgeSeconds: () => {
      let oldestMs = clock.monotonicMs();
      for (const { pending } of entries.values()) oldestMs = Math.min(oldestMs, pending?.sinceMs ?? oldestMs);
      return (clock.monotonicMs() - oldestMs) / 1000;
    },
    assertCapacity: (items) => {
      if (entries.size + items.length <= maxKeys) return;
      const added = new Set(items.map(({ key }) => formatKey(key)).filter((text) => !entries.has(text)));
      if (entries.size + added.size <= maxKeys) return;
      throw new ControllerError("throttled", `queue: full: ${entries.size} keys, cannot add ${added.size}`);
    },
    of: (key) => {
      const text = formatKey(key);
      const known = entries.get(text);
      if (known !== undefined) return known;
      const entry: QueueEntry = {
        key,
        text,
        ready: readyQueueOf(key),
        pending: undefined,
        isRunning: false,
        sentLater: undefined,
        requeued: undefined,
        failures: undefined,
      };
      entries.set(text, entry);
      return entry;
    },
    add,
    addLater: (entry, slot, { item, afterSeconds }) => {
      const atMs = clock.monotonicMs() + afterSeconds * 1000;
      const present = entry[slot];
      if (present !== undefined && present.atMs <= atMs) return;
      present?.cancel();
      const cancel = delays.schedule(atMs, () => {
        entry[slot] = undefined;
        add(entry, item, atMs);
      });
      entry[slot] = { atMs, cancel };
      emit({ kind: "delayed", item, afterSeconds });
    },
    begin: (entry) => {
      const { pending } = entry;
      if (pending === undefined) return undefined;
      entry.requeued?.cancel();
      entry.requeued = undefined;
      entry.pending = undefined;
      entry.isRunning = true;
      return pending;
    },
    end: (entry, returned) => {
      entry.isRunning = false;
      entry.ready.done(entry.key.logicalCluster);
      if (returned !== undefined) entry.pending ??= returned;
      // Behind the keys that were added while it ran: it must not delay its tenant's other keys.
      if (entry.pending !== undefined) addToReady(entry, entry.pending.item);
    },
    removeIfIdle: (entry) => {
      const { pending, isRunning, sentLater, requeued } = entry;
      const isIdle = !isRunning && pending === undefined && sentLater === undefined && requeued === undefined;
      if (isIdle) entries.delete(entry.text);
    },
  };
}
