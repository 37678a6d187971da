import { ReceiveMessageCommand } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { QueueEvent } from "../../../lib/queue/queue-event.ts";
import { createSqsQueue } from "../../../lib/queue/sqs.ts";
import type { QueueUrls, SqsClient } from "../../../lib/queue/sqs-client.ts";
import { deleteMessages, fetchMessages } from "../../../lib/queue/sqs-fetch.ts";
import { type DelayedMessage, parseBody, type WorkMessage } from "../../../lib/queue/work-message.ts";
import { createManualClock } from "../../support/manual-clock.ts";
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
  key: { logicalCluster: "t", kind: "WorkloadPlacement", name },
  reason: "changed",
  resourceVersion: "7",
  ...more,
});
const open = (sqs: SqsClient = server.sqs) => createSqsQueue({ sqs, urls });

/** Everything that a queue holds now. */
async function drain(url: string, waitSeconds = 0): Promise<DelayedMessage[]> {
  const all: DelayedMessage[] = [];
  for (;;) {
    const fetched = await fetchMessages(server.sqs, url, { waitSeconds });
    if (fetched.length === 0) return all;
    all.push(...fetched.map(({ body }) => parseBody(body)));
    await deleteMessages(server.sqs, url, fetched);
  }
}

/** A client without a server: it answers, and keeps what it was asked. */
function scripted(answer: (call: SqsCall) => Promise<unknown>) {
  const calls: SqsCall[] = [];
  const sqs = interceptSqs(server.sqs, async (call) => {
    calls.push(call);
    return answer(call);
  });
  return { calls, sqs };
}
const entriesOf = ({ input }: SqsCall): readonly { Id: string; MessageBody: string; DelaySeconds?: number }[] =>
  Array.isArray(input.Entries) ? input.Entries : [];

