import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createForwarder, decideForward } from "../../../lib/queue/forward.ts";
import type { QueueUrls } from "../../../lib/queue/sqs-client.ts";
import { deleteMessages, receiveMessages } from "../../../lib/queue/sqs-receive.ts";
import { type DelayedMessage, formatBody, messageGroupOf } from "../../../lib/queue/work-message.ts";
import { createQueues, interceptSqs, startSqs } from "../../support/sqs.ts";

const message: DelayedMessage = {
  key: { logicalCluster: "t", kind: "WorkloadPlacement", name: "web" },
  reason: "retry",
  attempts: { transient: 2 },
  nonce: "n1",
};
const dueMessage = (more: Partial<DelayedMessage> = {}, messageId = "m1") => ({
  messageId,
  body: formatBody({ ...message, ...more }),
});

describe("a message whose delay has expired", () => {
  const rows: Record<string, Readonly<{ given: Partial<DelayedMessage>; to: string; outgoing: object }>> = {
    "goes to the work queue unchanged": {
      given: {},
      to: "work",
      outgoing: { MessageBody: formatBody(message), MessageGroupId: messageGroupOf(message.key) },
    },
    "goes to the delay queue again with its remaining delay": {
      given: { remainingSeconds: 30 },
      to: "delay",
      outgoing: { DelaySeconds: 30, MessageBody: formatBody(message) },
    },
    "goes to the delay queue several times if its remaining delay exceeds the limit of SQS": {
      given: { remainingSeconds: 2000 },
      to: "delay",
      outgoing: { DelaySeconds: 900, MessageBody: formatBody({ ...message, remainingSeconds: 1100 }) },
    },
  };
  test.each(Object.entries(rows))("%s", (_, { given, to, outgoing }) => {
    expect(decideForward(dueMessage(given))).toMatchObject({ to, outgoing });
  });

  test("is never forwarded early, however many hops its delay takes", () => {
    let body = dueMessage({ remainingSeconds: 4000 }).body;
    let seconds = 0;
    for (let hops = 0; hops < 10; hops++) {
      const { to, outgoing } = decideForward({ messageId: "m", body });
      if (to === "work") break;
      seconds += outgoing.DelaySeconds ?? 0;
      body = String(outgoing.MessageBody);
    }
    expect(seconds).toBe(4000);
  });

  test("goes to the work queue unchanged if it cannot be parsed", () => {
    expect(decideForward({ messageId: "m", body: "?" })).toMatchObject({ to: "work", outgoing: { MessageBody: "?" } });
  });
});

describe("the forwarder", () => {
  let server: Awaited<ReturnType<typeof startSqs>>;
  let urls: QueueUrls;
  beforeAll(async () => {
    server = await startSqs();
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    ({ urls } = await createQueues(server.sqs));
  });

  const bodiesOf = async (url: string): Promise<string[]> => {
    const bodies: string[] = [];
    for (;;) {
      const received = await receiveMessages(server.sqs, url, { waitSeconds: 0 });
      if (received.length === 0) return bodies;
      bodies.push(...received.map(({ body }) => body));
      await deleteMessages(server.sqs, url, received);
    }
  };

  test("forwards a message once even if it is delivered twice", async () => {
    const forward = createForwarder({ sqs: server.sqs, urls });
    expect(await forward([dueMessage()])).toEqual({ failed: [] });
    expect(await forward([dueMessage({}, "m2")])).toEqual({ failed: [] });
    expect(await bodiesOf(urls.work)).toEqual([formatBody(message)]);
  });

  test("splits a batch between the work queue and the delay queue", async () => {
    const forward = createForwarder({ sqs: server.sqs, urls });
    const many = Array.from({ length: 12 }, (_, at) => dueMessage({ nonce: `n${at}` }, `m${at}`));
    await forward([...many, dueMessage({ remainingSeconds: 1 }, "hop")]);
    expect(await bodiesOf(urls.work)).toHaveLength(12);
    const [hopped] = await receiveMessages(server.sqs, urls.delay, { waitSeconds: 5 });
    expect(hopped?.body).toBe(formatBody(message));
  });

  test("fails only the messages that could not be sent", async () => {
    const sqs = interceptSqs(server.sqs, async ({ input }, pass) => {
      if (input.QueueUrl === urls.delay) throw new Error("unavailable");
      return pass();
    });
    const forward = createForwarder({ sqs, urls });
    expect(await forward([dueMessage({}, "a"), dueMessage({ remainingSeconds: 5 }, "b")])).toEqual({ failed: ["b"] });
    expect(await bodiesOf(urls.work)).toHaveLength(1);
  });
});
