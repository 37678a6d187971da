import { setImmediate as afterPending } from "node:timers/promises";
import { ControllerError } from "@tmc/kube/fault.ts";
import fc from "fast-check";
import { expect, test } from "vitest";
import { done, type Next, requeueAfter } from "../../../lib/model/next.ts";
import { createBatchRunner } from "../../../lib/queue/batch.ts";
import { createManualClock } from "../../support/manual-clock.ts";
import { aRecord, aSendingQueue, type Sent } from "../lambda/batch-records.ts";

/** How the work on a key goes, and what has to be sent for it. */
const behaviours = ["done", "requeue", "conflict", "throttled", "forbidden", "bug", "last-bug", "hang"] as const;
type Behaviour = (typeof behaviours)[number];

const wanted: Readonly<Record<Behaviour, Sent["to"] | undefined>> = {
  done: undefined,
  requeue: "later",
  conflict: "later",
  throttled: "later",
  forbidden: undefined,
  bug: "later",
  "last-bug": "aside",
  hang: undefined,
};

async function behave(behaviour: Behaviour): Promise<Next> {
  switch (behaviour) {
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
      throw new ControllerError(behaviour, "not now");
  }
}

const batches = fc.record({
  groups: fc.array(
    fc.record({
      behaviour: fc.constantFrom(...behaviours),
      /** Whether each message can be read. */
      messages: fc.array(fc.boolean(), { minLength: 1, maxLength: 4 }),
    }),
    { maxLength: 7 },
  ),
  /** How the lines' messages are mixed. */
  order: fc.infiniteStream(fc.nat()),
  groupsAtOnce: fc.integer({ min: 1, max: 10 }),
  refuses: fc.record({ later: fc.boolean(), aside: fc.boolean() }),
});

test("the right messages have failed, and what follows from the others was sent, in every batch", async () => {
  await fc.assert(
    fc.asyncProperty(batches, async ({ groups, order, groupsAtOnce, refuses }) => {
      const lines = groups.map(({ behaviour, messages }, at) => {
        const attempts = behaviour === "last-bug" ? { unforeseen: 4 } : undefined;
        const { groupId } = aRecord(`key-${at}`);
        const records = messages.map((isReadable) =>
          aRecord(`key-${at}`, { attempts, record: isReadable ? {} : { body: "?", groupId } }),
        );
        return { behaviour, messages, records };
      });
      const rest = lines.map(({ records }) => [...records]);
      const records = Array.from({ length: lines.flatMap((line) => line.records).length }, () => {
        const filled = rest.filter((line) => line.length > 0);
        const [next] = filled[(order.next().value ?? 0) % filled.length]?.splice(0, 1) ?? [];
        return next ?? aRecord("never");
      });

      const { queue, sent } = aSendingQueue(refuses);
      const ran = new Map<string, number>();
      const end = new AbortController();
      const runBatch = createBatchRunner({
        work: ({ key }) => {
          ran.set(key.name, (ran.get(key.name) ?? 0) + 1);
          return behave(groups[Number(key.name.slice(4))]?.behaviour ?? "done");
        },
        queue,
        clock: createManualClock(),
        groupsAtOnce,
      });
      const answer = runBatch(records, end.signal);
      await afterPending(); // whoever can end has ended
      end.abort();
      const failed = new Set((await answer).failed);
      const sentBefore = sent.length;

      let hanging = 0;
      const inOrder = lines.toSorted((one, other) => first(one.records) - first(other.records));
      function first(those: typeof records): number {
        return records.findIndex((record) => those.includes(record));
      }
      for (const { behaviour, messages, records: own } of inOrder) {
        const isBegun = hanging < groupsAtOnce;
        const isStuckBefore = messages.includes(false) && refuses.aside; // an unreadable one cannot be set aside
        const isRun = isBegun && !isStuckBefore && messages.includes(true);
        const to = wanted[behaviour];
        const isDone =
          isBegun && !isStuckBefore && (!isRun || (behaviour !== "hang" && !(to !== undefined && refuses[to])));
        if (isRun && behaviour === "hang") hanging += 1;
        expect(own.map(({ messageId }) => failed.has(messageId))).toEqual(own.map(() => !isDone));
        const name = `key-${lines.findIndex((line) => line.records === own)}`;
        expect(ran.get(name) ?? 0).toBe(isRun ? 1 : 0);
        const follows = sent.filter((one) => {
          const message = one.to === "later" ? one.item : one.message;
          return "key" in message && message.key.name === name;
        });
        expect(follows.map((one) => one.to)).toEqual(isRun && isDone && to !== undefined ? [to] : []);
      }
      await afterPending();
      expect(sent, "nothing is sent after the answer").toHaveLength(sentBefore);
    }),
    { numRuns: 500 },
  );
});
