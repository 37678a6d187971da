import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createDeadLetters, type Redriven } from "../../../lib/queue/dead-letters.ts";
import { createSqsQueue } from "../../../lib/queue/sqs.ts";
import type { QueueUrls } from "../../../lib/queue/sqs-client.ts";
import { deleteMessages, fetchMessages, giveBack } from "../../../lib/queue/sqs-fetch.ts";
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
  key: { logicalCluster: "t", kind: "WorkloadPlacement", name },
  reason: "retry",
  resourceVersion: "7",
  attempts: { unforeseen: 5 },
});
const setAside = async (...names: string[]) => {
  const queue = createSqsQueue({ sqs: server.sqs, urls });
  for (const name of names) await queue.setAside(item(name), `bug of ${name}`);
};
const open = () => createDeadLetters({ sqs: server.sqs, urls, waitSeconds: 0 });
const workOf = async (): Promise<DelayedMessage[]> => {
  const all: DelayedMessage[] = [];
  for (;;) {
    const fetched = await fetchMessages(server.sqs, urls.work, { waitSeconds: 0 });
    if (fetched.length === 0) return all;
    all.push(...fetched.map(({ body }) => parseBody(body)));
    await deleteMessages(server.sqs, urls.work, fetched);
  }
};
const namesOf = async () => (await open().list()).letters.map(({ key }) => key?.name).toSorted();

describe("the dead letters", () => {
  test("are listed with what, why and since when, and stay where they are", async () => {
    const startMs = Date.now();
    await setAside("web");
    for (let look = 0; look < 2; look++) {
      const { letters, isAll } = await open().list();
      expect(isAll).toBe(true);
      expect(letters).toMatchObject([{ key: item("web").key, cause: "bug of web", attempts: { unforeseen: 5 } }]);
      expect(letters[0]?.atMs).toBeGreaterThanOrEqual(startMs);
      expect(letters[0]?.receives).toBe(look + 1);
    }
  });

  test("one that was handed out five times without an answer says that nobody was left to say why", async () => {
    await createSqsQueue({ sqs: server.sqs, urls }).send([item("web")]);
    for (let receive = 0; receive < 6; receive++) {
      await giveBack(server.sqs, urls.work, await fetchMessages(server.sqs, urls.work, { waitSeconds: 0 }), () => 0);
    }
    const { letters } = await open().list();
    expect(letters).toMatchObject([{ key: item("web").key, cause: expect.stringMatching(/^handed out too often/) }]);
  });

  test("a list is bounded, says so, and gives everything back", async () => {
    await setAside(...Array.from({ length: 25 }, (_, at) => `web-${at}`));
    const { letters, isAll } = await open().list({ limit: 12 });
    expect([letters.length, isAll]).toEqual([12, false]);
    expect((await open().list()).letters).toHaveLength(25);
  });

  test("all are sent again: as a wish of a person, at once, their failures forgotten", async () => {
    await setAside("web", "api", "web");
    const progress: Redriven[] = [];
    const redriven = await open().redrive({ onProgress: (one) => progress.push(one) });
    expect(redriven).toEqual({ sent: 2, left: 0 });
    expect(progress.at(-1)).toEqual(redriven);
    const sent = (await workOf()).toSorted((one, other) => one.key.name.localeCompare(other.key.name));
    expect(sent).toMatchObject([
      { key: { name: "api" }, reason: "on-demand", attempts: undefined, resourceVersion: undefined },
      { key: { name: "web" }, reason: "on-demand", attempts: undefined, resourceVersion: undefined },
    ]);
    expect(await namesOf()).toEqual([]);
  });

  test("one key is sent again, the others stay and can be seen at once", async () => {
    await setAside("web", "api");
    expect(await open().redrive({ key: item("web").key })).toEqual({ sent: 1, left: 1 });
    expect((await workOf()).map(({ key }) => key.name)).toEqual(["web"]);
    expect(await namesOf()).toEqual(["api"]);
  });

  test("what is sent again twice within minutes is worked on twice", async () => {
    for (let round = 0; round < 2; round++) {
      await setAside("web");
      await open().redrive();
    }
    expect(await workOf()).toHaveLength(2);
  });

  test("what cannot be read stays: nobody could work on it", async () => {
    await createSqsQueue({ sqs: server.sqs, urls }).setAside({ body: "?", groupId: "g" }, "message: is not JSON");
    expect(await open().redrive()).toEqual({ sent: 0, left: 1 });
    expect((await open().list()).letters).toMatchObject([{ key: undefined, cause: "message: is not JSON" }]);
  });

  test("what could not be sent stays with the dead letters", async () => {
    await setAside("web");
    const sqs = interceptSqs(server.sqs, async ({ input }, pass) => {
      if (input.QueueUrl === urls.work) throw new Error("away");
      return pass();
    });
    await expect(createDeadLetters({ sqs, urls, waitSeconds: 0 }).redrive()).rejects.toThrow("sqs: send to");
    expect(await namesOf()).toEqual(["web"]);
  });

  test("none are an empty list", async () => {
    expect(await open().list()).toEqual({ letters: [], isAll: true });
    expect(await open().redrive()).toEqual({ sent: 0, left: 0 });
  });
});
