import type { WorkItem } from "../model/work-item.ts";

/** How a wait is put on the delay queue. */
export type Wait = Readonly<{
  /** What the queue itself holds the message for; 0 sends it straight to the work queue. */
  delaySeconds: number;
  /** What is left after that. */
  restSeconds: number;
  /** The second since the epoch that the wait ends in, where all wishes for that second are one. */
  dueSecond: number | undefined;
}>;

/** The delay queue holds no message longer. */
export const longestDelaySeconds = 900;

/** A retry that is spread over less than this goes at once: the queue knows whole seconds only, and a conflict needs none. */
const shortestRetrySeconds = 0.5;

/** Shorter waits stay as they are: to round them up to a common second would double them. */
const shortestSharedSeconds = 8;

/**
 * Decides how a wait is kept.
 *
 * Never earlier than asked, but for the spread of a retry. Nobody can take back a message that waits, so a key whose every
 * run wants to look again would gather one chain of messages for each change it ever had. Longer waits for a look
 * are therefore rounded up to a second that others hit too (by a sixteenth at most): messages for the same key and second are one wish, and
 * the queue drops the double. That is never wrong: what is dropped had been wished for before the one that runs.
 */
export function planWait({ reason }: Pick<WorkItem, "reason">, afterSeconds: number, nowMs: number): Wait {
  const isOurs = reason === "retry" || reason === "requeue";
  if (afterSeconds <= 0 || (reason === "retry" && afterSeconds < shortestRetrySeconds)) {
    return { delaySeconds: 0, restSeconds: 0, dueSecond: undefined };
  }
  if (!isOurs || afterSeconds < shortestSharedSeconds)
    return { ...inHops(Math.ceil(afterSeconds)), dueSecond: undefined };
  const step = 2 ** Math.max(0, Math.floor(Math.log2(afterSeconds / 16)));
  const dueSecond = Math.ceil((nowMs / 1000 + afterSeconds) / step) * step;
  return { ...inHops(Math.ceil(dueSecond - nowMs / 1000)), dueSecond };
}

/** Cuts a wait into what the delay queue can hold now and the rest. */
export function inHops(seconds: number): Pick<Wait, "delaySeconds" | "restSeconds"> {
  const delaySeconds = Math.min(seconds, longestDelaySeconds);
  return { delaySeconds, restSeconds: seconds - delaySeconds };
}
