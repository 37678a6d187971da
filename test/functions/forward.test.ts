import { systemClock } from "@tmc/kube/clock.ts";
import { expect, test } from "vitest";
import { createForwardFunction } from "../../lib/lambda/forward.ts";
import type { ObjectKey } from "../../lib/model/key.ts";
import { formatBody, messageGroupOf } from "../../lib/queue/work-message.ts";
import { contextOf } from "../support/functions-environment.ts";
import { eventOf, recordingSqs } from "./recording-sqs.ts";

const key: ObjectKey = { logicalCluster: "abc", kind: "WorkloadPlacement", name: "web" };
const message = { key, reason: "retry", nonce: "n1", attempts: { transient: 2 } } as const;

function setUp() {
  const recording = recordingSqs();
  const lines: string[] = [];
  const handler = createForwardFunction(
    {
      variables: {
        TMC_STAGE: "test",
        TMC_WORK_QUEUE_URL: "https://sqs.example.com/1/work.fifo",
        TMC_DELAY_QUEUE_URL: "https://sqs.example.com/1/delay",
      },
      version: "1",
      clock: systemClock,
      random: () => 0.5,
      write: (line) => lines.push(line),
      uptimeMs: () => 0,
    },
    recording,
  );
  return { recording, lines, handler };
}
const expired = (body: string) => eventOf([{ body, groupId: undefined, sentMs: 0 }]);

test("forward sends a message whose delay has expired to the work queue unchanged", async () => {
  const { handler, recording } = setUp();
  expect(await handler(expired(formatBody(message)), contextOf())).toEqual({ batchItemFailures: [] });
  expect(recording.in("work.fifo")).toMatchObject([{ body: formatBody(message), groupId: messageGroupOf(key) }]);
});

test("forward sends a message with remaining seconds to the delay queue again", async () => {
  const { handler, recording } = setUp();
  await handler(expired(formatBody({ ...message, remainingSeconds: 1_000 })), contextOf());
  expect(recording.in("delay")).toMatchObject([{ delaySeconds: 900 }]);
  expect(recording.in("work.fifo")).toEqual([]);
});

test("forward fails and logs a message that the work queue rejects", async () => {
  const { handler, recording, lines } = setUp();
  recording.refuse("work.fifo");
  expect(await handler(expired(formatBody(message)), contextOf())).toEqual({
    batchItemFailures: [{ itemIdentifier: "message-0" }],
  });
  expect(lines.join("")).toContain("messages not forwarded");
});
