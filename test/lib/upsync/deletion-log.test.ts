import { describe, expect, it } from "vitest";
import { maxRecentDeletions, maxRejected } from "../../../lib/api/cluster-registration.ts";
import {
  endedLately,
  isFull,
  isRetried,
  refusedIn,
  tidied,
  withEnd,
  withRefusal,
} from "../../../lib/upsync/deletion-log.ts";

const nowMs = Date.parse("2030-01-01T12:00:00Z");
const minutes = (count: number): number => nowMs + count * 60_000;
const ready = { conditions: [] };

describe("ends that are noted down", () => {
  it("count for ten minutes, and each once", () => {
    const first = withEnd(ready, "a", nowMs);
    expect(first).toEqual({
      conditions: [],
      upsync: { recentDeletions: [{ name: "a", time: "2030-01-01T12:00:00Z" }] },
    });
    expect(withEnd(first, "a", minutes(5))).toBe(first);
    const both = withEnd(first, "b", minutes(9));
    expect([...endedLately(both, minutes(9))]).toEqual(["a", "b"]);
    expect([...endedLately(both, minutes(11))]).toEqual(["b"]);
    expect(withEnd(both, "c", minutes(11)).upsync?.recentDeletions?.map(({ name }) => name)).toEqual(["b", "c"]);
  });
  it("count where clocks differ, but not for ever", () => {
    const ahead = withEnd(ready, "a", minutes(5));
    expect(endedLately(ahead, nowMs).size).toBe(1);
    expect(endedLately(withEnd(ready, "a", minutes(600)), nowMs).size).toBe(0);
  });
  it("are so many at most, and no more than that are known", () => {
    const ended = Array.from({ length: maxRecentDeletions }, (_, index) => ({
      name: `w${index}`,
      time: "2030-01-01T12:00:00Z",
    }));
    expect(isFull({ upsync: { recentDeletions: ended } }, nowMs)).toBe(true);
    expect(isFull({ upsync: { recentDeletions: ended } }, minutes(11))).toBe(false);
    expect(isFull({ upsync: { recentDeletions: ended.slice(1) } }, nowMs)).toBe(false);
  });
});

describe("refusals that are noted down", () => {
  const refused = withRefusal(ready, { name: "a", message: "too many" }, nowMs);
  it("are known by their words until they are over", () => {
    expect([...refusedIn(refused)]).toEqual([["a", "too many"]]);
    expect(withRefusal(refused, { name: "b", message: undefined }, nowMs)).toBe(refused);
    expect(withRefusal(refused, { name: "a", message: undefined }, nowMs)).toEqual(ready);
  });
  it("are tried again after a while", () => {
    const isDue = (ms: number): boolean => isRetried(refused, "a", { nowMs: ms, afterSeconds: 120 });
    expect([isDue(minutes(1)), isDue(minutes(2))]).toEqual([false, true]);
    expect(isRetried(refused, "b", { nowMs, afterSeconds: 120 })).toBe(true);
  });
  it("are no more than a status bears, in number and length", () => {
    let status = {};
    for (let index = 0; index <= maxRejected; index += 1) {
      status = withRefusal(status, { name: `w${index}`, message: "x".repeat(2_000) }, nowMs);
    }
    const known = refusedIn(status);
    expect(known.size).toBe(maxRejected);
    expect(known.get("w0")).toHaveLength(1_024);
  });
});

it("what is over is tidied away, and nothing is written where nothing is", () => {
  const status = withRefusal(withEnd(ready, "gone", nowMs), { name: "a", message: "no" }, nowMs);
  expect(tidied(status, () => true, minutes(1))).toBe(status);
  expect(tidied(status, () => true, minutes(11)).upsync).toEqual({ rejected: status.upsync?.rejected });
  expect(tidied(status, () => false, minutes(11))).toEqual(ready);
});
