/** What a reconcile wants to happen to its key. */
export type Next = Readonly<{ kind: "settled" } | { kind: "check-again"; afterSeconds: number }>;

/** Done until something changes. */
export const settled: Next = { kind: "settled" };

/** Waiting for something that no change will tell of: look again after that time. */
export function checkAgain(afterSeconds: number): Next {
  return { kind: "check-again", afterSeconds };
}

/** The sooner of two wishes. */
export function soonest(one: Next, other: Next): Next {
  if (one.kind === "settled") return other;
  if (other.kind === "settled") return one;
  return one.afterSeconds <= other.afterSeconds ? one : other;
}

/** Refuses a wait that is no time: it would otherwise be one of no length, or for ever. */
export function refuseStrangeTime(seconds: number): void {
  if (!Number.isFinite(seconds)) throw new RangeError(`queue: later by ${seconds} seconds is no time`);
}
