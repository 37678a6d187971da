import type { WorkKey } from "./key.ts";

/** Why a key was enqueued; for logs, metrics and the deduplication of the SQS queue. Never an action. */
export const workReasons = ["changed", "fan-out", "resync", "requeue", "retry", "on-demand", "heartbeat"] as const;
export type WorkReason = (typeof workReasons)[number];

/** A queue message. It carries a key, never an object. */
export type WorkItem<Key extends WorkKey = WorkKey> = Readonly<{
  key: Key;
  reason: WorkReason;
  /** The version of the change that enqueued the key, if there was one. */
  resourceVersion?: string | undefined;
  /** No change is known, so the in-process queue takes other items of the same tenant first. @default false */
  isLowPriority?: boolean | undefined;
}>;

/**
 * A work queue with the guarantees of client-go's: one reconcile per key at a time; adds of a waiting key are coalesced;
 * an add during a reconcile runs again afterwards; retries back off per key and never delay a new change of that key.
 */
export interface WorkQueue {
  send(items: readonly WorkItem[]): Promise<void>;
  /** Enqueues after at least this time. If the same key is delayed already, the earlier time counts. */
  sendLater(item: WorkItem, afterSeconds: number): Promise<void>;
}

/** Reconciles one key. Thrown transient faults are retried; other errors are retried and finally dead-lettered. */
export type Work<Key extends WorkKey = WorkKey> = (item: WorkItem<Key>, signal: AbortSignal) => Promise<Next>;

/**
 * Merges two items of the same key. The newer reason wins unless the waiting one has a higher priority. The newest known
 * version is kept, because a reader may need to know how fresh its read must be.
 */
export function coalesce(waiting: WorkItem, fresh: WorkItem): WorkItem {
  const reason = priorityOf(fresh) < priorityOf(waiting) ? waiting.reason : fresh.reason;
  const isLowPriority = waiting.isLowPriority === true && fresh.isLowPriority === true;
  return {
    key: fresh.key,
    reason,
    resourceVersion: fresh.resourceVersion ?? waiting.resourceVersion,
    ...(isLowPriority ? { isLowPriority } : {}),
  };
}

/** "on-demand" and "heartbeat" request a probe, which the other reasons do not, so coalescing must not lose them. */
function priorityOf({ reason }: WorkItem): number {
  return reason === "on-demand" ? 2 : reason === "heartbeat" ? 1 : 0;
}

/** The result of a reconcile: whether and when to reconcile the key again. */
export type Next = Readonly<{ kind: "done" } | { kind: "requeue"; afterSeconds: number }>;

/** No requeue: the next change enqueues the key. */
export const done: Next = { kind: "done" };

/** Requeue after a time, for conditions that cause no watch event. */
export function requeueAfter(afterSeconds: number): Next {
  return { kind: "requeue", afterSeconds };
}

/** The result with the earlier requeue. */
export function earliestNext(one: Next, other: Next): Next {
  if (one.kind === "done") return other;
  if (other.kind === "done") return one;
  return one.afterSeconds <= other.afterSeconds ? one : other;
}

/** Rejects NaN and Infinity: such a delay would be zero or endless. */
export function assertValidDelay(seconds: number): void {
  if (!Number.isFinite(seconds)) throw new RangeError(`queue: invalid delay of ${seconds} seconds`);
}
