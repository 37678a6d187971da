/** What a reconcile wants to happen to its key. */
export type Next = Readonly<{ kind: "done" } | { kind: "requeue"; afterSeconds: number }>;

/** Done until something changes. */
export const done: Next = { kind: "done" };

/** Waiting for something that no change will tell of: look again after that time. */
export function requeueAfter(afterSeconds: number): Next {
  return { kind: "requeue", afterSeconds };
}

/** The sooner of two wishes. */
export function earliest(one: Next, other: Next): Next {
  if (one.kind === "done") return other;
  if (other.kind === "done") return one;
  return one.afterSeconds <= other.afterSeconds ? one : other;
}

/** Refuses a wait that is no time: it would otherwise be one of no length, or for ever. */
export function assertValidDelay(seconds: number): void {
  if (!Number.isFinite(seconds)) throw new RangeError(`queue: later by ${seconds} seconds is no time`);
}
