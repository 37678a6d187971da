import type { Clock } from "@tmc/kube/clock.ts";

/** Schedules relists of everything for new tenants, one for several tenants together. */
export interface RelistSchedule {
  /** To be called when a list of everything has started. */
  listStarted(): void;
  /** To be called when that list has been read. */
  listFinished(): void;
  /** Requests a list that starts after this call. */
  request(): void;
  stop(): void;
}

/** Requests within this time share one relist. */
const gatherMs = 250;
/** Lists may take a tenth of the time: with few objects a new tenant is listed at once, with many the lists do not follow each other. */
const pauseFactor = 10;
const longestPauseMs = 30_000;

/** Creates a schedule that calls `relist`, never during a list: each call would restart the list, and it would never finish. */
export function createRelistSchedule({
  clock,
  relist,
}: Readonly<{ clock: Clock; relist: () => void }>): RelistSchedule {
  let isListing = false;
  let isRequested = false;
  let startedMs = clock.monotonicMs();
  let notBeforeMs = clock.monotonicMs();
  let cancel: (() => void) | undefined;

  const listStarted = (): void => {
    isListing = true;
    startedMs = clock.monotonicMs();
  };
  const schedule = (): void => {
    if (!isRequested || isListing || cancel !== undefined) return;
    cancel = clock.after(Math.max(gatherMs, notBeforeMs - clock.monotonicMs()), () => {
      cancel = undefined;
      isRequested = false;
      listStarted();
      relist();
    });
  };
  return {
    listStarted,
    listFinished: () => {
      if (!isListing) return;
      isListing = false;
      notBeforeMs = clock.monotonicMs() + Math.min(longestPauseMs, (clock.monotonicMs() - startedMs) * pauseFactor);
      schedule();
    },
    request: () => {
      isRequested = true;
      schedule();
    },
    stop: () => {
      cancel?.();
      cancel = undefined;
      isRequested = false;
      isListing = false;
    },
  };
}
