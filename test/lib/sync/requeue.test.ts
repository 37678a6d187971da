import { describe, expect, test } from "vitest";
import { done } from "../../../lib/model/work-item.ts";
import { decideRequeue, secondsToRequeue } from "../../../lib/sync/requeue.ts";
import { defaultSyncSettings } from "../../../lib/sync/settings.ts";
import type { Copy, CopyRecord } from "../../../lib/sync/sync-objects.ts";

const sinceMs = Date.parse("2026-01-01T00:00:00Z");
const { pollInterval } = defaultSyncSettings;
const copy: Copy = { uid: "1", resourceVersion: "1", generation: 1, isDeleting: false, status: undefined };
type Facts = Readonly<{ state: CopyRecord["state"]; copy?: Copy | undefined; requeueSeconds?: number }>;

/** Decides for one copy that has not changed for some time. */
const decided = ({ state, ...outcome }: Facts, { watchesCopies = false, ageSeconds = 0 } = {}) => {
  const record: CopyRecord = { name: "east", state, lastObservedTime: "2026-01-01T00:00:00Z" };
  return decideRequeue([{ record, copy: undefined, ...outcome }], {
    status: { clusters: [record] },
    settings: { watchesCopies, pollInterval },
    nowMs: sinceMs + ageSeconds * 1000,
  });
};

describe("decideRequeue", () => {
  test("polls a copy that is not ready soon if copies are not watched", () => {
    for (const state of ["Pending", "Applied", "Failed"] as const) {
      expect(decided({ state, copy })).toEqual({ kind: "requeue", afterSeconds: 2 });
    }
  });

  test("does not requeue for a copy that is ready", () => expect(decided({ state: "Ready", copy })).toEqual(done));

  test("does not poll a copy if copies are watched", () =>
    expect(decided({ state: "Applied", copy }, { watchesCopies: true })).toEqual(done));

  test("does not poll a copy that waits for a user or for another cluster", () => {
    for (const state of ["Paused", "Held", "Evicting", "Stale"] as const)
      expect(decided({ state, copy })).toEqual(done);
    expect(decided({ state: "Pending" }), "a dependency is missing").toEqual(done);
  });

  test("requeues after the time that an outcome asks for, whether copies are watched or not", () => {
    for (const watchesCopies of [true, false]) {
      const next = decided({ state: "Stale", requeueSeconds: 10 }, { watchesCopies, ageSeconds: 1_000 });
      expect(next).toEqual({ kind: "requeue", afterSeconds: 10 });
    }
  });

  test("requeues at the earliest of all times", () =>
    expect(decided({ state: "Failed", copy, requeueSeconds: 120 }, { ageSeconds: 64 })).toEqual({
      kind: "requeue",
      afterSeconds: 16,
    }));
});

describe("secondsToRequeue", () => {
  const pollsWithin = (seconds: number): readonly number[] => {
    const polls: number[] = [];
    for (let age = 0; age < seconds; ) {
      age += secondsToRequeue(pollInterval, sinceMs, sinceMs + age * 1000);
      polls.push(age);
    }
    return polls;
  };

  test("the poll interval grows with the time since the last change up to its maximum", () => {
    const polls = pollsWithin(4_000);
    const gaps = polls.map((age, index) => age - (polls[index - 1] ?? 0));
    expect([...new Set(gaps)]).toEqual([2, 4, 8, 16, 32, 64, 128, 256]);
    expect(polls.length).toBeLessThan(50);
  });

  test("the poll interval is at most three eighths of the time since the last change, except in the first seconds", () => {
    for (let age = 8; age < 2_000; age += 7) {
      expect(secondsToRequeue(pollInterval, sinceMs, sinceMs + age * 1000)).toBeLessThanOrEqual(age * 0.375);
    }
  });

  test("all calls between two polls return the same next poll, so that requeues coincide", () => {
    const dueAt = (age: number): number => age + secondsToRequeue(pollInterval, sinceMs, sinceMs + age * 1000);
    for (const due of pollsWithin(4_000).filter((age) => age > 200)) {
      const gap = dueAt(due) - due;
      for (const late of [0.05, 0.9, gap / 3]) expect(dueAt(due + late)).toBeCloseTo(due + gap);
    }
  });

  test("the next poll is never nearer than half an interval", () => {
    for (let age = 0; age < 300; age += 0.37) {
      expect(secondsToRequeue(pollInterval, sinceMs, sinceMs + age * 1000)).toBeGreaterThanOrEqual(1);
    }
  });

  test("the poll interval is the shortest for an unknown last change and for a last change in the future", () => {
    expect(secondsToRequeue(pollInterval, Number.NaN, sinceMs)).toBe(2);
    expect(secondsToRequeue(pollInterval, sinceMs, sinceMs - 5_000)).toBe(2);
  });
});
