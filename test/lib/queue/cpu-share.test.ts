import { setImmediate as afterPending } from "node:timers/promises";
import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { beforeEach, describe, expect, test } from "vitest";
import { done } from "../../../lib/model/work-item.ts";
import { type CpuShare, createCpuShare } from "../../../lib/queue/cpu-share.ts";
import { createMemoryQueue } from "../../../lib/queue/memory-queue.ts";

const share = 0.1;
let clock: ReturnType<typeof createManualClock>;
let busyMs: number;
let cpuShare: CpuShare;
beforeEach(() => {
  clock = createManualClock(0);
  busyMs = 0;
  cpuShare = createCpuShare({ clock, busyMs: () => busyMs, share });
});

/** Starts keys of a tenant, each with this CPU time, until the tenant has to wait; returns how many were started. */
function startKeys(tenant: string, max: number, costMs: number): number {
  for (let started = 0; started < max; started += 1) {
    if (cpuShare.waitMs(tenant) > 0) return started;
    cpuShare.started(tenant);
    busyMs += costMs;
    clock.advance(costMs);
  }
  return max;
}

describe("the CPU share", () => {
  test("does not limit a tenant that is alone", () => {
    expect(startKeys("noisy", 5_000, 1)).toBe(5_000);
  });

  test("does not limit a tenant a second after the last key of another tenant", () => {
    cpuShare.started("quiet");
    startKeys("noisy", 1_000, 1);
    expect(cpuShare.waitMs("noisy")).toBeGreaterThan(0);
    clock.advance(1_000);
    expect(startKeys("noisy", 5_000, 1)).toBe(5_000);
  });

  test("makes a tenant wait when its share is used up, until it is refilled", () => {
    cpuShare.started("quiet");
    const started = startKeys("noisy", 5_000, 1);
    // The saved-up budget of a hundred milliseconds, and the share of the elapsed time.
    expect(started).toBeGreaterThan(100);
    expect(started).toBeLessThan(250);
    clock.advance(cpuShare.waitMs("noisy"));
    expect(cpuShare.waitMs("noisy")).toBeLessThanOrEqual(1);
  });

  test("lets a tenant start more keys if they cost less", () => {
    const startedWith = (costMs: number): number => {
      cpuShare = createCpuShare({ clock, busyMs: () => busyMs, share });
      let started = 0;
      for (let second = 0; second < 20; second += 1) {
        cpuShare.started("quiet");
        started += startKeys("noisy", 500, costMs);
        clock.advance(500);
      }
      return started;
    };
    const [lowCost, highCost] = [startedWith(0.1), startedWith(2)];
    expect(lowCost / highCost).toBeGreaterThan(5);
  });

  test("does not make a tenant wait for the usage of another", () => {
    cpuShare.started("quiet");
    startKeys("noisy", 5_000, 1);
    expect(cpuShare.waitMs("noisy")).toBeGreaterThan(0);
    expect(cpuShare.waitMs("quiet")).toBe(0);
  });
});

test("a queue limits a noisy tenant while others work, and reconciles all of its keys", async () => {
  const stop = new AbortController();
  const queue = createMemoryQueue({
    clock: { ...clock, busyMs: () => busyMs },
    random: () => 0.5,
    tenantCpuShare: share,
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
      await afterPending();
    }
  };
  const keys = (logicalCluster: string, count: number) =>
    Array.from({ length: count }, (_, at) => ({
      key: { logicalCluster, kind: "WorkloadPlacement" as const, name: `${at}` },
      reason: "changed" as const,
    }));
  await queue.send(keys("noisy", 2_000));
  for (let at = 0; at < 50; at += 1) {
    await queue.send(keys("quiet", 1));
    await pass(20);
  }
  expect(counts.get("quiet")).toBe(50);
  const whileContended = counts.get("noisy") ?? 0;
  expect(whileContended).toBeGreaterThan(100);
  expect(whileContended).toBeLessThan(1_000);
  await pass(4_000);
  expect(counts.get("noisy")).toBe(2_000);
  stop.abort();
});
