import { expect, test } from "vitest";
import { done } from "../../../lib/model/next.ts";
import { createMemoryQueue } from "../../../lib/queue/memory-queue.ts";
import { changesOfTenants, type Waits } from "../../support/changes-of-tenants.ts";
import { createManualClock } from "../../support/manual-clock.ts";

/** Five workers, to whom every key is five milliseconds of work. */
async function waits({ noise, share }: Readonly<{ noise: number; share?: number }>): Promise<Waits> {
  const clock = createManualClock(0);
  const stop = new AbortController();
  const answer = await changesOfTenants({
    clock,
    noise,
    stepMs: 2.5,
    everyMs: 25,
    changes: 200,
    create: (onDone) => {
      const queue = createMemoryQueue({ clock, random: () => 0.5, tenantConcurrency: share });
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
  return answer;
}

test("one tenant with 100,000 keys leaves the others' p99 as it was, and goes on with its own", async () => {
  const alone = await waits({ noise: 0, share: 3 });
  const beside = await waits({ noise: 100_000, share: 3 });
  expect(alone.p99Ms).toBe(5);
  expect(beside.p99Ms / alone.p99Ms).toBeLessThanOrEqual(1.1);
  // Three workers, two hundred keys a second each, for six seconds.
  expect(beside.noisy).toBeGreaterThan(3_500);
});

test("that is due to its share: turns alone have the others wait for a worker", async () => {
  const beside = await waits({ noise: 100_000 });
  expect(beside.p99Ms).toBeGreaterThan(5 * 1.1);
  expect(beside.p99Ms).toBeLessThanOrEqual(10);
});
