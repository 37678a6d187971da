import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { expect, test } from "vitest";
import { done } from "../../../lib/model/work-item.ts";
import { createMemoryQueue } from "../../../lib/queue/memory-queue.ts";
import { changesOfTenants, type Waits } from "../../support/changes-of-tenants.ts";

/** Five workers; every key takes five milliseconds. */
async function measureWaits({
  noise,
  tenantConcurrency,
}: Readonly<{ noise: number; tenantConcurrency?: number }>): Promise<Waits> {
  const clock = createManualClock(0);
  const stop = new AbortController();
  const result = await changesOfTenants({
    clock,
    noise,
    stepMs: 2.5,
    everyMs: 25,
    changes: 200,
    create: (onDone) => {
      const queue = createMemoryQueue({ clock, random: () => 0.5, tenantConcurrency: tenantConcurrency });
      void queue.run(
        async (item) => {
          await new Promise<void>((resolve) => void clock.after(5, resolve));
          onDone(item);
          return done;
        },
        { workers: 5, signal: stop.signal },
      );
      return { send: (items) => void queue.send(items) };
    },
  });
  stop.abort();
  return result;
}

test("a tenant with 100,000 keys does not increase the p99 latency of other tenants, and makes progress itself", async () => {
  const alone = await measureWaits({ noise: 0, tenantConcurrency: 3 });
  const contended = await measureWaits({ noise: 100_000, tenantConcurrency: 3 });
  expect(alone.p99Ms).toBe(5);
  expect(contended.p99Ms / alone.p99Ms).toBeLessThanOrEqual(1.1);
  // Three workers, 200 keys per second each, for six seconds.
  expect(contended.noisy).toBeGreaterThan(3_500);
});

test("without a tenant concurrency, round-robin alone makes other tenants wait for a worker", async () => {
  const contended = await measureWaits({ noise: 100_000 });
  expect(contended.p99Ms).toBeGreaterThan(5 * 1.1);
  expect(contended.p99Ms).toBeLessThanOrEqual(10);
});
