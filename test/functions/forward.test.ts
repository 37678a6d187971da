import { systemClock } from "@tmc/kube/clock.ts";
import { expect, test } from "vitest";
import { createForward } from "../../lib/lambda/forward.ts";
import type { ObjectKey } from "../../lib/model/key.ts";
import { formatBody, groupOf } from "../../lib/queue/work-message.ts";
import { eventOf, recordingSqs } from "./recording-sqs.ts";
import { contextOf } from "./stage.ts";

const key: ObjectKey = { logicalCluster: "abc", kind: "WorkloadPlacement", name: "web" };
const message = { key, reason: "retry", nonce: "n1", attempts: { trouble: 2 } } as const;

function setUp() {
  const recording = recordingSqs();
  const lines: string[] = [];
  const handler = createForward(
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
const waited = (body: string) => eventOf([{ body, groupId: undefined, sentMs: 0 }]);

test("a message whose wait is over goes to its key's line as it is", async () => {
  const { handler, recording } = setUp();
  expect(await handler(waited(formatBody(message)), contextOf())).toEqual({ batchItemFailures: [] });
  expect(recording.in("work.fifo")).toMatchObject([{ body: formatBody(message), groupId: groupOf(key) }]);
});

test("one that has longer to wait goes round again", async () => {
  const { handler, recording } = setUp();
  await handler(waited(formatBody({ ...message, restSeconds: 1_000 })), contextOf());
  expect(recording.in("delay")).toMatchObject([{ delaySeconds: 900 }]);
  expect(recording.in("work.fifo")).toEqual([]);
});

test("what is not taken is handed out again, and said", async () => {
  const { handler, recording, lines } = setUp();
  recording.refuse("work.fifo");
  expect(await handler(waited(formatBody(message)), contextOf())).toEqual({
    batchItemFailures: [{ itemIdentifier: "message-0" }],
  });
  expect(lines.join("")).toContain("messages were not taken");
});
