import { ReceiveMessageCommand } from "@aws-sdk/client-sqs";
import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { QueueEvent } from "../../../lib/queue/queue-event.ts";
import { createSqsQueue } from "../../../lib/queue/sqs.ts";
import type { QueueUrls, SqsClient } from "../../../lib/queue/sqs-client.ts";
import { deleteMessages, receiveMessages } from "../../../lib/queue/sqs-receive.ts";
import { type DelayedMessage, parseBody, type WorkMessage } from "../../../lib/queue/work-message.ts";
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

/** Receives and deletes all messages of a queue. */
async function drain(url: string, waitSeconds = 0): Promise<DelayedMessage[]> {
  const all: DelayedMessage[] = [];
  for (;;) {
    const fetched = await receiveMessages(server.sqs, url, { waitSeconds });
    if (fetched.length === 0) return all;
    all.push(...fetched.map(({ body }) => parseBody(body)));
    await deleteMessages(server.sqs, url, fetched);
  }
}

/** A client without a server, which records its calls. */
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

describe("the SQS queue", () => {
  test("a change that two relays send is delivered once, even if the first message was already processed", async () => {
    await open().send([item("web")]);
    await open().send([item("web")]);
    expect(await drain(urls.work)).toHaveLength(1);
    await open().send([item("web")]);
    expect(await drain(urls.work)).toHaveLength(0);
  });

  test.each(["retry", "requeue", "on-demand", "fan-out", "resync", "heartbeat"] as const)(
    "a second %s of the same version is never deduplicated",
    async (reason) => {
      const queue = open();
      await queue.send([item("web")]);
      await queue.send([item("web", { reason })]);
      await queue.send([item("web", { reason })]);
      await open().send([item("web", { reason })]);
      expect(await drain(urls.work)).toHaveLength(4);
    },
  );

  test("a change without a resourceVersion is never deduplicated", async () => {
    await open().send([item("web", { resourceVersion: undefined })]);
    await open().send([item("web", { resourceVersion: undefined })]);
    expect(await drain(urls.work)).toHaveLength(2);
  });

  test("items of one key in a send are coalesced to the newest version and the strongest reason", async () => {
    const events: QueueEvent[] = [];
    const queue = createSqsQueue({ sqs: server.sqs, urls, onEvent: (event) => events.push(event) });
    await queue.send([item("web", { reason: "on-demand" }), item("api"), item("web", { resourceVersion: "8" })]);
    const sent = await drain(urls.work);
    expect(sent.map(({ key, reason, resourceVersion }) => [key.name, reason, resourceVersion]).toSorted()).toEqual([
      ["api", "changed", "7"],
      ["web", "on-demand", "8"],
    ]);
    expect(events.map((event) => event.kind === "added" && event.coalesced)).toEqual([false, false, true]);
  });

  test("messages are sent ten per call, with at most four concurrent calls", async () => {
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

  test("a message that a batch call rejects is sent once more on its own", async () => {
    const { calls, sqs } = scripted(async ({ name }) =>
      name === "SendMessageBatch" ? { Failed: [{ Id: "1", Code: "InternalError" }] } : {},
    );
    await open(sqs).send([item("a"), item("b"), item("c")]);
    expect(calls.map(({ name }) => name)).toEqual(["SendMessageBatch", "SendMessage"]);
    expect(parseBody(String(calls[1]?.input.MessageBody)).key.name).toBe("b");
  });

  const refusals: Record<string, Readonly<{ error: Error; fault: string }>> = {
    "is unreachable": { error: Object.assign(new Error("connect"), { code: "ECONNREFUSED" }), fault: "unreachable" },
    throttles: { error: named("RequestThrottled"), fault: "throttled" },
    "denies access": { error: named("AccessDenied"), fault: "unreachable" },
    "does not exist": { error: named("QueueDoesNotExist"), fault: "unreachable" },
  };
  test.each(Object.entries(refusals))(
    "a queue that %s is a transient fault with the number of rejected messages",
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
      await expect(sending).rejects.toThrow("(10 of 15 messages rejected)");
      expect(calls, "a call that failed has had its retries").toHaveLength(2);
    },
  );

  test("a message that is rejected twice is reported, and the others are sent", async () => {
    const { sqs } = scripted(async ({ name }) => {
      if (name === "SendMessage") throw named("InternalFailure");
      return { Failed: [{ Id: "0", Code: "InternalError" }] };
    });
    await expect(open(sqs).send([item("a"), item("b")])).rejects.toThrow("InternalFailure (1 of 2 messages rejected)");
  });

  test("a delayed message is delivered after its delay, not before", async () => {
    const startMs = performance.now();
    await open().sendLater(item("web", { reason: "resync" }), 1);
    expect(await drain(urls.delay)).toHaveLength(0);
    expect(await drain(urls.delay, 5).then((all) => all.map(({ key }) => key.name))).toEqual(["web"]);
    expect(performance.now() - startMs).toBeGreaterThan(900);
  });

  test("a retry with a delay below half a second is sent to the work queue directly", async () => {
    await open().sendLater(item("web", { reason: "retry", attempts: { conflict: 2 } }), 0.1);
    expect(await drain(urls.work)).toMatchObject([{ reason: "retry", attempts: { conflict: 2 } }]);
  });

  test("a delay above the limit of SQS is sent with the remaining seconds", async () => {
    const { calls, sqs } = scripted(async () => ({}));
    await open(sqs).sendLater(item("web", { reason: "resync" }), 2000);
    expect(calls[0]?.input).toMatchObject({ QueueUrl: urls.delay, DelaySeconds: 900 });
    expect(parseBody(String(calls[0]?.input.MessageBody)).remainingSeconds).toBe(1100);
  });

  test("delayed messages are sent ten per call, each with its own delay", async () => {
    const { calls, sqs } = scripted(async () => ({}));
    const later = Array.from({ length: 25 }, (_, index) => ({
      item: item(`web-${index}`, { reason: "resync" }),
      afterSeconds: index * 30,
    }));
    await open(sqs).sendManyLater(later);
    const delayed = calls.filter(({ input }) => input.QueueUrl === urls.delay).flatMap(entriesOf);
    expect(delayed.map(({ DelaySeconds }) => DelaySeconds)).toEqual(later.slice(1).map((one) => one.afterSeconds));
    expect(calls).toHaveLength(4);
  });

  test("equal requeues of a key for the same time have equal message bodies", async () => {
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

  test("an invalid delay is rejected before anything is sent", async () => {
    const { calls, sqs } = scripted(async () => ({}));
    await expect(open(sqs).sendLater(item("web"), Number.NaN)).rejects.toThrow("invalid delay");
    expect(calls).toEqual([]);
  });

  test("a dead letter is sent to the dead-letter queue with its cause", async () => {
    await open().deadLetter(item("web", { attempts: { unexpected: 5 } }), "TypeError: x is not a function");
    await open().deadLetter({ body: "not ours", groupId: "g" }, "message: is not JSON");
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

  test("a listener that throws does not prevent a send", async () => {
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
