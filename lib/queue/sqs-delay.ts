import type { WorkItem } from "../model/work-item.ts";

/** How SQS delivers a delay. */
export type DelayPlan = Readonly<{
  /** Delay of the message on the delay queue; 0 to send it to the work queue directly. */
  delaySeconds: number;
  /** The rest of the delay after that. */
  remainingSeconds: number;
  /** Unix time, in seconds, at which the delay ends, if messages of the same key and second are deduplicated. */
  dueSecond: number | undefined;
}>;

/** The longest delay that SQS supports. */
export const maxSqsDelaySeconds = 900;

/** A retry with a shorter delay is sent now: SQS delays by whole seconds, and a conflict needs less. */
const minDelayedRetrySeconds = 0.5;

/** Shorter delays are not aligned: rounding them up could double them. */
const minAlignedSeconds = 8;

/**
 * Plans a delay. It never ends early, except for short retries.
 *
 * A delayed message cannot be canceled. A key that requeues itself after every reconcile would therefore collect one chain of
 * messages per change it ever had. Longer delays of retries and requeues are rounded up, by a sixteenth at most, to a second
 * that other messages of the key end at too. SQS deduplicates messages of the same key and second. This is safe: the dropped
 * message was sent before the reconcile of the kept one starts.
 */
export function planDelay({ reason }: Pick<WorkItem, "reason">, afterSeconds: number, nowMs: number): DelayPlan {
  const isFromReconcile = reason === "retry" || reason === "requeue";
  if (afterSeconds <= 0 || (reason === "retry" && afterSeconds < minDelayedRetrySeconds)) {
    return { delaySeconds: 0, remainingSeconds: 0, dueSecond: undefined };
  }
  if (!isFromReconcile || afterSeconds < minAlignedSeconds)
    return { ...splitDelay(Math.ceil(afterSeconds)), dueSecond: undefined };
  const step = 2 ** Math.max(0, Math.floor(Math.log2(afterSeconds / 16)));
  const dueSecond = Math.ceil((nowMs / 1000 + afterSeconds) / step) * step;
  return { ...splitDelay(Math.ceil(dueSecond - nowMs / 1000)), dueSecond };
}

/** Splits a delay into the part that SQS can hold now and the rest. */
export function splitDelay(seconds: number): Pick<DelayPlan, "delaySeconds" | "remainingSeconds"> {
  const delaySeconds = Math.min(seconds, maxSqsDelaySeconds);
  return { delaySeconds, remainingSeconds: seconds - delaySeconds };
}
