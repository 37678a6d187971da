import type { FailureSort } from "./after-failure.ts";
import type { WorkItem } from "./work-queue.ts";

/** How a run ended, seen from the queue: `drop` is a lasting fault, `returned` one that was cut off by the end of the process. */
export const outcomes = ["settled", "check-again", "retry", "drop", "set-aside", "returned"] as const;
export type Outcome = (typeof outcomes)[number];

/** Something that happened in a queue, for metrics and logs. */
export type QueueEvent = Readonly<
  | { kind: "added"; item: WorkItem /** It was waiting already. */; collapsed: boolean }
  | { kind: "delayed"; item: WorkItem; afterSeconds: number }
  | { kind: "started"; item: WorkItem; waitedSeconds: number }
  | { kind: "ended"; item: WorkItem; durationSeconds: number; outcome: "settled" | "check-again" | "returned" }
  | {
      kind: "ended";
      item: WorkItem;
      durationSeconds: number;
      outcome: "retry" | "drop" | "set-aside";
      error: unknown;
      sort: FailureSort;
      /** Failures of this sort since the last success. */
      attempts: number;
      /** When it is tried again, for a retry. */
      afterSeconds: number | undefined;
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
