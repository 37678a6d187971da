import { setImmediate as afterPending } from "node:timers/promises";
import { ControllerError } from "@tmc/kube/fault.ts";
import { createManualClock } from "@tmc/kube/manual-clock.ts";
import type { SQSEvent } from "aws-lambda";
import { describe, expect, test } from "vitest";
import type { Work, WorkItem } from "../../../lib/model/work-item.ts";
import { done, requeueAfter } from "../../../lib/model/work-item.ts";
import {
  type BatchRecord,
  type BatchRunnerOptions,
  batchRecordsOf,
  createBatchRunner,
} from "../../../lib/queue/batch.ts";
import type { QueueEvent } from "../../../lib/queue/queue-event.ts";
import { aRecord, aSendingQueue, type Sent } from "../lambda/batch-records.ts";

const never: Work = () => new Promise<never>(() => {});
const failing =
  (error: unknown): Work =>
  async () => {
    throw error;
  };
const unreachable = new ControllerError("unreachable", "no route");

function startRunner(
  work: Work,
  options: Partial<BatchRunnerOptions> & Readonly<{ rejects?: Parameters<typeof aSendingQueue>[0] }> = {},
) {
  const clock = createManualClock(10_000);
  const { queue, sent } = aSendingQueue(options.rejects);
  const events: QueueEvent[] = [];
  const ran: WorkItem[] = [];
  const abort = new AbortController();
  const runBatch = createBatchRunner({
    work: async (item, signal) => {
      ran.push(item);
      return work(item, signal);
    },
    queue,
    clock,
    random: () => 0.5,
    onEvent: (event) => events.push(event),
    ...options,
  });
  return {
    run: (records: readonly BatchRecord[]) => runBatch(records, abort.signal),
    runBatch,
    clock,
    sent,
    events,
    ran,
    abort,
  };
}

type Row = Readonly<{
  work: Work;
  record?: Parameters<typeof aRecord>[1];
  rejects?: Parameters<typeof aSendingQueue>[0];
  fails?: true;
  sent?: readonly object[];
  outcome: string;
}>;

const rows: Record<string, Row> = {
  "deletes the message of a reconcile that is done": { work: async () => done, outcome: "done" },
  "sends a requeue before it deletes the message, without the version and the attempts": {
    work: async () => requeueAfter(30),
    record: { resourceVersion: "7", attempts: { transient: 3 } },
    sent: [{ to: "later", afterSeconds: 30, item: { key: aKey(), reason: "requeue" } }],
    outcome: "requeue",
  },
  "fails a message whose requeue cannot be sent": {
    work: async () => requeueAfter(30),
    rejects: { later: true },
    fails: true,
    outcome: "returned",
  },
  "treats an invalid requeue delay as a bug": {
    work: async () => requeueAfter(Number.NaN),
    sent: [{ to: "later", item: { reason: "retry", attempts: { unexpected: 1 } } }],
    outcome: "retry",
  },
  "retries a transient fault with a delay and counts it": {
    work: failing(unreachable),
    record: { resourceVersion: "7", attempts: { transient: 2, conflict: 1 } },
    sent: [
      { to: "later", afterSeconds: 2, item: { key: aKey(), reason: "retry", attempts: { transient: 3, conflict: 1 } } },
    ],
    outcome: "retry",
  },
  "retries a conflict without a delay": {
    work: failing(new ControllerError("conflict", "stale")),
    sent: [{ to: "later", afterSeconds: 0, item: { reason: "retry", attempts: { conflict: 1 } } }],
    outcome: "retry",
  },
  "fails a message whose retry cannot be sent": {
    work: failing(unreachable),
    rejects: { later: true },
    fails: true,
    outcome: "returned",
  },
  "drops a key with a permanent fault until it changes": {
    work: failing(new ControllerError("forbidden", "no access")),
    outcome: "drop",
  },
  "retries an unexpected error": {
    work: failing(new TypeError("bug")),
    record: { attempts: { unexpected: 3 } },
    sent: [{ to: "later", afterSeconds: 4, item: { attempts: { unexpected: 4 } } }],
    outcome: "retry",
  },
  "dead-letters the fifth unexpected error, with its cause": {
    work: failing(new TypeError("bug")),
    record: { attempts: { unexpected: 4 } },
    sent: [{ to: "deadLetters", cause: "TypeError: bug", message: { key: aKey(), attempts: { unexpected: 5 } } }],
    outcome: "dead-letter",
  },
  "fails a message that cannot be dead-lettered": {
    work: failing(new TypeError("bug")),
    record: { attempts: { unexpected: 4 } },
    rejects: { deadLetters: true },
    fails: true,
    outcome: "returned",
  },
  "dead-letters an unreadable body unchanged, with the reason": {
    work: async () => done,
    record: { record: { body: "{}", groupId: "g" } },
    sent: [
      { to: "deadLetters", cause: "message: has the version missing, not 1", message: { body: "{}", groupId: "g" } },
    ],
    outcome: "unreadable",
  },
  "fails an unreadable message that cannot be dead-lettered": {
    work: async () => done,
    record: { record: { body: "{}" } },
    rejects: { deadLetters: true },
    fails: true,
    outcome: "unreadable",
  },
};

