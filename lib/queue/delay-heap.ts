import type { Clock } from "@tmc/kube/clock.ts";

/** What is to happen later, earliest first; at the same time, in the order it was booked. */
export interface Timetable {
  readonly size: number;
  /** Has `task` run at that time; the answer takes it back, and does nothing once it has run. */
  book(atMs: number, task: () => void): () => void;
  /** Keeps what is overdue, and from now on everything at its time. */
  start(): void;
  /** Keeps nothing until it is started again, and leaves no timer behind that would hold a process open. */
  stop(): void;
}

type Booking = { readonly atMs: number; readonly order: number; readonly task: () => void; position: number };

/** Timers hold 31 bits of milliseconds, some 24 days; a longer wait is cut into pieces. */
const longestTimerMs = 24 * 3600 * 1000;

/** The position of what is in the heap no more. */
const gone = -1;

/**
 * Creates a timetable that needs one timer for any number of appointments: a heap whose members know their position,
 * so that what is taken back is gone at once and memory is bounded by what is still wanted.
 */
export function createTimetable(clock: Clock): Timetable {
  const heap: Booking[] = [];
  let order = 0;
  let started = false;
  let armed: Readonly<{ atMs: number; disarm: () => void }> | undefined;

  const isBefore = (one: Booking, other: Booking): boolean =>
    one.atMs !== other.atMs ? one.atMs < other.atMs : one.order < other.order;

  const place = (booking: Booking, position: number): void => {
    heap[position] = booking;
    booking.position = position;
  };

  const rise = (booking: Booking): void => {
    let position = booking.position;
    while (position > 0) {
      const above = (position - 1) >> 1;
      const parent = heap[above];
      if (parent === undefined || !isBefore(booking, parent)) break;
      place(parent, position);
      position = above;
    }
    place(booking, position);
  };

  const sink = (booking: Booking): void => {
    let position = booking.position;
    for (;;) {
      const [left, right] = [heap[position * 2 + 1], heap[position * 2 + 2]];
      const child = right !== undefined && left !== undefined && isBefore(right, left) ? right : left;
      if (child === undefined || !isBefore(child, booking)) break;
      const below = child.position;
      place(child, position);
      position = below;
    }
    place(booking, position);
  };

  const remove = (booking: Booking): void => {
    const { position } = booking;
    booking.position = gone;
    const last = heap.pop();
    if (last === undefined || last === booking) return;
    place(last, position);
    rise(last);
    sink(last);
  };

  const arm = (): void => {
    const first = started ? heap[0] : undefined;
    if (first?.atMs === armed?.atMs) return;
    armed?.disarm();
    armed = undefined;
    if (first === undefined) return;
    const delayMs = Math.min(longestTimerMs, Math.max(0, first.atMs - clock.now()));
    armed = {
      atMs: first.atMs,
      disarm: clock.after(delayMs, () => {
        armed = undefined;
        keep();
      }),
    };
  };

  /** Keeps what is due. What is booked meanwhile waits for its turn, so that a task which books itself cannot hold us. */
  const keep = (): void => {
    const nowMs = clock.now();
    const newest = order;
    for (let first = heap[0]; first !== undefined && first.atMs <= nowMs && first.order <= newest; first = heap[0]) {
      remove(first);
      first.task();
    }
    arm();
  };

  return {
    get size() {
      return heap.length;
    },
    book: (atMs, task) => {
      order += 1;
      const booking: Booking = { atMs, order, task, position: heap.length };
      heap.push(booking);
      rise(booking);
      arm();
      return () => {
        if (booking.position === gone) return;
        remove(booking);
        arm();
      };
    },
    start: () => {
      started = true;
      keep();
    },
    stop: () => {
      started = false;
      arm();
    },
  };
}
