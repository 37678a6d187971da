import { expect, test } from "vitest";
import type { WorkItem } from "../../../lib/model/work-item.ts";
import { defaultTenantEventsPerSecond, type TenantRate, tenantRateOf } from "../../../lib/queue/tenant-rate-limit.ts";
import { createOutbox } from "../../../lib/relay/outbox.ts";
import { changesOfTenants, type Waits } from "../../support/changes-of-tenants.ts";
import { createManualClock, type ManualClock } from "../../support/manual-clock.ts";

/** A FIFO queue and functions behind it: so many batches of up to ten keys at once, in the order in which keys came. */
function aFifoQueue(clock: ManualClock, done: (item: WorkItem) => void) {
  const { batches, batchSize, runMs } = { batches: 20, batchSize: 10, runMs: 250 };
  const line: WorkItem[] = [];
  let head = 0;
  let busy = 0;
  const hand = (): void => {
    while (busy < batches && head < line.length) {
      const batch = line.slice(head, head + batchSize);
      head += batch.length;
      busy += 1;
      clock.after(runMs, () => {
        busy -= 1;
        batch.forEach(done);
        hand();
      });
    }
  };
  return {
    send: async (items: readonly WorkItem[]) => {
      for (const item of items) line.push(item);
      hand();
    },
  };
}

function waits(noise: number, tenantRate: TenantRate | undefined): Promise<Waits> {
  const clock = createManualClock(0);
  return changesOfTenants({
    clock,
    noise,
    stepMs: 10,
    everyMs: 50,
    changes: 400,
    create: (done) => {
      const queue = aFifoQueue(clock, done);
      // As the relay of its own has it.
      const outbox = createOutbox({ queue, clock, random: () => 0.5, batchSize: 100, gatherMs: 100, tenantRate });
      return { send: outbox.add };
    },
  });
}

const usual = tenantRateOf({ perSecond: defaultTenantEventsPerSecond, isShared: true });

test("before a queue that knows of no tenants, one with 100,000 changes leaves the others' p99 as it was", async () => {
  const alone = await waits(0, usual);
  const beside = await waits(100_000, usual);
  expect(alone.p99Ms).toBeLessThanOrEqual(360);
  expect(beside.p99Ms / alone.p99Ms).toBeLessThanOrEqual(1.1);
  // It has its rate for twenty seconds, less what is on its way.
  expect(beside.noisy).toBeGreaterThan(1_900);
});

test("that is due to its limit: without one the others wait behind all of its keys", async () => {
  const beside = await waits(100_000, undefined);
  expect(beside.p99Ms).toBe(Number.POSITIVE_INFINITY);
});

test("whoever is the only tenant has no limit", () => {
  expect(tenantRateOf({ perSecond: 100, isShared: false })).toBeUndefined();
  expect(tenantRateOf({ perSecond: 0, isShared: true })).toBeUndefined();
  expect(usual).toEqual({ perSecond: 100, burst: 25 });
});
