import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { expect, test } from "vitest";
import { createRelistSchedule } from "../../../../lib/relay/watch/relist-schedule.ts";

function aSchedule() {
  const clock = createManualClock();
  const relists = { count: 0 };
  const schedule = createRelistSchedule({ clock, relist: () => void relists.count++ });
  return { clock, relists, schedule };
}

test("requests within a quarter of a second share one relist", () => {
  const { clock, relists, schedule } = aSchedule();
  for (let request = 0; request < 100; request++) schedule.request();
  clock.advance(1_000);
  expect(relists.count).toBe(1);
});

test("a request during a list starts another list only after the first one has finished", () => {
  const { clock, relists, schedule } = aSchedule();
  schedule.listStarted();
  schedule.request();
  clock.advance(60_000);
  expect(relists.count).toBe(0);
  schedule.listFinished();
  clock.advance(30_000);
  expect(relists.count).toBe(1);
});

test("the pause after a list is ten times as long as the list", () => {
  const { clock, relists, schedule } = aSchedule();
  schedule.request();
  clock.advance(250);
  clock.advance(2_000);
  schedule.listFinished();
  schedule.request();
  clock.advance(19_000);
  expect(relists.count).toBe(1);
  clock.advance(1_000);
  expect(relists.count).toBe(2);
});

test("no relist starts after stop", () => {
  const { clock, relists, schedule } = aSchedule();
  schedule.request();
  schedule.stop();
  clock.advance(60_000);
  expect([relists.count, clock.pending]).toEqual([0, 0]);
});
