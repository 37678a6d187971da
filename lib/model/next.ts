/** The result of a reconcile: whether and when to reconcile the key again. */
export type Next = Readonly<{ kind: "done" } | { kind: "requeue"; afterSeconds: number }>;

/** No requeue: the next change enqueues the key. */
export const done: Next = { kind: "done" };

/** Requeue after a time, for conditions that cause no watch event. */
export function requeueAfter(afterSeconds: number): Next {
  return { kind: "requeue", afterSeconds };
}

/** The result with the earlier requeue. */
export function earliestNext(one: Next, other: Next): Next {
  if (one.kind === "done") return other;
  if (other.kind === "done") return one;
  return one.afterSeconds <= other.afterSeconds ? one : other;
}

/** Rejects NaN and Infinity: such a delay would be zero or endless. */
export function assertValidDelay(seconds: number): void {
  if (!Number.isFinite(seconds)) throw new RangeError(`queue: invalid delay of ${seconds} seconds`);
}
