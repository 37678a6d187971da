import type { Clock } from "@tmc/kube/clock.ts";

/** Has everything listed again for those who come, but not for each of them. */
export interface PacedRelist {
  /** A list of everything has begun, for whatever reason. */
  begun(): void;
  /** It has been read. */
  done(): void;
  /** Somebody has come who needs one that begins from now on. */
  want(): void;
  stop(): void;
}

/** Whoever comes together is listed together. */
const gatherMs = 250;
/** Lists may take a tenth of the time: a small fleet has newcomers at once, and a large one is not listed without end. */
const pauseFactor = 10;
const longestPauseMs = 30_000;

/** Creates a pace at which `relist` is called; never while a list is under way, for it would never come to its end. */
export function createPacedRelist({ clock, relist }: Readonly<{ clock: Clock; relist: () => void }>): PacedRelist {
  let isUnderWay = false;
  let isWanted = false;
  let beganMs = clock.now();
  let notBeforeMs = clock.now();
  let cancel: (() => void) | undefined;

  const begun = (): void => {
    isUnderWay = true;
    beganMs = clock.now();
  };
  const plan = (): void => {
    if (!isWanted || isUnderWay || cancel !== undefined) return;
    cancel = clock.after(Math.max(gatherMs, notBeforeMs - clock.now()), () => {
      cancel = undefined;
      isWanted = false;
      begun();
      relist();
    });
  };
  return {
    begun,
    done: () => {
      if (!isUnderWay) return;
      isUnderWay = false;
      notBeforeMs = clock.now() + Math.min(longestPauseMs, (clock.now() - beganMs) * pauseFactor);
      plan();
    },
    want: () => {
      isWanted = true;
      plan();
    },
    stop: () => {
      cancel?.();
      cancel = undefined;
      isWanted = false;
      isUnderWay = false;
    },
  };
}
