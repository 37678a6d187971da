import { describe, expect, test } from "vitest";
import { done } from "../../../lib/model/next.ts";
import { decideRequeue, secondsToRequeue } from "../../../lib/sync/requeue.ts";
import { defaultSyncSettings } from "../../../lib/sync/settings.ts";
import type { Copy, CopyRecord } from "../../../lib/sync/sync-objects.ts";

const sinceMs = Date.parse("2026-01-01T00:00:00Z");
const { lookSeconds } = defaultSyncSettings;
const copy: Copy = { uid: "1", resourceVersion: "1", generation: 1, isDeleting: false, status: undefined };
type Facts = Readonly<{ state: CopyRecord["state"]; copy?: Copy | undefined; againSeconds?: number }>;

/** What is decided about one copy that has been as it is for so long. */
const decided = ({ state, ...outcome }: Facts, { told = false, ageSeconds = 0 } = {}) => {
  const record: CopyRecord = { name: "east", state, lastObservedTime: "2026-01-01T00:00:00Z" };
  return decideRequeue([{ record, copy: undefined, ...outcome }], {
    status: { clusters: [record] },
    settings: { isToldOfCopies: told, lookSeconds },
    nowMs: sinceMs + ageSeconds * 1000,
  });
};

describe("a copy is looked at again", () => {
  test("soon, where nobody tells of its cluster and it is not ready", () => {
    for (const state of ["Pending", "Applied", "Failed"] as const) {
      expect(decided({ state, copy })).toEqual({ kind: "requeue", afterSeconds: 2 });
    }
  });

  test("never, once it is ready", () => expect(decided({ state: "Ready", copy })).toEqual(done));

  test("never, where its changes are told", () =>
    expect(decided({ state: "Applied", copy }, { told: true })).toEqual(done));

  test("never, where only a person or another cluster can change anything", () => {
    for (const state of ["Paused", "Held", "Evicting", "Stale"] as const)
      expect(decided({ state, copy })).toEqual(done);
    expect(decided({ state: "Pending" }), "what it refers to is not there").toEqual(done);
  });

  test("after the time that it asks for itself, told or not", () => {
    for (const told of [true, false]) {
      const next = decided({ state: "Stale", againSeconds: 10 }, { told, ageSeconds: 1_000 });
      expect(next).toEqual({ kind: "requeue", afterSeconds: 10 });
    }
  });

  test("at the soonest of all wishes", () =>
    expect(decided({ state: "Failed", copy, againSeconds: 120 }, { ageSeconds: 64 })).toEqual({
      kind: "requeue",
      afterSeconds: 16,
    }));
});

describe("the time to the next look", () => {
  const looksWithin = (seconds: number): readonly number[] => {
    const looks: number[] = [];
    for (let age = 0; age < seconds; ) {
      age += secondsToRequeue(lookSeconds, sinceMs, sinceMs + age * 1000);
      looks.push(age);
    }
    return looks;
  };

  test("grows with the time that nothing has changed, and not for ever", () => {
    const looks = looksWithin(4_000);
    const gaps = looks.map((age, index) => age - (looks[index - 1] ?? 0));
    expect([...new Set(gaps)]).toEqual([2, 4, 8, 16, 32, 64, 128, 256]);
    expect(looks.length).toBeLessThan(50);
  });

  test("is at most a third of that time, but for the first seconds", () => {
    for (let age = 8; age < 2_000; age += 7) {
      expect(secondsToRequeue(lookSeconds, sinceMs, sinceMs + age * 1000)).toBeLessThanOrEqual(age * 0.375);
    }
  });

  test("ends at the same moment for whoever asks in between, so that looks become one", () => {
    const dueAt = (age: number): number => age + secondsToRequeue(lookSeconds, sinceMs, sinceMs + age * 1000);
    for (const due of looksWithin(4_000).filter((age) => age > 200)) {
      const gap = dueAt(due) - due;
      for (const late of [0.05, 0.9, gap / 3]) expect(dueAt(due + late)).toBeCloseTo(due + gap);
    }
  });

  test("is never nearer than half of what is usual, so that the same is not seen twice", () => {
    for (let age = 0; age < 300; age += 0.37) {
      expect(secondsToRequeue(lookSeconds, sinceMs, sinceMs + age * 1000)).toBeGreaterThanOrEqual(1);
    }
  });

  test("is the shortest for what was never seen, and for clocks that differ", () => {
    expect(secondsToRequeue(lookSeconds, Number.NaN, sinceMs)).toBe(2);
    expect(secondsToRequeue(lookSeconds, sinceMs, sinceMs - 5_000)).toBe(2);
  });
});
