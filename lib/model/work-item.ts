import type { WorkKey } from "./key.ts";
import type { Next } from "./next.ts";

/** Why a key is sent; for logs and metrics, and for the cloud queue's deduplication. Never an action. */
export const reasons = ["changed", "fan-out", "resync", "requeue", "retry", "on-demand", "heartbeat"] as const;
export type Reason = (typeof reasons)[number];

/** A message: a key, never an object. */
export type WorkItem<Key extends WorkKey = WorkKey> = Readonly<{
  key: Key;
  reason: Reason;
  /** Of the change that woke it, where one did. */
  resourceVersion?: string | undefined;
  /** Nothing has happened that anybody knows of: in this process others of the same tenant may go first. @default false */
  isLowPriority?: boolean | undefined;
}>;

/**
 * What client-go's work queue promises: one in flight per key; adds while waiting collapse into one; an add while running
 * runs again after; a retry backs off per key and never holds back a fresh change of that key.
 */
export interface WorkQueue {
  send(items: readonly WorkItem[]): Promise<void>;
  /** At the earliest after that time. An earlier wish for the same key wins over a later one. */
  sendLater(item: WorkItem, afterSeconds: number): Promise<void>;
}

/** Works on one key. Faults that may pass are thrown and retried; anything else thrown is retried and at last set aside. */
export type Work<Key extends WorkKey = WorkKey> = (item: WorkItem<Key>, signal: AbortSignal) => Promise<Next>;

/**
 * Makes one of two wishes for the same key, the later one given last.
 *
 * The newest reason, unless the one that waits asks for more. No version is lost: a reader may want to know how fresh it
 * has to be.
 */
export function coalesce(waiting: WorkItem, fresh: WorkItem): WorkItem {
  const reason = weightOf(fresh) < weightOf(waiting) ? waiting.reason : fresh.reason;
  const isLowPriority = waiting.isLowPriority === true && fresh.isLowPriority === true;
  return {
    key: fresh.key,
    reason,
    resourceVersion: fresh.resourceVersion ?? waiting.resourceVersion,
    ...(isLowPriority ? { isLowPriority } : {}),
  };
}

/** Two reasons have a cluster looked at where the others would only pass by; a wish for that must not get lost. */
function weightOf({ reason }: WorkItem): number {
  return reason === "on-demand" ? 2 : reason === "heartbeat" ? 1 : 0;
}
