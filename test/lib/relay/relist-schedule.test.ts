import { expect, test } from "vitest";
import { createPacedRelist } from "../../../lib/relay/relist-schedule.ts";
import { createManualClock } from "../../support/manual-clock.ts";

function aPace() {
  const clock = createManualClock();
  const relists = { count: 0 };
  const pace = createPacedRelist({ clock, relist: () => void relists.count++ });
  return { clock, relists, pace };
}

test("whoever comes together has one list", () => {
  const { clock, relists, pace } = aPace();
  for (let newcomer = 0; newcomer < 100; newcomer++) pace.want();
  clock.advance(1_000);
  expect(relists.count).toBe(1);
});

test("a list that is under way is let come to its end, and then another begins for who came meanwhile", () => {
  const { clock, relists, pace } = aPace();
  pace.begun();
  pace.want();
  clock.advance(60_000);
  expect(relists.count).toBe(0);
  pace.done();
  clock.advance(30_000);
  expect(relists.count).toBe(1);
});

test("the longer a list takes, the longer is the pause after it", () => {
  const { clock, relists, pace } = aPace();
  pace.want();
  clock.advance(250);
  clock.advance(2_000);
  pace.done();
  pace.want();
  clock.advance(19_000);
  expect(relists.count).toBe(1);
  clock.advance(1_000);
  expect(relists.count).toBe(2);
});

test("nothing comes after the end", () => {
  const { clock, relists, pace } = aPace();
  pace.want();
  pace.stop();
  clock.advance(60_000);
  expect([relists.count, clock.pending]).toEqual([0, 0]);
});