function aKey() {
  return { logicalCluster: "t", kind: "WorkloadPlacement", name: "web" };
}

describe("the batch runner", () => {
  test.each(Object.entries(rows))("%s", async (_, { work, record, rejects = {}, fails, sent = [], outcome }) => {
    const batch = startRunner(work, { rejects });
    const [tested, other] = [aRecord("web", record), aRecord("other", { reason: "resync" })];
    const { failed } = await batch.run([tested]);
    expect(failed).toEqual(fails === true ? [tested.messageId] : []);
    expect(batch.sent).toMatchObject(sent);
    expect(batch.sent).toHaveLength(sent.length);
    const last = batch.events.at(-1);
    expect(last?.kind === "ended" ? last.outcome : last?.kind).toBe(outcome);
    // In any case, another key of a later batch is reconciled.
    expect((await startRunner(async () => done).run([other])).failed).toEqual([]);
  });

  test("coalesces the messages of a key: the newest version, the strongest reason and the most failures", async () => {
    const { run, ran, sent, events } = startRunner(failing(unreachable));
    const records = [
      aRecord("web", { reason: "on-demand", resourceVersion: "5", record: { sentMs: 4_000, receives: 3 } }),
      aRecord("web", { reason: "retry", attempts: { transient: 2 }, record: { sentMs: 5_000 } }),
      aRecord("web", { resourceVersion: "8", record: { sentMs: 9_000 } }),
    ];
    expect(await run(records)).toEqual({ failed: [] });
    expect(ran).toEqual([{ key: aKey(), reason: "on-demand", resourceVersion: "8" }]);
    expect(sent).toMatchObject([{ item: { attempts: { transient: 3 } } }]);
    expect(events[0]).toMatchObject({ kind: "started", messages: 3, receives: 3, waitedSeconds: 6 });
  });

  test("fails all messages of a key if its next message cannot be sent, and no others of its group", async () => {
    const records = [aRecord("web"), aRecord("api"), aRecord("web"), aRecord("web", { record: { body: "?" } })];
    const { run } = startRunner(async ({ key }) => (key.name === "web" ? requeueAfter(5) : done), {
      rejects: { later: true },
    });
    expect(await run(records)).toEqual({ failed: [0, 2].map((at) => records[at]?.messageId) });
  });

  test("reconciles several keys of one message group concurrently", async () => {
    const both = Promise.withResolvers<void>();
    let running = 0;
    const { run } = startRunner(async () => {
      running += 1;
      if (running === 2) both.resolve();
      await both.promise;
      return done;
    });
    const records = [aRecord("web"), aRecord("api")];
    expect(new Set(records.map(({ groupId }) => groupId)).size, "placements of a tenant share a group").toBe(1);
    expect(await run(records)).toEqual({ failed: [] });
  });

  test("fails only the message that hangs when the time is over", async () => {
    const { run, abort, ran } = startRunner(async (item, signal) =>
      item.key.name === "stuck" ? never(item, signal) : done,
    );
    const records = ["a", "stuck", "b"].map((name) => aRecord(name));
    const result = run(records);
    await afterPending();
    expect(ran).toHaveLength(3);
    abort.abort();
    expect(await result).toEqual({ failed: [records[1]?.messageId] });
  });

  test("fails messages that were not started in time, and does not start them later", async () => {
    const { run, abort, ran } = startRunner(never, { maxConcurrentKeys: 1 });
    const records = ["stuck", "a", "b"].map((name) => aRecord(name));
    const result = run(records);
    await afterPending();
    abort.abort();
    expect((await result).failed).toHaveLength(3);
    await afterPending();
    expect(ran).toHaveLength(1);
  });

  test("sends nothing for a reconcile that ends after the batch has returned", async () => {
    const gate = Promise.withResolvers<void>();
    const { run, abort, sent, events } = startRunner(async () => {
      await gate.promise;
      return requeueAfter(5);
    });
    const result = run([aRecord("web")]);
    abort.abort();
    await result;
    gate.resolve();
    await afterPending();
    expect(sent).toEqual([]);
    expect(events.at(-1)).toMatchObject({ kind: "ended", outcome: "returned" });
  });

  test("does not count an aborted reconcile as a failure of its key", async () => {
    const { run, abort, sent } = startRunner(
      (_, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(new TypeError("cut")), { once: true });
        }),
    );
    const result = run([aRecord("web", { attempts: { unexpected: 4 } })]);
    abort.abort();
    expect((await result).failed).toHaveLength(1);
    await afterPending();
    expect(sent).toEqual([]);
  });

  test("fails a whole batch if the time is over before it starts", async () => {
    const { run, abort, ran } = startRunner(async () => done);
    abort.abort();
    expect((await run([aRecord("a"), aRecord("b")])).failed).toHaveLength(2);
    expect(ran).toEqual([]);
  });

  test("starts no further key during a drain and lets keys in flight end", async () => {
    const gate = Promise.withResolvers<void>();
    const drain = new AbortController();
    const { runBatch, abort, ran } = startRunner(
      async () => {
        await gate.promise;
        return done;
      },
      { maxConcurrentKeys: 1 },
    );
    const records = [aRecord("a"), aRecord("b")];
    const result = runBatch(records, abort.signal, drain.signal);
    await afterPending();
    drain.abort();
    gate.resolve();
    expect(await result).toEqual({ failed: [records[1]?.messageId] });
    expect(ran.map(({ key }) => key.name)).toEqual(["a"]);
  });

  test("sends the next message of a key before it returns", async () => {
    const order: string[] = [];
    const { run } = startRunner(async () => requeueAfter(5), {
      queue: {
        sendLater: async () => {
          await afterPending();
          order.push("sent");
        },
        deadLetter: async () => {},
      },
    });
    await run([aRecord("web")]).then(() => order.push("returned"));
    expect(order).toEqual(["sent", "returned"]);
  });

  test("continues if its listener throws", async () => {
    const onEvent = () => {
      throw new Error("listener");
    };
    expect(await startRunner(async () => done, { onEvent }).run([aRecord("web")])).toEqual({ failed: [] });
  });

  test("accepts an empty batch", async () => {
    expect(await startRunner(never).run([])).toEqual({ failed: [] });
  });

  test("converts the documented event of Lambda", () => {
    const event: SQSEvent = {
      Records: [
        {
          messageId: "m",
          receiptHandle: "r",
          body: "b",
          attributes: {
            ApproximateReceiveCount: "2",
            SentTimestamp: "1700000000123",
            SenderId: "s",
            ApproximateFirstReceiveTimestamp: "1700000000200",
            MessageGroupId: "g",
          },
          messageAttributes: {},
          md5OfBody: "",
          eventSource: "aws:sqs",
          eventSourceARN: "arn",
          awsRegion: "eu-west-1",
        },
      ],
    };
    expect(batchRecordsOf(event)).toEqual([
      { messageId: "m", body: "b", groupId: "g", sentMs: 1_700_000_000_123, receives: 2, receipt: "r" },
    ]);
  });

  describe("a message that was received more than five times without a result", () => {
    test("is not run, and is retried by a new message with a failure more", async () => {
      const { run, sent, ran } = startRunner(async () => done);
      const record = { receives: 6 };
      expect(await run([aRecord("web", { attempts: { transient: 2 }, record })])).toEqual({ failed: [] });
      expect(ran).toEqual([]);
      expect(sent).toMatchObject([
        { to: "later", item: { reason: "retry", attempts: { transient: 2, unexpected: 1 } } },
      ]);
    });

    test("is dead-lettered after five such failures, with the reason", async () => {
      const { run, sent, ran } = startRunner(async () => done);
      expect(await run([aRecord("web", { attempts: { unexpected: 4 }, record: { receives: 6 } })])).toEqual({
        failed: [],
      });
      expect(ran).toEqual([]);
      expect(sent).toMatchObject([{ to: "deadLetters", cause: "no result after 5 receives of its message" }]);
    });

    test("runs if throttled invocations caused the receives: the new message starts a new count", async () => {
      const { run, sent, ran } = startRunner(async () => done);
      await run([aRecord("web", { record: { receives: 600 } })]);
      const [retry] = sent.splice(0);
      await run([aRecord("web", { ...(retry?.to === "later" ? retry.item : {}), record: { receives: 1 } })]);
      expect(ran).toHaveLength(1);
      expect(sent).toEqual([]);
    });

    test("is run at the fifth receive", async () => {
      const { run, ran } = startRunner(async () => done);
      await run([aRecord("web", { record: { receives: 5 } })]);
      expect(ran).toHaveLength(1);
    });
  });

  test("redacts secrets in the cause of a dead letter", async () => {
    const { run, sent } = startRunner(failing(new TypeError("cannot read token=abc123secret of x")));
    await run([aRecord("web", { attempts: { unexpected: 4 } })]);
    expect(JSON.stringify(sent satisfies readonly Sent[])).not.toContain("abc123secret");
  });
});
