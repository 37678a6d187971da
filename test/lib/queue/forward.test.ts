import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createForwarder, decideForward } from "../../../lib/queue/forward.ts";
import type { QueueUrls } from "../../../lib/queue/sqs-client.ts";
import { deleteMessages, fetchMessages } from "../../../lib/queue/sqs-fetch.ts";
import { type DelayedMessage, formatBody, groupOf } from "../../../lib/queue/work-message.ts";
import { createQueues, interceptSqs, startSqs } from "../../support/sqs.ts";

const message: DelayedMessage = {
  key: { logicalCluster: "t", kind: "WorkloadPlacement", name: "web" },
  reason: "retry",
  attempts: { trouble: 2 },
  nonce: "n1",
};
const waited = (more: Partial<DelayedMessage> = {}, messageId = "m1") => ({
  messageId,
  body: formatBody({ ...message, ...more }),
});

describe("where a message goes whose wait is over", () => {
  const rows: Record<string, Readonly<{ given: Partial<DelayedMessage>; to: string; outgoing: object }>> = {
    "to its line, as it is": {
      given: {},
      to: "work",
      outgoing: { MessageBody: formatBody(message), MessageGroupId: groupOf(message.key) },
    },
    "round again with the rest": {
      given: { restSeconds: 30 },
      to: "delay",
      outgoing: { DelaySeconds: 30, MessageBody: formatBody(message) },
    },
    "round again and again with a long rest": {
      given: { restSeconds: 2000 },
      to: "delay",
      outgoing: { DelaySeconds: 900, MessageBody: formatBody({ ...message, restSeconds: 1100 }) },
    },
  };
  test.each(Object.entries(rows))("%s", (_, { given, to, outgoing }) => {
    expect(decideForward(waited(given))).toMatchObject({ to, outgoing });
  });

  test("a long wait takes as many hops as it needs, and no second less", () => {
    let body = waited({ restSeconds: 4000 }).body;
    let seconds = 0;
    for (let hops = 0; hops < 10; hops++) {
      const { to, outgoing } = decideForward({ messageId: "m", body });
      if (to === "work") break;
      seconds += outgoing.DelaySeconds ?? 0;
      body = String(outgoing.MessageBody);
    }
    expect(seconds).toBe(4000);
  });

  test("what cannot be read goes on as it is, to those who may set it aside", () => {
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
      const fetched = await fetchMessages(server.sqs, url, { waitSeconds: 0 });
      if (fetched.length === 0) return bodies;
      bodies.push(...fetched.map(({ body }) => body));
      await deleteMessages(server.sqs, url, fetched);
    }
  };

  test("a message that is handed on twice is one", async () => {
    const forward = createForwarder({ sqs: server.sqs, urls });
    expect(await forward([waited()])).toEqual({ failed: [] });
    expect(await forward([waited({}, "m2")])).toEqual({ failed: [] });
    expect(await bodiesOf(urls.work)).toEqual([formatBody(message)]);
  });

  test("a batch is taken apart to both queues", async () => {
    const forward = createForwarder({ sqs: server.sqs, urls });
    const many = Array.from({ length: 12 }, (_, at) => waited({ nonce: `n${at}` }, `m${at}`));
    await forward([...many, waited({ restSeconds: 1 }, "hop")]);
    expect(await bodiesOf(urls.work)).toHaveLength(12);
    const [hopped] = await fetchMessages(server.sqs, urls.delay, { waitSeconds: 5 });
    expect(hopped?.body).toBe(formatBody(message));
  });

  test("only what was not taken comes again", async () => {
    const sqs = interceptSqs(server.sqs, async ({ input }, pass) => {
      if (input.QueueUrl === urls.delay) throw new Error("away");
      return pass();
    });
    const forward = createForwarder({ sqs, urls });
    expect(await forward([waited({}, "a"), waited({ restSeconds: 5 }, "b")])).toEqual({ failed: ["b"] });
    expect(await bodiesOf(urls.work)).toHaveLength(1);
  });
});
