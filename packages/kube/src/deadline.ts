import type { Clock } from "./clock.ts";

/** A signal that is aborted with the caller's own signal or after a time, whichever comes first. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** Whether the time ended it, and not the caller. */
  readonly expired: boolean;
  /** Restarts the time; without a time, only the caller's signal counts. */
  rearm(timeoutMs: number | undefined): void;
  /** Aborts the signal now, with a reason of the owner. */
  cancel(reason: Error): void;
  /** Releases the timer and the listener on the caller's signal, which may live much longer. */
  end(): void;
}

/** Creates a deadline that starts now. The caller must `end` it. */
export function createDeadline(
  clock: Clock,
  { signal, timeoutMs }: Readonly<{ signal: AbortSignal | undefined; timeoutMs: number | undefined }>,
): Deadline {
  const controller = new AbortController();
  let expired = false;
  let cancelTimer = (): void => {};
  const abort = (): void => controller.abort(signal?.reason);
  const rearm = (ms: number | undefined): void => {
    cancelTimer();
    cancelTimer = () => {};
    if (ms === undefined) return;
    cancelTimer = clock.after(ms, () => {
      expired = true;
      controller.abort(new Error("deadline passed"));
    });
  };

  if (signal?.aborted) abort();
  else signal?.addEventListener("abort", abort, { once: true });
  rearm(timeoutMs);
  return {
    signal: controller.signal,
    get expired() {
      return expired;
    },
    rearm,
    cancel: (reason) => controller.abort(reason),
    end: () => {
      cancelTimer();
      signal?.removeEventListener("abort", abort);
    },
  };
}

/** Waits and returns true; returns false as soon as the signal is aborted. */
export function delay(clock: Clock, delayMs: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const stop = (): void => {
      cancel();
      resolve(false);
    };
    const cancel = clock.after(delayMs, () => {
      signal.removeEventListener("abort", stop);
      resolve(true);
    });
    signal.addEventListener("abort", stop, { once: true });
  });
}

/** Resolves like the promise, or rejects with the signal's reason as soon as the signal is aborted. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

/** A signal that is never aborted, for calls that have no deadline of their own. */
export const neverAborted: AbortSignal = new AbortController().signal;
