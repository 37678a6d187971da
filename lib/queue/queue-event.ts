import type { WorkItem } from "../model/work-item.ts";
import type { FailureSort } from "./retry-policy.ts";

/**
 * How a run ended, seen from the queue: `drop` is a lasting fault, `returned` one that was cut off or whose next message
 * could not be sent; it is handed out again.
 */
export const outcomes = ["done", "requeue", "retry", "drop", "dead-letter", "returned"] as const;
export type Outcome = (typeof outcomes)[number];

/** Something that happened in a queue, for metrics and logs. */
export type QueueEvent = Readonly<
  | { kind: "added"; item: WorkItem /** It was waiting already. */; collapsed: boolean }
  | { kind: "delayed"; item: WorkItem; afterSeconds: number }
  | {
      kind: "started";
      item: WorkItem;
      /** From the sending of the oldest wish that is now worked on. */
      waitedSeconds: number;
      /** How many messages collapsed into this run, where a queue hands out messages. */
      messages?: number;
      /** How often the one that was handed out most had been, this time included; above 1, an earlier try never answered. */
      receives?: number;
    }
  | {
      kind: "ended";
      item: WorkItem;
      durationSeconds: number;
      outcome: "done" | "requeue" | "returned";
      /** Why it was returned, where that was not the end of the time. */
      error?: unknown;
    }
  | {
      kind: "ended";
      item: WorkItem;
      durationSeconds: number;
      outcome: "retry" | "drop" | "dead-letter";
      error: unknown;
      sort: FailureSort;
      /** Failures of this sort since the last success. */
      attempts: number;
      /** When it is tried again, for a retry. */
      afterSeconds: number | undefined;
    }
  | {
      /** A message that nobody can read; it was set aside as it is. */
      kind: "unreadable";
      messageId: string;
      cause: string;
      receives: number;
      /** Why it could not be set aside, and comes again. */
      error?: unknown;
    }
>;

/** A key that was given up until it changes or is sent again. */
export type SetAside = Readonly<{
  item: WorkItem;
  /** The error and its causes, in one line. */
  cause: string;
  attempts: number;
  atMs: number;
}>;
