import { setImmediate as afterPending } from "node:timers/promises";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { SQSEvent } from "aws-lambda";
import { describe, expect, test } from "vitest";
import { done, requeueAfter } from "../../../lib/model/next.ts";
import type { Work, WorkItem } from "../../../lib/model/work-item.ts";
import { type BatchRecord, type BatchRunnerOptions, createBatchRunner, recordsOf } from "../../../lib/queue/batch.ts";
import type { QueueEvent } from "../../../lib/queue/queue-event.ts";
import { createManualClock } from "../../support/manual-clock.ts";
import { aRecord, aSendingQueue, type Sent } from "../lambda/batch-records.ts";

const never: Work = () => new Promise<never>(() => {});
const failing =
  (error: unknown): Work =>
  async () => {
    throw error;
  };
const unreachable = new ControllerError("unreachable", "no route");

function begin(
  work: Work,
  options: Partial<BatchRunnerOptions> & Readonly<{ refuses?: Parameters<typeof aSendingQueue>[0] }> = {},
) {
  const clock = createManualClock(10_000);
  const { queue, sent } = aSendingQueue(options.refuses);
  const events: QueueEvent[] = [];
  const ran: WorkItem[] = [];
  const end = new AbortController();
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
    run: (records: readonly BatchRecord[]) => runBatch(records, end.signal),
    runBatch,
    clock,
    sent,
    events,
    ran,
    end,
  };
}

/** What is sent for a record, as far as a row says. */
type Row = Readonly<{
  work: Work;
  record?: Parameters<typeof aRecord>[1];
  refuses?: Parameters<typeof aSendingQueue>[0];
  fails?: true;
  sent?: readonly object[];
  outcome: string;
}>;

const rows: Record<string, Row> = {
  "a run that is settled is done": { work: async () => done, outcome: "done" },
  "a run that wants to look again sends that first, without the version and the failures": {
    work: async () => requeueAfter(30),
    record: { resourceVersion: "7", attempts: { trouble: 3 } },
    sent: [{ to: "later", afterSeconds: 30, item: { key: aKey(), reason: "requeue" } }],
    outcome: "requeue",
  },
  "a look later that cannot be sent fails": {
    work: async () => requeueAfter(30),
    refuses: { later: true },
    fails: true,
    outcome: "returned",
  },
  "a look at no time is a bug": {
    work: async () => requeueAfter(Number.NaN),
    sent: [{ to: "later", item: { reason: "retry", attempts: { unforeseen: 1 } } }],
    outcome: "retry",
  },
  "a fault that may pass comes again later, and counts": {
    work: failing(unreachable),
    record: { resourceVersion: "7", attempts: { trouble: 2, conflict: 1 } },
    sent: [
      { to: "later", afterSeconds: 2, item: { key: aKey(), reason: "retry", attempts: { trouble: 3, conflict: 1 } } },
    ],
    outcome: "retry",
  },
  "a conflict comes again at once": {
    work: failing(new ControllerError("conflict", "stale")),
    sent: [{ to: "later", afterSeconds: 0, item: { reason: "retry", attempts: { conflict: 1 } } }],
    outcome: "retry",
  },
  "a retry that cannot be sent fails": {
    work: failing(unreachable),
    refuses: { later: true },
    fails: true,
    outcome: "returned",
  },
  "a fault that lasts is done until something changes": {
    work: failing(new ControllerError("forbidden", "no access")),
    outcome: "drop",
  },
  "something unforeseen is tried again": {
    work: failing(new TypeError("bug")),
    record: { attempts: { unforeseen: 3 } },
    sent: [{ to: "later", afterSeconds: 4, item: { attempts: { unforeseen: 4 } } }],
    outcome: "retry",
  },
  "something unforeseen is set aside at the fifth time, with its cause": {
    work: failing(new TypeError("bug")),
    record: { attempts: { unforeseen: 4 } },
    sent: [{ to: "aside", cause: "TypeError: bug", message: { key: aKey(), attempts: { unforeseen: 5 } } }],
    outcome: "dead-letter",
  },
  "what cannot be set aside fails": {
    work: failing(new TypeError("bug")),
    record: { attempts: { unforeseen: 4 } },
    refuses: { aside: true },
    fails: true,
    outcome: "returned",
  },
  "a body that cannot be read is set aside as it is, with the reason": {
    work: async () => done,
    record: { record: { body: "{}", groupId: "g" } },
    sent: [{ to: "aside", cause: "message: has the version missing, not 1", message: { body: "{}", groupId: "g" } }],
    outcome: "unreadable",
  },
  "a body that can neither be read nor be set aside fails": {
    work: async () => done,
    record: { record: { body: "{}" } },
    refuses: { aside: true },
    fails: true,
    outcome: "unreadable",
  },
};

function aKey() {
  return { logicalCluster: "t", kind: "WorkloadPlacement", name: "web" };
}

