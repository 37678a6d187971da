import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { describe, expect, test } from "vitest";
import { done } from "../../../lib/model/work-item.ts";
import { type BatchRecord, type BatchRunner, createBatchRunner } from "../../../lib/queue/batch.ts";
import { isolatingRunner } from "../../../lib/queue/isolate.ts";
import type { DelayedItem } from "../../../lib/queue/sqs.ts";
import { aRecord, aSendingQueue } from "../lambda/batch-records.ts";

const signal = new AbortController().signal;
/** As deployed. */
const maxReceives = 5;

/** A queue whose consumer dies of some keys: a simulation of SQS and of a function with batches of ten. */
function startQueue(names: readonly string[], kills: (name: string) => boolean) {
  let visible = names.map((name) => aRecord(name, { record: { receives: 0 } }));
  const finished: string[] = [];
  const deadLetters: string[] = [];
  let deaths = 0;
  const nameOf = ({ body }: BatchRecord): string => JSON.parse(body).name;

  /** Receives and runs one batch. */
  const invoke = async (): Promise<void> => {
    const batch = visible.slice(0, 10).map((record) => ({ ...record, receives: record.receives + 1 }));
    visible = visible.slice(10);
    const deleted = new Set<string>();
    const sentAgain: BatchRecord[] = [];
    const death = Promise.withResolvers<"died">();
    const run = isolatingRunner({
      run: createBatchRunner({
        work: async ({ key: { name } }) => {
          if (kills(name)) {
            death.resolve("died");
            await new Promise<never>(() => {});
          }
          await Promise.resolve();
          finished.push(name);
          return done;
        },
        queue: aSendingQueue().queue,
        clock: createManualClock(0),
      }),
      queue: {
        sendManyLater: async (items) => {
          sentAgain.push(...items.map(({ item }) => aRecord(item.key.name, { ...item, record: { receives: 0 } })));
        },
      },
      acknowledge: async (records) => {
        for (const { messageId } of records) deleted.add(messageId);
      },
    });
    const result = await Promise.race([death.promise, run(batch, signal)]);
    if (result === "died") deaths += 1;
    const failed = result === "died" ? batch.map(({ messageId }) => messageId) : result.failed;
    for (const record of batch) {
      if (deleted.has(record.messageId) || !failed.includes(record.messageId)) continue;
      if (record.receives >= maxReceives) deadLetters.push(nameOf(record));
      else visible.push(record);
    }
    visible.push(...sentAgain);
  };
  return {
    runAll: async () => {
      for (let invocations = 0; visible.length > 0; invocations += 1) {
        if (invocations > 200) throw new Error(`still queued: ${visible.map(nameOf).join(", ")}`);
        await invoke();
      }
      return { finished: new Set(finished), deadLetters, deaths };
    },
  };
}

describe("a key that kills its process", () => {
  const innocents = Array.from({ length: 19 }, (_, at) => `key-${at}`);

  test.each([0, 4, 9, 15])("at position %i takes no other key to the dead letters", async (at) => {
    const { finished, deadLetters, deaths } = await startQueue(
      innocents.toSpliced(at, 0, "poison"),
      (name) => name === "poison",
    ).runAll();
    expect(deadLetters).toEqual(["poison"]);
    expect(finished).toEqual(new Set(innocents));
    // Once with others; then alone until SQS dead-letters it.
    expect(deaths).toBeLessThanOrEqual(maxReceives + 1);
  });

  test("is the only dead letter also when several of them are in one batch", async () => {
    const names = innocents.toSpliced(3, 0, "poison-a").toSpliced(7, 0, "poison-b", "poison-c");
    const { finished, deadLetters } = await startQueue(names, (name) => name.startsWith("poison")).runAll();
    expect(deadLetters.toSorted()).toEqual(["poison-a", "poison-b", "poison-c"]);
    expect(finished).toEqual(new Set(innocents));
  });
});

describe("a batch with a message that was received before", () => {
  const start = (rejects: Readonly<{ send?: boolean; acknowledge?: boolean }> = {}) => {
    const ran: string[] = [];
    const sent: DelayedItem[] = [];
    const acknowledged: string[] = [];
    const run: BatchRunner = async (records) => {
      ran.push(...records.map(({ messageId }) => messageId));
      return { failed: [] };
    };
    return {
      ran,
      sent,
      acknowledged,
      run: isolatingRunner({
        run,
        queue: {
          sendManyLater: async (items) => {
            if (rejects.send === true) throw new Error("sqs: away");
            sent.push(...items);
          },
        },
        acknowledge: async (records) => {
          if (rejects.acknowledge === true) throw new Error("sqs: away");
          // A crash in between must repeat a key, not lose it.
          expect(sent).toHaveLength(records.length);
          acknowledged.push(...records.map(({ messageId }) => messageId));
        },
      }),
    };
  };
  const first = aRecord("first");
  const again = aRecord("again", { attempts: { transient: 2 }, record: { receives: 2 } });
  const worst = aRecord("worst", { record: { receives: 3 } });

  test("runs the key with the most receives, and sends the others again before it deletes them", async () => {
    const { run, ran, sent, acknowledged } = start();
    expect(await run([first, again, worst], signal)).toEqual({ failed: [] });
    expect(ran).toEqual([worst.messageId]);
    expect(acknowledged).toEqual([first.messageId, again.messageId]);
    expect(
      sent.map(({ item: { key, attempts, alone }, afterSeconds }) => [key.name, attempts, alone, afterSeconds]),
    ).toEqual([
      ["first", undefined, undefined, 1],
      ["again", { transient: 2 }, true, 1],
    ]);
  });

  test("runs nothing if the others cannot be sent again or deleted", async () => {
    for (const rejects of [{ send: true }, { acknowledge: true }]) {
      const { run, ran } = start(rejects);
      expect(await run([first, again], signal)).toEqual({ failed: [first.messageId, again.messageId] });
      expect(ran).toEqual([]);
    }
  });

  test("leaves an unreadable message to the runner, which dead-letters it", async () => {
    const { run, ran, sent } = start();
    await run([{ ...first, body: "?" }, again], signal);
    expect(ran).toEqual([first.messageId, again.messageId]);
    expect(sent).toEqual([]);
  });

  test("a batch of new messages runs together", async () => {
    const { run, ran, sent } = start();
    const other = aRecord("other");
    await run([first, other], signal);
    expect(ran).toEqual([first.messageId, other.messageId]);
    expect(sent).toEqual([]);
  });
});
