import fc from "fast-check";
import { expect, test } from "vitest";
import { createTimetable } from "../../../lib/queue/delay-heap.ts";
import { createManualClock } from "../../support/manual-clock.ts";

test("appointments are kept in the order of their times, then of their booking, and never after being taken back", () => {
  const booking = fc.record({ atMs: fc.nat(20), cancelled: fc.boolean() });
  const property = fc.property(fc.array(booking, { maxLength: 60, size: "max" }), (bookings) => {
    const clock = createManualClock(0);
    const timetable = createTimetable(clock);
    timetable.start();
    const kept: number[] = [];
    const cancels = bookings.map(({ atMs }, index) => timetable.book(atMs, () => kept.push(index)));
    for (const [index, { cancelled }] of bookings.entries()) {
      if (!cancelled) continue;
      cancels[index]?.();
      cancels[index]?.(); // twice is once
    }
    const wanted = bookings
      .map((one, index) => ({ ...one, index }))
      .filter(({ cancelled }) => !cancelled)
      .toSorted((one, other) => one.atMs - other.atMs || one.index - other.index);
    expect(timetable.size).toBe(wanted.length);
    expect(clock.pending).toBe(wanted.length > 0 ? 1 : 0);
    for (let ms = 0; ms <= 20; ms++) {
      clock.advance(ms === 0 ? 0 : 1);
      expect(kept).toEqual(wanted.filter(({ atMs }) => atMs <= ms).map(({ index }) => index));
    }
    expect(clock.pending).toBe(0);
  });
  fc.assert(property);
});

test("a wait longer than a timer can hold is kept at its time", () => {
  const clock = createManualClock(0);
  const delays: number[] = [];
  const timetable = createTimetable({
    now: clock.now,
    after: (delayMs, task) => {
      delays.push(delayMs);
      return clock.after(delayMs, task);
    },
  });
  timetable.start();
  let kept = 0;
  timetable.book(2 ** 33, () => kept++);
  clock.advance(2 ** 33 - 1);
  expect(kept).toBe(0);
  clock.advance(1);
  expect(kept).toBe(1);
  expect(Math.max(...delays)).toBeLessThan(2 ** 31);
});

test("a task that books itself for now leaves the turn to others", () => {
  const clock = createManualClock(0);
  const timetable = createTimetable(clock);
  let kept = 0;
  const again = (): void => {
    kept += 1;
    if (kept < 3) timetable.book(clock.now(), again);
  };
  timetable.book(0, again);
  timetable.start();
  expect(kept).toBe(1);
  clock.advance(0);
  expect(kept).toBe(3);
});

test("nothing is kept while it is stopped, and what is overdue at its start", () => {
  const clock = createManualClock(0);
  const timetable = createTimetable(clock);
  let kept = 0;
  timetable.book(10, () => kept++);
  clock.advance(20);
  expect([kept, clock.pending]).toEqual([0, 0]);
  timetable.start();
  expect(kept).toBe(1);
});
