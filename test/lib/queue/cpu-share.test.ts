import { setImmediate as turn } from "node:timers/promises";
import { beforeEach, describe, expect, test } from "vitest";
import { done } from "../../../lib/model/next.ts";
import { type CrowdShare, createCrowdShare } from "../../../lib/queue/cpu-share.ts";
import { createMemoryQueue } from "../../../lib/queue/memory-queue.ts";
import { createManualClock } from "../../support/manual-clock.ts";

const share = 0.1;
let clock: ReturnType<typeof createManualClock>;
let busyMs: number;
let crowd: CrowdShare;
beforeEach(() => {
  clock = createManualClock(0);
  busyMs = 0;
  crowd = createCrowdShare({ clock, busyMs: () => busyMs, share });
});

/** Begins keys of a tenant, each of which keeps the process busy for so long, until it has to rest; answers how many. */
function begin(tenant: string, most: number, costMs: number): number {
  for (let begun = 0; begun < most; begun += 1) {
    if (crowd.restMs(tenant) > 0) return begun;
    crowd.begun(tenant);
    busyMs += costMs;
    clock.advance(costMs);
  }
  return most;
}

describe("a tenant", () => {
  test("has everything while it is alone", () => {
    expect(begin("noisy", 5_000, 1)).toBe(5_000);
  });

  test("has everything again a second after the last of the others", () => {
    crowd.begun("quiet");
    begin("noisy", 1_000, 1);
    expect(crowd.restMs("noisy")).toBeGreaterThan(0);
    clock.advance(1_000);
    expect(begin("noisy", 5_000, 1)).toBe(5_000);
  });

  test("rests beside others when its share is used up, until it has some again", () => {
    crowd.begun("quiet");
    const begun = begin("noisy", 5_000, 1);
    // What it had saved up, a hundred milliseconds, and the share of the time that went by.
    expect(begun).toBeGreaterThan(100);
    expect(begun).toBeLessThan(250);
    clock.advance(crowd.restMs("noisy"));
    expect(crowd.restMs("noisy")).toBeLessThanOrEqual(1);
  });

  test("gets more done of what costs less", () => {
    const done = (costMs: number): number => {
      crowd = createCrowdShare({ clock, busyMs: () => busyMs, share });
      let begun = 0;
      for (let second = 0; second < 20; second += 1) {
        crowd.begun("quiet");
        begun += begin("noisy", 500, costMs);
        clock.advance(500);
      }
      return begun;
    };
    const [cheap, dear] = [done(0.1), done(2)];
    expect(cheap / dear).toBeGreaterThan(5);
  });

  test("does not rest for what another has used up", () => {
    crowd.begun("quiet");
    begin("noisy", 5_000, 1);
    expect(crowd.restMs("noisy")).toBeGreaterThan(0);
    expect(crowd.restMs("quiet")).toBe(0);
  });
});

test("a queue has a tenant rest while others work, and forgets none of its keys", async () => {
  const stop = new AbortController();
  const queue = createMemoryQueue({
    clock: { ...clock, busyMs: () => busyMs },
    random: () => 0.5,
    tenantShare: share,
  });
  const counts = new Map<string, number>();
  void queue.run(
    async ({ key }) => {
      busyMs += 1;
      await new Promise<void>((resolve) => void clock.after(1, resolve));
      counts.set(key.logicalCluster, (counts.get(key.logicalCluster) ?? 0) + 1);
      return done;
    },
    { workers: 5, signal: stop.signal },
  );
  const pass = async (forMs: number): Promise<void> => {
    for (let ms = 0; ms < forMs; ms += 1) {
      clock.advance(1);
      await turn();
    }
  };
  const keys = (cluster: string, count: number) =>
    Array.from({ length: count }, (_, at) => ({
      key: { logicalCluster: cluster, kind: "WorkloadPlacement" as const, name: `${at}` },
      reason: "changed" as const,
    }));
  await queue.send(keys("noisy", 2_000));
  for (let at = 0; at < 50; at += 1) {
    await queue.send(keys("quiet", 1));
    await pass(20);
  }
  expect(counts.get("quiet")).toBe(50);
  const beside = counts.get("noisy") ?? 0;
  expect(beside).toBeGreaterThan(100);
  expect(beside).toBeLessThan(1_000);
  await pass(4_000);
  expect(counts.get("noisy")).toBe(2_000);
  stop.abort();
});
