import type { WorkItem } from "../model/work-item.ts";
import type { FailureKind } from "./retry-policy.ts";

/**
 * How a reconcile ended, as the queue sees it. `drop`: permanent fault. `returned`: cut off, or its next message could not be
 * sent; the item is delivered again.
 */
export const reconcileOutcomes = ["done", "requeue", "retry", "drop", "dead-letter", "returned"] as const;
export type ReconcileOutcome = (typeof reconcileOutcomes)[number];

/** An event of a work queue, for metrics and logs. */
export type QueueEvent = Readonly<
  | { kind: "added"; item: WorkItem /** The key was waiting already. */; coalesced: boolean }
  | { kind: "delayed"; item: WorkItem; afterSeconds: number }
  | {
      kind: "started";
      item: WorkItem;
      /** Since the oldest of the coalesced items was sent. */
      waitedSeconds: number;
      /** Messages that were coalesced into this run, on SQS. */
      messages?: number;
      /** The highest receive count of these messages, this delivery included. Above 1, an earlier delivery was not acknowledged. */
      receives?: number;
    }
  | {
      kind: "ended";
      item: WorkItem;
      durationSeconds: number;
      outcome: "done" | "requeue" | "returned";
      /** Why the item was returned; unset if its time was over. */
      error?: unknown;
    }
  | {
      kind: "ended";
      item: WorkItem;
      durationSeconds: number;
      outcome: "retry" | "drop" | "dead-letter";
      error: unknown;
      failureKind: FailureKind;
      /** Failures of this kind since the last success. */
      attempts: number;
      /** Delay before the next attempt; only for a retry. */
      afterSeconds: number | undefined;
    }
  | {
      /** A message that cannot be parsed; it was dead-lettered unchanged. */
      kind: "unreadable";
      messageId: string;
      cause: string;
      receives: number;
      /** Why it could not be dead-lettered; it is delivered again. */
      error?: unknown;
    }
>;

/** A key that is not retried until it changes or is redriven. */
export type DeadLettered = Readonly<{
  item: WorkItem;
  /** The error and its causes, in one line. */
  cause: string;
  attempts: number;
  atMs: number;
}>;

/** Wraps a listener so that an error in it cannot stop the queue. */
export function ignoreListenerErrors(listener: ((event: QueueEvent) => void) | undefined): (event: QueueEvent) => void {
  return (event) => {
    try {
      listener?.(event);
    } catch {
      // Metrics and logs must not affect the work.
    }
  };
}
