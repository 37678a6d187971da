import { faultOf, oneLine } from "@tmc/kube/errors.ts";
import { redactText } from "../model/redact.ts";

/** What becomes of a key whose work was thrown out of: come back, look no more until it changes, or wait for a person. */
export type AfterFailure = Readonly<
  { kind: "retry"; afterSeconds: number } | { kind: "dead-letter" } | { kind: "drop" }
>;

/** The sorts of failure that are counted each by itself. */
export type FailureSort =
  /** Decided on a stale read; a fresh read is all it takes. */
  | "conflict"
  /** Throttled or unreachable: passes by itself, nobody knows when. */
  | "trouble"
  /** Lasts until something else changes; that change brings the key back. */
  | "lasting"
  /** A bug, or something nobody thought of. */
  | "unforeseen";

/** The longest wait before each attempt; from the last one on it stays. */
const backoffSeconds: readonly number[] = [1, 2, 4, 8, 16, 30];

/**
 * A conflict is tried again at once. The second and third time a moment is left to the watch that feeds the cache, or
 * the stale read would only be repeated.
 */
const conflictSeconds: readonly number[] = [0, 0.02, 0.1];

/** How often a key is worked on for something unforeseen before it is set aside: the receives of the cloud queue. */
export const mostUnforeseen = 5;

/** A server that asks for more than this is asked again sooner: its word must not park a key for a day. */
const longestRetryAfterSeconds = 300;

/** Looking for secrets takes time that grows with the text; nobody reads more than this of it. */
const longestCause = 4_000;

/** Says which sort of failure an error is; of several at once, the one that needs the most care. */
export function sortOfFailure(error: unknown): FailureSort {
  if (error instanceof AggregateError && error.errors.length > 0) {
    const sorts = error.errors.map(sortOfFailure);
    const careful: readonly FailureSort[] = ["unforeseen", "trouble", "conflict"];
    return careful.find((sort) => sorts.includes(sort)) ?? "lasting";
  }
  switch (faultOf(error)) {
    case "conflict":
      return "conflict";
    case "throttled":
    case "unreachable":
      return "trouble";
    case undefined:
      return "unforeseen";
    default:
      return "lasting";
  }
}

/**
 * Decides what becomes of a key after its work threw.
 *
 * `attempts` counts the failures of this sort since the last success, this one included. `jitter`, from 0 up to 1, spreads
 * the waits over their whole length, so that what failed together does not come back together. Faults that may pass are
 * retried for ever; a lasting one was written into the object's status before it was thrown, so the key is done until
 * something changes.
 */
export function afterFailure(error: unknown, attempts: number, jitter: number): AfterFailure {
  switch (sortOfFailure(error)) {
    case "lasting":
      return { kind: "drop" };
    case "unforeseen":
      return attempts >= mostUnforeseen ? { kind: "dead-letter" } : retry(backoff(attempts) * jitter);
    case "conflict": {
      const soon = conflictSeconds[attempts - 1];
      return retry((soon ?? backoff(attempts - conflictSeconds.length)) * jitter);
    }
    case "trouble": {
      const asked = retryAfterOf(error);
      // Not before the time that was asked for, and not all at that time.
      return retry(asked === undefined ? backoff(attempts) * jitter : asked + jitter);
    }
  }
}

/** An error and what caused it in one line that can be kept and shown: bounded, no secret. */
export function readableCause(error: unknown): string {
  const words: string[] = [];
  for (const part of chainOf(error)) {
    const said = part instanceof Error ? part.message || part.name : String(part);
    const named = part instanceof Error && part.name !== "Error" && part.name !== "ControllerError";
    // A wrapper often repeats the words of its cause.
    if (words.some((earlier) => earlier.includes(said))) continue;
    words.push(named && said !== part.name ? `${part.name}: ${said}` : said);
  }
  return oneLine(redactText(words.join(": ").slice(0, longestCause))) || "unknown failure";
}

function retry(afterSeconds: number): AfterFailure {
  return { kind: "retry", afterSeconds };
}

function backoff(attempts: number): number {
  return backoffSeconds[Math.max(0, attempts - 1)] ?? Math.max(...backoffSeconds);
}

/** The longest wait that any server in the chain of causes asked for. */
function retryAfterOf(error: unknown): number | undefined {
  let longest: number | undefined;
  for (const part of chainOf(error)) {
    if (typeof part !== "object" || part === null || !("retryAfterSeconds" in part)) continue;
    const { retryAfterSeconds } = part;
    if (typeof retryAfterSeconds !== "number" || !(retryAfterSeconds >= 0)) continue;
    longest = Math.max(longest ?? 0, Math.min(retryAfterSeconds, longestRetryAfterSeconds));
  }
  return longest;
}

/** An error, its causes and the errors it gathers, nearest first; bounded, for a chain can be a circle. */
function* chainOf(error: unknown, depth = 0): Generator<unknown> {
  if (depth >= 8 || error === undefined || error === null) return;
  yield error;
  if (error instanceof AggregateError) {
    for (const part of error.errors.slice(0, 8)) yield* chainOf(part, depth + 1);
  }
  if (error instanceof Error) yield* chainOf(error.cause, depth + 1);
}
