import { createManualClock, type ManualClock } from "@tmc/kube/manual-clock.ts";
import { expect, test } from "vitest";
import type { WorkItem } from "../../../../lib/model/work-item.ts";
import {
  defaultTenantEventsPerSecond,
  type TenantRate,
  tenantRateOf,
} from "../../../../lib/queue/tenant-rate-limit.ts";
import { createOutbox } from "../../../../lib/relay/outbox/outbox.ts";
import { changesOfTenants, type Waits } from "../../../support/changes-of-tenants.ts";

/** A FIFO queue and its consumers: 20 concurrent batches of up to ten keys, in the order in which the keys arrived. */
function aFifoQueue(clock: ManualClock, done: (item: WorkItem) => void) {
  const { batches, batchSize, runMs } = { batches: 20, batchSize: 10, runMs: 250 };
  const pending: WorkItem[] = [];
  let head = 0;
  let busy = 0;
  const dispatch = (): void => {
    while (busy < batches && head < pending.length) {
      const batch = pending.slice(head, head + batchSize);
      head += batch.length;
      busy += 1;
      clock.after(runMs, () => {
        busy -= 1;
        batch.forEach(done);
        dispatch();
      });
    }
  };
  return {
    send: async (items: readonly WorkItem[]) => {
      for (const item of items) pending.push(item);
      dispatch();
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
      // The values of the relay service.
      const outbox = createOutbox({ queue, clock, random: () => 0.5, batchSize: 100, gatherMs: 100, tenantRate });
      return { send: outbox.add };
    },
  });
}

const defaultRate = tenantRateOf({ perSecond: defaultTenantEventsPerSecond, isShared: true });

test("with the rate limit, one tenant with 100,000 changes does not raise the p99 latency of other tenants on a FIFO queue", async () => {
  const alone = await waits(0, defaultRate);
  const withNoise = await waits(100_000, defaultRate);
  expect(alone.p99Ms).toBeLessThanOrEqual(360);
  expect(withNoise.p99Ms / alone.p99Ms).toBeLessThanOrEqual(1.1);
  // The rate limit of twenty seconds, less the keys in flight.
  expect(withNoise.noisy).toBeGreaterThan(1_900);
});

test("without the rate limit, other tenants wait behind all keys of one tenant", async () => {
  const withNoise = await waits(100_000, undefined);
  expect(withNoise.p99Ms).toBe(Number.POSITIVE_INFINITY);
});

test("a single tenant has no rate limit", () => {
  expect(tenantRateOf({ perSecond: 100, isShared: false })).toBeUndefined();
  expect(tenantRateOf({ perSecond: 0, isShared: true })).toBeUndefined();
  expect(defaultRate).toEqual({ perSecond: 100, burst: 25 });
});
