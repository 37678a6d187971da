import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { BatchRunner } from "../../../lib/queue/batch.ts";
import { createSqsQueue } from "../../../lib/queue/sqs.ts";
import type { QueueUrls, SqsClient } from "../../../lib/queue/sqs-client.ts";
import { receiveMessages, redeliveryDelaySeconds } from "../../../lib/queue/sqs-receive.ts";
import { type Outage, runSqsWorker, type SqsWorkerOptions } from "../../../lib/queue/sqs-worker.ts";
import { parseBody, type WorkMessage } from "../../../lib/queue/work-message.ts";
import { eventually } from "../../support/eventually.ts";
import { createQueues, interceptSqs, type SqsCall, startSqs } from "../../support/sqs.ts";

let server: Awaited<ReturnType<typeof startSqs>>;
let urls: QueueUrls;
beforeAll(async () => {
  server = await startSqs();
});
afterAll(() => server.stop());
beforeEach(async () => {
  ({ urls } = await createQueues(server.sqs));
});

const item = (name: string, more: Partial<WorkMessage> = {}): WorkMessage => ({
  key: { logicalCluster: "t", kind: "ClusterRegistration", name },
  reason: "changed",
  ...more,
});
const send = (...names: string[]) => createSqsQueue({ sqs: server.sqs, urls }).send(names.map((name) => item(name)));
const succeeds: BatchRunner = async () => ({ failed: [] });

function begin(run: BatchRunner, options: Partial<SqsWorkerOptions> = {}) {
  const stop = new AbortController();
  const ran: string[] = [];
  const outages: Outage[] = [];
  const ended = runSqsWorker({
    sqs: server.sqs,
    urls,
    run: async (records, signal, drain) => {
      ran.push(...records.map(({ body }) => parseBody(body).key.name));
      return run(records, signal, drain);
    },
    signal: stop.signal,
    waitSeconds: 1,
    onOutage: (outage) => outages.push(outage),
    ...options,
  });
  return {
    ran,
    outages,
    ended,
    stop: async () => {
      stop.abort();
      await ended;
    },
    signal: stop,
  };
}
const until = (holds: () => boolean, what: string) => eventually(async () => (holds() ? undefined : what));

/** Records the calls of a client. */
function recording(sqs: SqsClient, answer?: (call: SqsCall, pass: () => Promise<unknown>) => Promise<unknown>) {
  const calls: SqsCall[] = [];
  const client = interceptSqs(sqs, (call, pass) => {
    calls.push(call);
    return answer === undefined ? pass() : answer(call, pass);
  });
  return { calls, client };
}

