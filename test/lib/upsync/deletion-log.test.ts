import { describe, expect, it } from "vitest";
import { maxRecentDeletions, maxRejected } from "../../../lib/api/cluster-registration.ts";
import {
  isDeletionLogFull,
  isRetryDue,
  recentDeletionsOf,
  rejectionsIn,
  withDeletion,
  withHeldDeletions,
  withoutExpired,
  withRejection,
} from "../../../lib/upsync/deletion-log.ts";

const nowMs = Date.parse("2030-01-01T12:00:00Z");
const minutes = (count: number): number => nowMs + count * 60_000;
const ready = { conditions: [] };

describe("logged deletions", () => {
  it("withDeletion logs a deletion once, and it counts for ten minutes", () => {
    const first = withDeletion(ready, { name: "a", copies: 0 }, nowMs);
    expect(first).toEqual({
      conditions: [],
      upsync: { recentDeletions: [{ name: "a", time: "2030-01-01T12:00:00Z" }] },
    });
    expect(withDeletion(first, { name: "a", copies: 0 }, minutes(5))).toBe(first);
    const both = withDeletion(first, { name: "b", copies: 0 }, minutes(9));
    expect([...recentDeletionsOf(both, minutes(9)).keys()]).toEqual(["a", "b"]);
    expect([...recentDeletionsOf(both, minutes(11)).keys()]).toEqual(["b"]);
    expect(
      withDeletion(both, { name: "c", copies: 0 }, minutes(11)).upsync?.recentDeletions?.map(({ name }) => name),
    ).toEqual(["b", "c"]);
  });
  it("withDeletion logs how many copies on other clusters are deleted with an object", () => {
    const logged = withDeletion(ready, { name: "a", copies: 3 }, nowMs);
    expect(logged.upsync?.recentDeletions).toEqual([{ name: "a", time: "2030-01-01T12:00:00Z", copies: 3 }]);
    expect([...recentDeletionsOf(logged, nowMs)]).toEqual([["a", 3]]);
  });
  it("a deletion with a time in the future counts, but only within the window", () => {
    const ahead = withDeletion(ready, { name: "a", copies: 0 }, minutes(5));
    expect(recentDeletionsOf(ahead, nowMs).size).toBe(1);
    expect(recentDeletionsOf(withDeletion(ready, { name: "a", copies: 0 }, minutes(600)), nowMs).size).toBe(0);
  });
  it("isDeletionLogFull is true while the maximum number of recent deletions is logged", () => {
    const recentDeletions = Array.from({ length: maxRecentDeletions }, (_, index) => ({
      name: `w${index}`,
      time: "2030-01-01T12:00:00Z",
    }));
    expect(isDeletionLogFull({ upsync: { recentDeletions } }, nowMs)).toBe(true);
    expect(isDeletionLogFull({ upsync: { recentDeletions } }, minutes(11))).toBe(false);
    expect(isDeletionLogFull({ upsync: { recentDeletions: recentDeletions.slice(1) } }, nowMs)).toBe(false);
  });
});

describe("logged rejections", () => {
  const rejected = withRejection(ready, { name: "a", message: "too many" }, nowMs);
  it("withRejection logs the message of a rejection, and removes it when there is no message", () => {
    expect([...rejectionsIn(rejected)]).toEqual([["a", "too many"]]);
    expect(withRejection(rejected, { name: "b", message: undefined }, nowMs)).toBe(rejected);
    expect(withRejection(rejected, { name: "a", message: undefined }, nowMs)).toEqual(ready);
  });
  it("isRetryDue allows a rejected object again after the retry interval", () => {
    const isDue = (ms: number): boolean => isRetryDue(rejected, "a", { nowMs: ms, afterSeconds: 120 });
    expect([isDue(minutes(1)), isDue(minutes(2))]).toEqual([false, true]);
    expect(isRetryDue(rejected, "b", { nowMs, afterSeconds: 120 })).toBe(true);
  });
  it("isRetryDue does not wait for the time of a rejection that is far in the future", () => {
    expect(isRetryDue(rejected, "a", { nowMs: minutes(-120), afterSeconds: 120 })).toBe(true);
  });
  it("withRejection limits the number of rejections and the length of their messages", () => {
    let status = {};
    for (let index = 0; index <= maxRejected; index += 1) {
      status = withRejection(status, { name: `w${index}`, message: "x".repeat(2_000) }, nowMs);
    }
    const logged = rejectionsIn(status);
    expect(logged.size).toBe(maxRejected);
    expect(logged.get("w0")).toHaveLength(1_024);
  });
});

it("withoutExpired removes old deletions and rejections of absent objects, and returns the same status if there are none", () => {
  const status = withRejection(
    withDeletion(ready, { name: "gone", copies: 0 }, nowMs),
    { name: "a", message: "no" },
    nowMs,
  );
  expect(withoutExpired(status, () => true, minutes(1))).toBe(status);
  expect(withoutExpired(status, () => true, minutes(11)).upsync).toEqual({ rejected: status.upsync?.rejected });
  expect(withoutExpired(status, () => false, minutes(11))).toEqual(ready);
});

describe("the number of held deletions", () => {
  const held = withHeldDeletions(ready, 15);

  it("withHeldDeletions stores the number, and returns the same status when it has not changed", () => {
    expect(held).toEqual({ conditions: [], upsync: { heldDeletions: 15 } });
    expect(withHeldDeletions(held, 15)).toBe(held);
    expect(withHeldDeletions(ready, 0)).toBe(ready);
  });
  it("withHeldDeletions removes the field when no deletions are held", () => {
    expect(withHeldDeletions(held, 0)).toEqual(ready);
  });
  it("withEnd, withRefusal and tidied keep the number of held deletions", () => {
    const deleted = withDeletion(held, { name: "a", copies: 0 }, nowMs);
    expect(deleted.upsync).toMatchObject({ heldDeletions: 15, recentDeletions: [{ name: "a" }] });
    expect(withoutExpired(deleted, () => true, minutes(11))).toEqual(held);
    const withB = withRejection(held, { name: "b", message: "no" }, nowMs);
    expect(withB.upsync).toMatchObject({ heldDeletions: 15, rejected: [{ name: "b" }] });
    expect(withRejection(withB, { name: "b", message: undefined }, nowMs)).toEqual(held);
  });
});
