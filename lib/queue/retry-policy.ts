import { faultOf, oneLine } from "@tmc/kube/errors.ts";
import { redactText } from "../model/redact.ts";

/** What happens to a key after a failed reconcile. `drop`: not until it changes. `dead-letter`: not until it changes or an operator redrives it. */
export type FailureAction = Readonly<
  { kind: "retry"; afterSeconds: number } | { kind: "dead-letter" } | { kind: "drop" }
>;

/** Kinds of failure; attempts are counted per kind. */
export type FailureKind =
  /** The write was based on a stale read; reading again resolves it. */
  | "conflict"
  /** Throttled or unreachable; ends without a change of the object. */
  | "transient"
  /** Persists until another object changes; that change enqueues the key. */
  | "permanent"
  /** No known fault: most likely a bug. */
  | "unexpected";

/** Upper bound of the delay before each retry; the last one applies to all further retries. */
const backoffSeconds: readonly number[] = [1, 2, 4, 8, 16, 30];

/**
 * The first retry after a conflict is immediate. The second and third leave the watch some time to update the cache;
 * otherwise they would repeat the stale read.
 */
const conflictRetrySeconds: readonly number[] = [0, 0.02, 0.1];

/** Unexpected failures before a key is dead-lettered. */
export const maxUnexpectedFailures = 5;

/**
 * Receives of one message without a result that count as one unexpected failure: its function died, or was cut off. A receive
 * alone is not a failure, because SQS also counts the receives of an event source whose invocations are throttled.
 */
export const receivesPerFailure = 5;

/**
 * Receives after which SQS itself dead-letters a message: the maximum of SQS. With the visibility timeout of a deployment these
 * are eight hours without a single result. A key whose function dies is dead-lettered much earlier, by `receivesPerFailure`.
 */
export const maxSqsReceives = 1_000;

/** Upper bound for a Retry-After of a server, which must not be able to block a key for a day. */
const maxRetryAfterSeconds = 300;

/** Redaction takes time proportional to the text, so longer texts are cut first. */
const maxCauseLength = 4_000;

/** Classifies an error; of several errors, the most severe one counts. */
export function failureKindOf(error: unknown): FailureKind {
  if (error instanceof AggregateError && error.errors.length > 0) {
    const kinds = error.errors.map(failureKindOf);
    const bySeverity: readonly FailureKind[] = ["unexpected", "transient", "conflict"];
    return bySeverity.find((kind) => kinds.includes(kind)) ?? "permanent";
  }
  switch (faultOf(error)) {
    case "conflict":
      return "conflict";
    case "throttled":
    case "unreachable":
      return "transient";
    case undefined:
      return "unexpected";
    default:
      return "permanent";
  }
}

/**
 * Decides what happens to a key after its reconcile threw.
 *
 * `attempts` counts the failures of this kind since the last success, this one included. `jitter`, from 0 up to 1, scales
 * the delay (full jitter), so that keys that failed together are not retried together. Transient faults are retried
 * forever. A permanent fault was written to the object's status before it was thrown, so the key is dropped until
 * something changes.
 */
export function decideFailureAction(error: unknown, attempts: number, jitter: number): FailureAction {
  switch (failureKindOf(error)) {
    case "permanent":
      return { kind: "drop" };
    case "unexpected":
      return attempts >= maxUnexpectedFailures ? { kind: "dead-letter" } : retry(backoff(attempts) * jitter);
    case "conflict": {
      const conflictSeconds = conflictRetrySeconds[attempts - 1];
      return retry((conflictSeconds ?? backoff(attempts - conflictRetrySeconds.length)) * jitter);
    }
    case "transient": {
      const retryAfterSeconds = retryAfterOf(error);
      // Never before the requested time, and spread over one second after it.
      return retry(retryAfterSeconds === undefined ? backoff(attempts) * jitter : retryAfterSeconds + jitter);
    }
  }
}

/** Formats an error and its causes as one line that can be stored and shown: bounded and without secrets. */
export function readableCause(error: unknown): string {
  const messages: string[] = [];
  for (const part of chainOf(error)) {
    const message = part instanceof Error ? part.message || part.name : String(part);
    const isNamed = part instanceof Error && part.name !== "Error" && part.name !== "ControllerError";
    // A wrapping error often repeats the message of its cause.
    if (messages.some((earlier) => earlier.includes(message))) continue;
    messages.push(isNamed && message !== part.name ? `${part.name}: ${message}` : message);
  }
  return oneLine(redactText(messages.join(": ").slice(0, maxCauseLength))) || "unknown failure";
}

function retry(afterSeconds: number): FailureAction {
  return { kind: "retry", afterSeconds };
}

function backoff(attempts: number): number {
  return backoffSeconds[Math.max(0, attempts - 1)] ?? Math.max(...backoffSeconds);
}

/** The longest Retry-After in the chain of causes. */
function retryAfterOf(error: unknown): number | undefined {
  let longest: number | undefined;
  for (const part of chainOf(error)) {
    if (typeof part !== "object" || part === null || !("retryAfterSeconds" in part)) continue;
    const { retryAfterSeconds } = part;
    if (typeof retryAfterSeconds !== "number" || !(retryAfterSeconds >= 0)) continue;
    longest = Math.max(longest ?? 0, Math.min(retryAfterSeconds, maxRetryAfterSeconds));
  }
  return longest;
}

/** An error, its causes and aggregated errors, outermost first. Bounded, because a cause chain can be circular. */
function* chainOf(error: unknown, depth = 0): Generator<unknown> {
  if (depth >= 8 || error === undefined || error === null) return;
  yield error;
  if (error instanceof AggregateError) {
    for (const part of error.errors.slice(0, 8)) yield* chainOf(part, depth + 1);
  }
  if (error instanceof Error) yield* chainOf(error.cause, depth + 1);
}