describe("the SQS worker", () => {
  test("the worker deletes processed messages, and makes failed ones visible again after five seconds", async () => {
    const { calls, client } = recording(server.sqs);
    const worker = begin(
      async (records) => ({
        failed: records.filter(({ body }) => parseBody(body).key.name === "bad").map(({ messageId }) => messageId),
      }),
      { sqs: client },
    );
    await send("good", "bad");
    const given = () => calls.filter(({ name }) => name === "ChangeMessageVisibilityBatch");
    await until(() => given().length > 0 && worker.ran.includes("good"), "neither was answered");
    await worker.stop();
    expect(given()[0]?.input.Entries).toMatchObject([{ VisibilityTimeout: 5 }]);
    const deleted = calls.filter(({ name }) => name === "DeleteMessageBatch").flatMap(({ input }) => input.Entries);
    expect(deleted).toHaveLength(1);
  });

  test("the redelivery delay grows up to half a minute, because newer changes of the key wait behind the message", () => {
    expect([1, 2, 3, 4, 100].map(redeliveryDelaySeconds)).toEqual([5, 15, 30, 30, 30]);
  });

  test("the worker hides its messages for longer than a batch may take, whatever the setting of the queue is", async () => {
    const { calls, client } = recording(server.sqs);
    const worker = begin(async () => ({ failed: [] }), { sqs: client, batchSeconds: 45 });
    await until(() => calls.some(({ name }) => name === "ReceiveMessage"), "nothing was received");
    await worker.stop();
    expect(calls.find(({ name }) => name === "ReceiveMessage")?.input.VisibilityTimeout).toBe(55);
  });

  test("the worker processes batches concurrently", async () => {
    const gate = Promise.withResolvers<void>();
    const worker = begin(
      async (records) => {
        if (records.some(({ body }) => parseBody(body).key.name === "slow")) await gate.promise;
        return { failed: [] };
      },
      { batches: 2 },
    );
    await send("slow");
    await until(() => worker.ran.includes("slow"), "the slow one was not begun");
    await send("quick");
    await until(() => worker.ran.includes("quick"), "the quick one waits for the slow one");
    gate.resolve();
    await worker.stop();
  });

  test("the worker reads the delay queue only if it forwards", async () => {
    const queue = createSqsQueue({ sqs: server.sqs, urls });
    await queue.sendLater(item("web", { reason: "resync" }), 1);
    const { calls, client } = recording(server.sqs);
    const idle = begin(succeeds, { sqs: client });
    await until(() => calls.length > 1, "it does not ask");
    await idle.stop();
    expect(calls.some(({ input }) => input.QueueUrl === urls.delay)).toBe(false);
    const forwarding = begin(succeeds, { forward: true });
    await until(() => forwarding.ran.includes("web"), "nothing was handed on");
    await forwarding.stop();
    expect(await receiveMessages(server.sqs, urls.delay, { waitSeconds: 0 })).toEqual([]);
  });

  test("a drain waits for the batch in flight and deletes its messages", async () => {
    const gate = Promise.withResolvers<void>();
    const { calls, client } = recording(server.sqs);
    const worker = begin(
      async () => {
        await gate.promise;
        return { failed: [] };
      },
      { sqs: client },
    );
    await send("web");
    await until(() => worker.ran.length > 0, "it was not begun");
    worker.signal.abort();
    gate.resolve();
    await worker.ended;
    expect(calls.filter(({ name }) => name === "DeleteMessageBatch")).toHaveLength(1);
  });

  test("a stop does not abort a pending receive, and returns its messages to the queue", async () => {
    const asked = Promise.withResolvers<void>();
    const stopped = Promise.withResolvers<void>();
    // The queue answers the pending receive with a message just after the worker was stopped.
    const { calls, client } = recording(server.sqs, async ({ name, signal }, pass) => {
      if (name !== "ReceiveMessage") return pass();
      asked.resolve();
      await stopped.promise;
      signal?.throwIfAborted();
      return pass();
    });
    const failsDuringDrain: BatchRunner = async (records, _, drain) => ({
      failed: drain?.aborted === true ? records.map(({ messageId }) => messageId) : [],
    });
    const worker = begin(failsDuringDrain, { sqs: client, batches: 1 });
    await asked.promise;
    await send("web");
    worker.signal.abort();
    stopped.resolve();
    await worker.ended;
    expect(calls.map(({ name }) => name)).toEqual(["ReceiveMessage", "ChangeMessageVisibilityBatch"]);
    expect(await receiveMessages(server.sqs, urls.work, { waitSeconds: 0 })).toHaveLength(1);
  });

  test("a batch that exceeds the grace period is aborted and returned to the queue at once", async () => {
    const clock = createManualClock();
    const failsWhenAborted: BatchRunner = (records, signal) =>
      new Promise((resolve) => {
        const failed = records.map(({ messageId }) => messageId);
        signal.addEventListener("abort", () => resolve({ failed }), { once: true });
      });
    const worker = begin(failsWhenAborted, { clock, graceSeconds: 5, batches: 1 });
    await send("web");
    await until(() => worker.ran.length > 0, "it was not begun");
    worker.signal.abort();
    clock.advance(4_900);
    expect(await Promise.race([worker.ended.then(() => "ended"), Promise.resolve("waits")])).toBe("waits");
    clock.advance(200);
    await worker.ended;
    expect(clock.pending).toBe(0);
    expect(await receiveMessages(server.sqs, urls.work, { waitSeconds: 0 })).toHaveLength(1);
  });

  test("a batch that takes too long is aborted, and the next one is processed", async () => {
    const clock = createManualClock();
    const stuck: BatchRunner = (records, signal) =>
      new Promise((resolve) => {
        if (!records.some(({ body }) => parseBody(body).key.name === "stuck")) resolve({ failed: [] });
        const failed = records.map(({ messageId }) => messageId);
        signal.addEventListener("abort", () => resolve({ failed }), { once: true });
      });
    const worker = begin(stuck, { clock, batchSeconds: 60, batches: 1 });
    await send("stuck");
    await until(() => worker.ran.length > 0, "it was not begun");
    await send("next");
    clock.advance(60_000);
    await until(() => worker.ran.includes("next"), "the next one waits");
    await worker.stop();
  });

  test("the worker backs off while the queue is unreachable, reports the outage once, and resumes", async () => {
    const clock = createManualClock();
    let isAway = true;
    const { calls, client } = recording(server.sqs, async (_, pass) => {
      if (isAway) throw Object.assign(new Error("connect"), { code: "ECONNREFUSED" });
      return pass();
    });
    const worker = begin(succeeds, { sqs: client, clock, batches: 3, random: () => 0.99 });
    for (let minute = 0; minute < 10; minute++) {
      for (let second = 0; second < 60; second++) {
        clock.advance(1_000);
        await new Promise(setImmediate);
      }
    }
    expect(calls.length, "three pollers, every half minute").toBeLessThan(90);
    expect(calls.length).toBeGreaterThan(45);
    expect(worker.outages).toMatchObject([
      { kind: "begun", error: { message: expect.stringContaining("ECONNREFUSED") } },
    ]);
    isAway = false;
    await send("web");
    await until(() => {
      clock.advance(1_000);
      return worker.ran.includes("web") && worker.outages.length > 1;
    }, "it does not go on");
    expect(worker.outages.map(({ kind }) => kind)).toEqual(["begun", "ended"]);
    await worker.stop();
  });

  test("a stop while the queue is unreachable ends at once and leaves no timer", async () => {
    const clock = createManualClock();
    const client = interceptSqs(server.sqs, async () => {
      throw new Error("away");
    });
    const worker = begin(succeeds, { sqs: client, clock });
    await until(() => worker.outages.length > 0, "it has not noticed");
    await worker.stop();
    expect(clock.pending).toBe(0);
  });
});
