import type { Clock } from "./clock.ts";

/** A signal that ends with the caller's own or after a time, whichever comes first. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** Whether it was the time, and not the caller, that ended it. */
  readonly expired: boolean;
  /** Starts the time anew; without a time, only the caller's signal counts. */
  rearm(timeoutMs: number | undefined): void;
  /** Ends it now, for a reason of its owner's. */
  cancel(reason: Error): void;
  /** Lets go of the timer and of the caller's signal, which may live much longer. */
  end(): void;
}

/** Creates a deadline that runs from now on; who creates one must `end` it. */
export function createDeadline(
  clock: Clock,
  { signal, timeoutMs }: Readonly<{ signal: AbortSignal | undefined; timeoutMs: number | undefined }>,
): Deadline {
  const controller = new AbortController();
  let expired = false;
  let cancelTimer = (): void => {};
  const follow = (): void => controller.abort(signal?.reason);
  const rearm = (ms: number | undefined): void => {
    cancelTimer();
    cancelTimer = () => {};
    if (ms === undefined) return;
    cancelTimer = clock.after(ms, () => {
      expired = true;
      controller.abort(new Error("deadline passed"));
    });
  };

  if (signal?.aborted) follow();
  else signal?.addEventListener("abort", follow, { once: true });
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
      signal?.removeEventListener("abort", follow);
    },
  };
}

/** Waits, and answers true; answers false as soon as the signal is aborted. */
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

/** Gives a promise's value, or fails with the signal's reason as soon as that is aborted. */
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