describe("the queue on SQS", () => {
  test("the double of a change that two relays send is dropped, also after it was worked on", async () => {
    await open().send([item("web")]);
    await open().send([item("web")]);
    expect(await drain(urls.work)).toHaveLength(1);
    await open().send([item("web")]);
    expect(await drain(urls.work)).toHaveLength(0);
  });

  test.each(["retry", "requeue", "on-demand", "fan-out", "resync", "heartbeat"] as const)(
    "a second %s of the same version is never taken for the double of the first",
    async (reason) => {
      const queue = open();
      await queue.send([item("web")]);
      await queue.send([item("web", { reason })]);
      await queue.send([item("web", { reason })]);
      await open().send([item("web", { reason })]);
      expect(await drain(urls.work)).toHaveLength(4);
    },
  );

  test("a change whose version nobody knows is never dropped", async () => {
    await open().send([item("web", { resourceVersion: undefined })]);
    await open().send([item("web", { resourceVersion: undefined })]);
    expect(await drain(urls.work)).toHaveLength(2);
  });

  test("what is sent together for one key is one message, the newest, with the wish for a look", async () => {
    const events: QueueEvent[] = [];
    const queue = createSqsQueue({ sqs: server.sqs, urls, onEvent: (event) => events.push(event) });
    await queue.send([item("web", { reason: "on-demand" }), item("api"), item("web", { resourceVersion: "8" })]);
    const sent = await drain(urls.work);
    expect(sent.map(({ key, reason, resourceVersion }) => [key.name, reason, resourceVersion]).toSorted()).toEqual([
      ["api", "changed", "7"],
      ["web", "on-demand", "8"],
    ]);
    expect(events.map((event) => event.kind === "added" && event.collapsed)).toEqual([false, false, true]);
  });

  test("many are sent ten to a call, a few calls at once", async () => {
    let now = 0;
    let most = 0;
    const { calls, sqs } = scripted(async () => {
      now += 1;
      most = Math.max(most, now);
      await new Promise(setImmediate);
      now -= 1;
      return {};
    });
    await open(sqs).send(Array.from({ length: 95 }, (_, index) => item(`web-${index}`)));
    expect(calls.map((call) => entriesOf(call).length)).toEqual([...Array(9).fill(10), 5]);
    expect(most).toBe(4);
  });

  test("what a batch leaves out is tried once more by itself", async () => {
    const { calls, sqs } = scripted(async ({ name }) =>
      name === "SendMessageBatch" ? { Failed: [{ Id: "1", Code: "InternalError" }] } : {},
    );
    await open(sqs).send([item("a"), item("b"), item("c")]);
    expect(calls.map(({ name }) => name)).toEqual(["SendMessageBatch", "SendMessage"]);
    expect(parseBody(String(calls[1]?.input.MessageBody)).key.name).toBe("b");
  });

  const refusals: Record<string, Readonly<{ error: Error; fault: string }>> = {
    "is away": { error: Object.assign(new Error("connect"), { code: "ECONNREFUSED" }), fault: "unreachable" },
    throttles: { error: named("RequestThrottled"), fault: "throttled" },
    "does not let us": { error: named("AccessDenied"), fault: "unreachable" },
    "is gone": { error: named("QueueDoesNotExist"), fault: "unreachable" },
  };
  test.each(Object.entries(refusals))(
    "a queue that %s is a fault that may pass, in one line that counts what was not taken",
    async (_, { error, fault }) => {
      const { calls, sqs } = scripted(async ({ input }) => {
        if (JSON.stringify(input).includes("web-0")) throw error;
        return {};
      });
      const sending = open(sqs).send(Array.from({ length: 15 }, (_, index) => item(`web-${index}`)));
      await expect(sending).rejects.toMatchObject({
        fault,
        message: expect.stringMatching(/^sqs: send to \S+-work.fifo: /),
      });
      await expect(sending).rejects.toThrow("(10 of 15 messages were not taken)");
      expect(calls, "a call that failed has had its retries").toHaveLength(2);
    },
  );

  test("what fails by itself too is named, and the others are taken", async () => {
    const { sqs } = scripted(async ({ name }) => {
      if (name === "SendMessage") throw named("InternalFailure");
      return { Failed: [{ Id: "0", Code: "InternalError" }] };
    });
    await expect(open(sqs).send([item("a"), item("b")])).rejects.toThrow(
      "InternalFailure (1 of 2 messages were not taken)",
    );
  });

  test("what is sent for later comes after that time and not before", async () => {
    const startMs = performance.now();
    await open().sendLater(item("web", { reason: "resync" }), 1);
    expect(await drain(urls.delay)).toHaveLength(0);
    expect(await drain(urls.delay, 5).then((all) => all.map(({ key }) => key.name))).toEqual(["web"]);
    expect(performance.now() - startMs).toBeGreaterThan(900);
  });

  test("a retry of less than half a second goes straight to its line", async () => {
    await open().sendLater(item("web", { reason: "retry", attempts: { conflict: 2 } }), 0.1);
    expect(await drain(urls.work)).toMatchObject([{ reason: "retry", attempts: { conflict: 2 } }]);
  });

  test("a wait that is longer than the queue can hold says what is left of it", async () => {
    const { calls, sqs } = scripted(async () => ({}));
    await open(sqs).sendLater(item("web", { reason: "resync" }), 2000);
    expect(calls[0]?.input).toMatchObject({ QueueUrl: urls.delay, DelaySeconds: 900 });
    expect(parseBody(String(calls[0]?.input.MessageBody)).restSeconds).toBe(1100);
  });

  test("many are sent for later ten to a call, each with its own time", async () => {
    const { calls, sqs } = scripted(async () => ({}));
    const later = Array.from({ length: 25 }, (_, index) => ({
      item: item(`web-${index}`, { reason: "resync" }),
      afterSeconds: index * 30,
    }));
    await open(sqs).sendEachLater(later);
    const held = calls.filter(({ input }) => input.QueueUrl === urls.delay).flatMap(entriesOf);
    expect(held.map(({ DelaySeconds }) => DelaySeconds)).toEqual(later.slice(1).map((one) => one.afterSeconds));
    expect(calls).toHaveLength(4);
  });

  test("equal wishes for a look at a key at the same time are one message in its line", async () => {
    const { calls, sqs } = scripted(async () => ({}));
    const clock = createManualClock();
    const one = createSqsQueue({ sqs, urls, clock, random: () => 0.1 });
    const other = createSqsQueue({ sqs, urls, clock, random: () => 0.2 });
    await one.sendLater(item("web", { reason: "requeue" }), 60);
    clock.advance(1_000);
    await other.sendLater(item("web", { reason: "requeue" }), 59);
    const [first, second] = calls.map(({ input }) => input.MessageBody);
    expect(first).toBe(second);
  });

  test("a time that is none is refused before anything is sent", async () => {
    const { calls, sqs } = scripted(async () => ({}));
    await expect(open(sqs).sendLater(item("web"), Number.NaN)).rejects.toThrow("is no time");
    expect(calls).toEqual([]);
  });

  test("what is set aside lies with the dead letters, with its cause", async () => {
    await open().setAside(item("web", { attempts: { unforeseen: 5 } }), "TypeError: x is not a function");
    await open().setAside({ body: "not ours", groupId: "g" }, "message: is not JSON");
    const { Messages = [] } = await server.sqs.send(
      new ReceiveMessageCommand({
        QueueUrl: urls.deadLetters,
        MaxNumberOfMessages: 10,
        MessageAttributeNames: ["All"],
      }),
    );
    expect(Messages.map(({ MessageAttributes }) => MessageAttributes?.cause?.StringValue)).toEqual([
      "TypeError: x is not a function",
      "message: is not JSON",
    ]);
    expect(Messages[1]?.Body).toBe("not ours");
  });

  test("who only listens cannot stop a message", async () => {
    const onEvent = () => {
      throw new Error("deaf");
    };
    await createSqsQueue({ sqs: server.sqs, urls, onEvent }).send([item("web")]);
    expect(await drain(urls.work)).toHaveLength(1);
  });
});

function named(name: string): Error {
  return Object.assign(new Error("arn:aws:iam::123456789012:role/x may not"), { name });
}
