import { ChangeMessageVisibilityBatchCommand, SendMessageBatchCommand, SendMessageCommand } from "@aws-sdk/client-sqs";
import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { expect, test } from "vitest";
import type { QueueWeather } from "../scenario.ts";
import { createSeeded } from "../seeded.ts";
import { createQueues, type QueueName, urlOf } from "./queues.ts";

function setUp(conditions: Partial<QueueWeather> = {}) {
  const clock = createManualClock();
  const deadLetters: string[] = [];
  const queues = createQueues({
    clock,
    dice: createSeeded("queues"),
    weather: () => ({ lose: 0, double: 0, late: 0, refuse: 0, lateMs: 0, ...conditions }),
    onSend: () => true,
    onDeadLetter: (queue, body) => void deadLetters.push(`${queue} ${body}`),
  });
  const sqs = queues.client({ before: async () => {}, after: async () => {} });
  const send = (queue: QueueName, body: string, group = "g", id = body): Promise<unknown> =>
    sqs.send(
      new SendMessageCommand({
        QueueUrl: urlOf(queue),
        MessageBody: body,
        MessageGroupId: group,
        MessageDeduplicationId: id,
      }),
    );
  const receive = (queue: QueueName): readonly string[] => queues.receive(queue, 10).map(({ body }) => body);
  return { clock, queues, sqs, send, receive, deadLetters };
}

test("a FIFO queue drops a message with a deduplication id that its group used in the last five minutes", async () => {
  const { clock, queues, send, receive } = setUp();
  await send("work.fifo", "one", "g", "id");
  await send("work.fifo", "two", "g", "id");
  await send("work.fifo", "three", "other group", "id");
  const received = queues.receive("work.fifo", 10);
  expect(received.map(({ body }) => body)).toEqual(["one", "three"]);
  queues.remove(
    "work.fifo",
    received.map(({ receipt }) => receipt),
  );
  clock.advance(300_000);
  await send("work.fifo", "four", "g", "id");
  expect(receive("work.fifo")).toEqual(["four"]);
});

test("a message in flight keeps its group back until it is deleted or its visibility timeout ends", async () => {
  const { clock, queues, send, receive } = setUp();
  await send("work.fifo", "one");
  const [first] = queues.receive("work.fifo", 10);
  await send("work.fifo", "two");
  await send("work.fifo", "three", "other group");
  expect(receive("work.fifo")).toEqual(["three"]);
  clock.advance(30_000);
  const again = queues.receive("work.fifo", 10);
  expect(again.map(({ body, receives }) => [body, receives])).toEqual([
    ["one", 2],
    ["two", 1],
    ["three", 2],
  ]);
  // The receipt of the first receive deletes nothing any more.
  queues.remove("work.fifo", [first?.receipt ?? ""]);
  clock.advance(30_000);
  expect(receive("work.fifo")).toEqual(["one", "two", "three"]);
});

test("a message that is made visible is received at once, and a delayed one after its delay", async () => {
  const { clock, queues, sqs, send, receive } = setUp();
  await send("work.fifo", "one");
  const [first] = queues.receive("work.fifo", 10);
  const Entries = [{ Id: "0", ReceiptHandle: first?.receipt ?? "", VisibilityTimeout: 0 }];
  await sqs.send(new ChangeMessageVisibilityBatchCommand({ QueueUrl: urlOf("work.fifo"), Entries }));
  expect(receive("work.fifo")).toEqual(["one"]);
  await sqs.send(new SendMessageCommand({ QueueUrl: urlOf("delay"), MessageBody: "later", DelaySeconds: 5 }));
  expect(receive("delay")).toEqual([]);
  clock.advance(5_000);
  expect(receive("delay")).toEqual(["later"]);
});

test("a heartbeat is dead-lettered when it would be received for the third time", async () => {
  const { clock, send, receive, deadLetters } = setUp();
  await send("heartbeat", "clusters");
  expect(receive("heartbeat")).toEqual(["clusters"]);
  clock.advance(30_000);
  expect(receive("heartbeat")).toEqual(["clusters"]);
  clock.advance(30_000);
  expect(receive("heartbeat")).toEqual([]);
  expect(deadLetters).toEqual(["heartbeat clusters"]);
});

test("SQS may refuse a call, or act on it and lose the response", async () => {
  const refusing = setUp({ refuse: 1 });
  await expect(refusing.send("delay", "one")).rejects.toThrow("ThrottlingException");
  expect(refusing.receive("delay")).toEqual([]);
  const losing = setUp({ lose: 1, double: 1 });
  const Entries = Array.from({ length: 10 }, (_, index) => ({ Id: String(index), MessageBody: `m${index}` }));
  const calls = Array.from({ length: 10 }, () =>
    losing.sqs.send(new SendMessageBatchCommand({ QueueUrl: urlOf("delay"), Entries })),
  );
  const outcomes = new Set((await Promise.allSettled(calls)).map(({ status }) => status));
  expect(outcomes).toEqual(new Set(["fulfilled", "rejected"]));
  // Each message of a standard queue was stored twice, whatever the sender heard.
  expect(losing.queues.receive("delay", 500)).toHaveLength(200);
});
