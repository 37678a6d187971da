import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createDeadLetters, type RedriveProgress } from "../../../lib/queue/dead-letters.ts";
import { createSqsQueue } from "../../../lib/queue/sqs.ts";
import type { QueueUrls } from "../../../lib/queue/sqs-client.ts";
import { deleteMessages, receiveMessages, releaseMessages } from "../../../lib/queue/sqs-receive.ts";
import { type DelayedMessage, parseBody, type WorkMessage } from "../../../lib/queue/work-message.ts";
import { createQueues, interceptSqs, startSqs } from "../../support/sqs.ts";

let server: Awaited<ReturnType<typeof startSqs>>;
let urls: QueueUrls;
beforeAll(async () => {
  server = await startSqs();
});
afterAll(() => server.stop());
beforeEach(async () => {
  ({ urls } = await createQueues(server.sqs));
});

const item = (name: string): WorkMessage => ({
  key: { logicalCluster: "t", kind: "ClusterRegistration", name },
  reason: "retry",
  resourceVersion: "7",
  attempts: { unexpected: 5 },
});
const deadLetter = async (...names: string[]) => {
  const queue = createSqsQueue({ sqs: server.sqs, urls });
  for (const name of names) await queue.deadLetter(item(name), `bug of ${name}`);
};
const open = () => createDeadLetters({ sqs: server.sqs, urls, waitSeconds: 0 });
const workOf = async (): Promise<DelayedMessage[]> => {
  const all: DelayedMessage[] = [];
  for (;;) {
    const received = await receiveMessages(server.sqs, urls.work, { waitSeconds: 0 });
    if (received.length === 0) return all;
    all.push(...received.map(({ body }) => parseBody(body)));
    await deleteMessages(server.sqs, urls.work, received);
  }
};
const namesOf = async () => (await open().list()).letters.map(({ key }) => key?.name).toSorted();

describe("dead letters", () => {
  test("are listed with key, cause and time, and stay in the queue", async () => {
    const startMs = Date.now();
    await deadLetter("web");
    for (let listing = 0; listing < 2; listing++) {
      const { letters, isComplete } = await open().list();
      expect(isComplete).toBe(true);
      expect(letters).toMatchObject([{ key: item("web").key, cause: "bug of web", attempts: { unexpected: 5 } }]);
      expect(letters[0]?.atMs).toBeGreaterThanOrEqual(startMs);
      expect(letters[0]?.receives).toBe(listing + 1);
    }
  });

  test("have a generic cause if SQS moved them after too many receives", async () => {
    const { urls: few, remove } = await createQueues(server.sqs, { maxReceives: 5 });
    await createSqsQueue({ sqs: server.sqs, urls: few }).send([item("web")]);
    for (let receive = 0; receive < 6; receive++) {
      await releaseMessages(
        server.sqs,
        few.work,
        await receiveMessages(server.sqs, few.work, { waitSeconds: 0 }),
        () => 0,
      );
    }
    const { letters } = await createDeadLetters({ sqs: server.sqs, urls: few, waitSeconds: 0 }).list();
    await remove();
    expect(letters).toMatchObject([{ key: item("web").key, cause: expect.stringMatching(/^received too often/) }]);
  });

  test("are listed up to a limit and released afterwards", async () => {
    await deadLetter(...Array.from({ length: 25 }, (_, at) => `web-${at}`));
    const { letters, isComplete } = await open().list({ limit: 12 });
    expect([letters.length, isComplete]).toEqual([12, false]);
    expect((await open().list()).letters).toHaveLength(25);
  });

  test("are redriven as on-demand, without their attempts", async () => {
    await deadLetter("web", "api", "web");
    const progress: RedriveProgress[] = [];
    const redriven = await open().redrive({ onProgress: (step) => progress.push(step) });
    expect(redriven).toEqual({ sent: 2, remaining: 0 });
    expect(progress.at(-1)).toEqual(redriven);
    const sent = (await workOf()).toSorted((one, other) => one.key.name.localeCompare(other.key.name));
    expect(sent).toMatchObject([
      { key: { name: "api" }, reason: "on-demand", attempts: undefined, resourceVersion: undefined },
      { key: { name: "web" }, reason: "on-demand", attempts: undefined, resourceVersion: undefined },
    ]);
    expect(await namesOf()).toEqual([]);
  });

  test("of other keys stay visible when one key is redriven", async () => {
    await deadLetter("web", "api");
    expect(await open().redrive({ key: item("web").key })).toEqual({ sent: 1, remaining: 1 });
    expect((await workOf()).map(({ key }) => key.name)).toEqual(["web"]);
    expect(await namesOf()).toEqual(["api"]);
  });

  test("that are redriven twice within minutes are reconciled twice", async () => {
    for (let round = 0; round < 2; round++) {
      await deadLetter("web");
      await open().redrive();
    }
    expect(await workOf()).toHaveLength(2);
  });

  test("that cannot be parsed are not redriven", async () => {
    await createSqsQueue({ sqs: server.sqs, urls }).deadLetter({ body: "?", groupId: "g" }, "message: is not JSON");
    expect(await open().redrive()).toEqual({ sent: 0, remaining: 1 });
    expect((await open().list()).letters).toMatchObject([{ key: undefined, cause: "message: is not JSON" }]);
  });

  test("that could not be sent are not deleted", async () => {
    await deadLetter("web");
    const sqs = interceptSqs(server.sqs, async ({ input }, pass) => {
      if (input.QueueUrl === urls.work) throw new Error("unavailable");
      return pass();
    });
    await expect(createDeadLetters({ sqs, urls, waitSeconds: 0 }).redrive()).rejects.toThrow("sqs: send to");
    expect(await namesOf()).toEqual(["web"]);
  });

  test("are an empty list if there are none", async () => {
    expect(await open().list()).toEqual({ letters: [], isComplete: true });
    expect(await open().redrive()).toEqual({ sent: 0, remaining: 0 });
  });
});
