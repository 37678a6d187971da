import type { Clock } from "@tmc/kube/clock.ts";
import { systemClock } from "@tmc/kube/clock.ts";
import { delay } from "@tmc/kube/deadline.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";

export type WaitOptions = Readonly<{
  /** How long to go on. A first binding of a schema takes kcp 5 to 7 s. @default 60 s */
  limitMs?: number | undefined;
  signal?: AbortSignal | undefined;
  clock?: Clock | undefined;
}>;

/** What a look at the world found: what was waited for, or what is still missing. */
export type Look<T> = Readonly<{ done: T } | { missing: string }>;

/** An embedded kcp is done in a few milliseconds, a real one in seconds: looks come close together at first. */
const firstStepMs = 2;
const longestStepMs = 100;

/**
 * Looks again and again until what is waited for is there, and gives it. A fault that may pass, and a refusal while kcp's
 * caches warm, count as "not yet"; the time-out says what was still missing.
 */
export async function waitUntil<T>(what: string, look: () => Promise<Look<T>>, options: WaitOptions = {}): Promise<T> {
  const clock = options.clock ?? systemClock;
  const signal = options.signal ?? new AbortController().signal;
  const limitMs = options.limitMs ?? 60_000;
  const end = clock.now() + limitMs;
  for (let stepMs = firstStepMs; ; stepMs = Math.min(stepMs * 2, longestStepMs)) {
    const found = await look().catch((error: unknown): Look<T> => {
      if (!mayBeTooEarly(error)) throw error;
      return { missing: error instanceof Error ? error.message : String(error) };
    });
    if ("done" in found) return found.done;
    if (clock.now() >= end) {
      throw new ControllerError(
        "unreachable",
        `kcp: wait for ${what}: not there after ${limitMs / 1000} s: ${found.missing}`,
      );
    }
    if (!(await delay(clock, stepMs, signal))) throw signal.reason;
  }
}

/** kcp answers 403 and 404 for a moment for what has just been made: its indexes follow. */
function mayBeTooEarly(error: unknown): boolean {
  const fault = faultOf(error);
  return fault !== undefined && ["conflict", "throttled", "unreachable", "not-found", "forbidden"].includes(fault);
}