describe("a batch", () => {
  test.each(Object.entries(rows))("%s", async (_, { work, record, refuses = {}, fails, sent = [], outcome }) => {
    const batch = begin(work, { refuses });
    const [one, other] = [aRecord("web", record), aRecord("other", { reason: "resync" })];
    const { failed } = await batch.run([one]);
    expect(failed).toEqual(fails === true ? [one.messageId] : []);
    expect(batch.sent).toMatchObject(sent);
    expect(batch.sent).toHaveLength(sent.length);
    const last = batch.events.at(-1);
    expect(last?.kind === "ended" ? last.outcome : last?.kind).toBe(outcome);
    // Whatever became of it, another key of a later batch is worked on.
    expect((await begin(async () => done).run([other])).failed).toEqual([]);
  });

  test("the messages of a key are one run: the newest, with the wish for a look and the most failures", async () => {
    const { run, ran, sent, events } = begin(failing(unreachable));
    const records = [
      aRecord("web", { reason: "on-demand", resourceVersion: "5", record: { sentMs: 4_000, receives: 3 } }),
      aRecord("web", { reason: "retry", attempts: { trouble: 2 }, record: { sentMs: 5_000 } }),
      aRecord("web", { resourceVersion: "8", record: { sentMs: 9_000 } }),
    ];
    expect(await run(records)).toEqual({ failed: [] });
    expect(ran).toEqual([{ key: aKey(), reason: "on-demand", resourceVersion: "8" }]);
    expect(sent).toMatchObject([{ item: { attempts: { trouble: 3 } } }]);
    expect(events[0]).toMatchObject({ kind: "started", messages: 3, receives: 3, waitedSeconds: 6 });
  });

  test("the messages of a key share one fate, in the order they came", async () => {
    const records = [aRecord("web"), aRecord("api"), aRecord("web"), aRecord("web", { record: { body: "?" } })];
    const { run } = begin(async ({ key }) => (key.name === "web" ? requeueAfter(5) : done), {
      refuses: { later: true },
    });
    expect(await run(records)).toEqual({ failed: [0, 2, 3].map((at) => records[at]?.messageId) });
  });

  test("keys that were put in one line by hand are both worked on, one after the other", async () => {
    let now = 0;
    const { run, ran } = begin(async () => {
      now += 1;
      expect(now).toBe(1);
      await afterPending();
      now -= 1;
      return done;
    });
    expect(await run([aRecord("web"), aRecord("api")].map((one) => ({ ...one, groupId: "by-hand" })))).toEqual({
      failed: [],
    });
    expect(ran.map(({ key }) => key.name)).toEqual(["web", "api"]);
  });

  test("one that hangs takes no other with it, and only it has failed when the time is over", async () => {
    const { run, end, ran } = begin(async (item, signal) => (item.key.name === "stuck" ? never(item, signal) : done));
    const records = ["a", "stuck", "b"].map((name) => aRecord(name));
    const answer = run(records);
    await afterPending();
    expect(ran).toHaveLength(3);
    end.abort();
    expect(await answer).toEqual({ failed: [records[1]?.messageId] });
  });

  test("what was not begun when the time is over has failed, and is not begun after", async () => {
    const { run, end, ran } = begin(never, { groupsAtOnce: 1 });
    const records = ["stuck", "a", "b"].map((name) => aRecord(name));
    const answer = run(records);
    await afterPending();
    end.abort();
    expect((await answer).failed).toHaveLength(3);
    await afterPending();
    expect(ran).toHaveLength(1);
  });

  test("a run that ends after the answer sends nothing: its message comes again", async () => {
    const gate = Promise.withResolvers<void>();
    const { run, end, sent, events } = begin(async () => {
      await gate.promise;
      return requeueAfter(5);
    });
    const answer = run([aRecord("web")]);
    end.abort();
    await answer;
    gate.resolve();
    await afterPending();
    expect(sent).toEqual([]);
    expect(events.at(-1)).toMatchObject({ kind: "ended", outcome: "returned" });
  });

  test("a run that is cut off is no failure of its key", async () => {
    const { run, end, sent } = begin(
      (_, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(new TypeError("cut")), { once: true });
        }),
    );
    const answer = run([aRecord("web", { attempts: { unforeseen: 4 } })]);
    end.abort();
    expect((await answer).failed).toHaveLength(1);
    await afterPending();
    expect(sent).toEqual([]);
  });

  test("a batch that comes when the time is over is given back whole", async () => {
    const { run, end, ran } = begin(async () => done);
    end.abort();
    expect((await run([aRecord("a"), aRecord("b")])).failed).toHaveLength(2);
    expect(ran).toEqual([]);
  });

  test("a drain begins nothing more and lets what is under way end", async () => {
    const gate = Promise.withResolvers<void>();
    const drain = new AbortController();
    const { runBatch, end, ran } = begin(
      async () => {
        await gate.promise;
        return done;
      },
      { groupsAtOnce: 1 },
    );
    const records = [aRecord("a"), aRecord("b")];
    const answer = runBatch(records, end.signal, drain.signal);
    await afterPending();
    drain.abort();
    gate.resolve();
    expect(await answer).toEqual({ failed: [records[1]?.messageId] });
    expect(ran.map(({ key }) => key.name)).toEqual(["a"]);
  });

  test("what is to come is sent before the answer", async () => {
    const order: string[] = [];
    const { run } = begin(async () => requeueAfter(5), {
      queue: {
        sendLater: async () => {
          await afterPending();
          order.push("sent");
        },
        setAside: async () => {},
      },
    });
    await run([aRecord("web")]).then(() => order.push("answered"));
    expect(order).toEqual(["sent", "answered"]);
  });

  test("who only listens cannot stop the work", async () => {
    const onEvent = () => {
      throw new Error("deaf");
    };
    expect(await begin(async () => done, { onEvent }).run([aRecord("web")])).toEqual({ failed: [] });
  });

  test("an empty batch has nothing to fail", async () => {
    expect(await begin(never).run([])).toEqual({ failed: [] });
  });

  test("Lambda's event is read as it is documented", () => {
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
    expect(recordsOf(event)).toEqual([
      { messageId: "m", body: "b", groupId: "g", sentMs: 1_700_000_000_123, receives: 2 },
    ]);
  });

  test("no secret of an error reaches the dead letters", async () => {
    const { run, sent } = begin(failing(new TypeError("cannot read token=abc123secret of x")));
    await run([aRecord("web", { attempts: { unforeseen: 4 } })]);
    expect(JSON.stringify(sent satisfies readonly Sent[])).not.toContain("abc123secret");
  });
});
