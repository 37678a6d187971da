import { setImmediate as afterPending } from "node:timers/promises";
import { ControllerError } from "@tmc/kube/fault.ts";
import { createManualClock } from "@tmc/kube/manual-clock.ts";
import fc from "fast-check";
import { expect, test } from "vitest";
import { done, type Next, requeueAfter } from "../../../lib/model/work-item.ts";
import { createBatchRunner } from "../../../lib/queue/batch.ts";
import { aRecord, aSendingQueue, type Sent } from "../lambda/batch-records.ts";

/** How the reconcile of a key ends. */
const behaviors = ["done", "requeue", "conflict", "throttled", "forbidden", "bug", "last-bug", "hang"] as const;
type Behavior = (typeof behaviors)[number];

/** The queue that the next message of a key must be sent to. */
const nextQueue: Readonly<Record<Behavior, Sent["to"] | undefined>> = {
  done: undefined,
  requeue: "later",
  conflict: "later",
  throttled: "later",
  forbidden: undefined,
  bug: "later",
  "last-bug": "deadLetters",
  hang: undefined,
};

async function behave(behavior: Behavior): Promise<Next> {
  switch (behavior) {
    case "done":
      return done;
    case "requeue":
      return requeueAfter(30);
    case "hang":
      return new Promise<never>(() => {});
    case "bug":
    case "last-bug":
      throw new TypeError("bug");
    default:
      throw new ControllerError(behavior, "not now");
  }
}

const batches = fc.record({
  groups: fc.array(
    fc.record({
      behavior: fc.constantFrom(...behaviors),
      /** Whether each message can be read. */
      messages: fc.array(fc.boolean(), { minLength: 1, maxLength: 4 }),
    }),
    { maxLength: 7 },
  ),
  /** How the messages of the groups are interleaved. */
  order: fc.infiniteStream(fc.nat()),
  maxConcurrentKeys: fc.integer({ min: 1, max: 10 }),
  rejects: fc.record({ later: fc.boolean(), deadLetters: fc.boolean() }),
});

test("the batch runner fails exactly the messages that must be delivered again and sends the next message of all others", async () => {
  await fc.assert(
    fc.asyncProperty(batches, async ({ groups, order, maxConcurrentKeys, rejects }) => {
      const messageGroups = groups.map(({ behavior, messages }, at) => {
        const attempts = behavior === "last-bug" ? { unexpected: 4 } : undefined;
        const { groupId } = aRecord(`key-${at}`);
        const records = messages.map((isReadable) =>
          aRecord(`key-${at}`, { attempts, record: isReadable ? {} : { body: "?", groupId } }),
        );
        return { behavior, messages, records };
      });
      const rest = messageGroups.map(({ records }) => [...records]);
      const records = Array.from({ length: messageGroups.flatMap((group) => group.records).length }, () => {
        const filled = rest.filter((group) => group.length > 0);
        const [next] = filled[(order.next().value ?? 0) % filled.length]?.splice(0, 1) ?? [];
        return next ?? aRecord("never");
      });

      const { queue, sent } = aSendingQueue(rejects);
      const ran = new Map<string, number>();
      const abort = new AbortController();
      const runBatch = createBatchRunner({
        work: ({ key }) => {
          ran.set(key.name, (ran.get(key.name) ?? 0) + 1);
          return behave(groups[Number(key.name.slice(4))]?.behavior ?? "done");
        },
        queue,
        clock: createManualClock(),
        maxConcurrentKeys,
      });
      const result = runBatch(records, abort.signal);
      await afterPending(); // everything that can end has ended
      abort.abort();
      const failed = new Set((await result).failed);
      const sentBefore = sent.length;

      let hanging = 0;
      const inOrder = messageGroups.toSorted((one, other) => first(one) - first(other));
      function first(group: (typeof messageGroups)[number]): number {
        return records.findIndex((record) => group.messages[group.records.indexOf(record)] === true);
      }
      for (const { behavior, messages, records: own } of inOrder) {
        const isRun = hanging < maxConcurrentKeys && messages.includes(true);
        const to = nextQueue[behavior];
        const isDone = isRun && behavior !== "hang" && !(to !== undefined && rejects[to]);
        if (isRun && behavior === "hang") hanging += 1;
        const readable = own.filter((_, at) => messages[at] === true);
        expect(readable.map(({ messageId }) => failed.has(messageId))).toEqual(readable.map(() => !isDone));
        const name = `key-${messageGroups.findIndex((group) => group.records === own)}`;
        expect(ran.get(name) ?? 0).toBe(isRun ? 1 : 0);
        const nextMessages = sent.filter((entry) => {
          const message = entry.to === "later" ? entry.item : entry.message;
          return "key" in message && message.key.name === name;
        });
        expect(nextMessages.map(({ to: queue }) => queue)).toEqual(isRun && isDone && to !== undefined ? [to] : []);
      }
      if (hanging < maxConcurrentKeys) {
        const unreadable = messageGroups.flatMap((group) =>
          group.records.filter((_, at) => group.messages[at] === false),
        );
        expect(unreadable.every(({ messageId }) => failed.has(messageId) === rejects.deadLetters)).toBe(true);
      }
      await afterPending();
      expect(sent, "nothing is sent after the batch has returned").toHaveLength(sentBefore);
    }),
    { numRuns: 500 },
  );
});
