import { systemClock } from "@tmc/kube/clock.ts";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createSqsSharedQueue, divideWorkers } from "../../../lib/controller/shared-queue.ts";
import type { WorkItem } from "../../../lib/model/work-item.ts";
import { done } from "../../../lib/model/work-item.ts";
import type { QueueEvent } from "../../../lib/queue/queue-event.ts";
import { eventually } from "../../support/eventually.ts";
import { createQueues, startSqs } from "../../support/sqs.ts";

let server: Awaited<ReturnType<typeof startSqs>>;
beforeAll(async () => {
  server = await startSqs();
});
afterAll(() => server.stop());

describe("a shared SQS queue", () => {
  test("divideWorkers never exceeds the number of workers, and uses more than half of them", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), (workers) => {
        const { batches, keysPerBatch } = divideWorkers(workers);
        expect(batches * keysPerBatch).toBeLessThanOrEqual(workers);
        expect(batches * keysPerBatch).toBeGreaterThan(workers / 2);
        expect(keysPerBatch).toBeLessThanOrEqual(10);
      }),
    );
  });

  test("a shared SQS queue reconciles every sent key, and reports each batch before its first key", async () => {
    const { urls } = await createQueues(server.sqs);
    const queue = createSqsSharedQueue({ sqs: server.sqs, urls, clock: systemClock });
    const order: string[] = [];
    const events: QueueEvent["kind"][] = [];
    const stop = new AbortController();
    const ended = queue.run(
      async ({ key }) => {
        order.push(key.name);
        return done;
      },
      {
        workers: 2,
        signal: stop.signal,
        graceSeconds: 1,
        onBatch: () => order.push("batch"),
        onEvent: ({ kind }) => events.push(kind),
      },
    );
    const item: WorkItem = { key: { logicalCluster: "t", kind: "WorkloadPlacement", name: "web" }, reason: "changed" };
    await queue.send([item]);
    await eventually(async () => (events.includes("ended") ? undefined : "the key was not reconciled"));
    stop.abort();
    await ended;
    expect(order).toEqual(["batch", "web"]);
    expect(events).toEqual(expect.arrayContaining(["added", "started", "ended"]));
  });
});
