import type { Clock } from "@tmc/kube/clock.ts";
import { systemClock } from "@tmc/kube/clock.ts";
import { delay } from "@tmc/kube/deadline.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";

export type WaitOptions = Readonly<{
  /** kcp takes 5 to 7 s for the first binding of a schema. @default 60 s */
  timeoutMs?: number | undefined;
  signal?: AbortSignal | undefined;
  clock?: Clock | undefined;
}>;

/** Result of a check: the awaited value, or what is still missing. */
export type WaitResult<T> = Readonly<{ done: T } | { missing: string }>;

/** An embedded kcp takes milliseconds, a real one seconds, so the interval starts short and doubles. */
const firstIntervalMs = 2;
const maxIntervalMs = 100;

/**
 * Polls `check` until it returns a value. Transient faults, and the 403 and 404 of kcp while its caches warm up, count as
 * "not yet". The timeout error says what was missing.
 */
export async function waitUntil<T>(
  what: string,
  check: () => Promise<WaitResult<T>>,
  options: WaitOptions = {},
): Promise<T> {
  const clock = options.clock ?? systemClock;
  const signal = options.signal ?? new AbortController().signal;
  const timeoutMs = options.timeoutMs ?? 60_000;
  const deadlineMs = clock.monotonicMs() + timeoutMs;
  for (let intervalMs = firstIntervalMs; ; intervalMs = Math.min(intervalMs * 2, maxIntervalMs)) {
    const result = await check().catch((error: unknown): WaitResult<T> => {
      if (!isRetryable(error)) throw error;
      return { missing: error instanceof Error ? error.message : String(error) };
    });
    if ("done" in result) return result.done;
    if (clock.monotonicMs() >= deadlineMs) {
      throw new ControllerError(
        "unreachable",
        `kcp: wait for ${what}: not done after ${timeoutMs / 1000} s: ${result.missing}`,
      );
    }
    if (!(await delay(clock, intervalMs, signal))) throw signal.reason;
  }
}

/** kcp briefly returns 403 and 404 for new objects until its indexes are updated. */
function isRetryable(error: unknown): boolean {
  const fault = faultOf(error);
  return fault !== undefined && ["conflict", "throttled", "unreachable", "not-found", "forbidden"].includes(fault);
}
