import { setImmediate as afterPending } from "node:timers/promises";
import { SendMessageCommand } from "@aws-sdk/client-sqs";
import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { createBatchRunner } from "../../lib/queue/batch.ts";
import { createDeadLetters } from "../../lib/queue/dead-letters.ts";
import { createSqsQueue } from "../../lib/queue/sqs.ts";
import type { SqsClient } from "../../lib/queue/sqs-client.ts";
import { runSqsWorker } from "../../lib/queue/sqs-worker.ts";
import { createQueues, interceptSqs, type SqsCall } from "../support/sqs.ts";
import type { QueueUnderTest } from "./work-queue.ts";

/**
 * The work queue on SQS with its worker, its delays in the test's time.
 *
 * What is sent to the delay queue is held by the test's clock, and reaches the real queue when its time has come. Everything else
 * is as it is in a process of its own.
 */
export async function createSqsQueueUnderTest(sqs: SqsClient): Promise<QueueUnderTest> {
  const clock = createManualClock();
  const { urls, remove } = await createQueues(sqs);
  /** Grows with all that happens; calls that found nothing are no changes, and are counted for each queue. */
  let changes = 0;
  let pendingCalls = 0;
  const empty = new Map<unknown, number>();
  let busy = 0;
  let running: Readonly<{ workers: number; stop: AbortController; ended: Promise<void> }> | undefined;

  const hold = (message: Readonly<Record<string, unknown>>): void => {
    const { DelaySeconds, MessageBody } = message;
    clock.after(Number(DelaySeconds) * 1000, () => {
      void counted(() => sqs.send(new SendMessageCommand({ QueueUrl: urls.delay, MessageBody: String(MessageBody) })));
    });
  };
  const counted = async <T>(call: () => Promise<T>): Promise<T> => {
    pendingCalls += 1;
    try {
      return await call();
    } finally {
      pendingCalls -= 1;
      changes += 1;
    }
  };
  const receive = async ({ input }: SqsCall, pass: () => Promise<unknown>): Promise<unknown> => {
    const answer = await pass();
    const isEmpty = !(typeof answer === "object" && answer !== null && "Messages" in answer && answer.Messages);
    if (isEmpty) empty.set(input.QueueUrl, (empty.get(input.QueueUrl) ?? 0) + 1);
    else changes += 1;
    return answer;
  };
  const client = interceptSqs(sqs, async (call, pass) => {
    const { name, input } = call;
    if (name === "ReceiveMessage") return receive(call, pass);
    if (input.QueueUrl !== urls.delay || !name.startsWith("SendMessage")) return counted(pass);
    for (const message of Array.isArray(input.Entries) ? input.Entries : [input]) hold(message);
    return {};
  });
  const queue = createSqsQueue({ sqs: client, urls, clock, random: () => 0.99 });
  const deadLetters = createDeadLetters({ sqs: client, urls, clock, waitSeconds: 0 });

  /** Nothing happens by itself any more: no call is under way, and whoever is free has asked once more and found nothing. */
  const settle = async (): Promise<void> => {
    for (;;) {
      const before = { changes, work: empty.get(urls.work) ?? 0, delay: empty.get(urls.delay) ?? 0 };
      const isQuiet = (): boolean => {
        if (running === undefined) return true;
        const free = running.workers - busy;
        // Of those that were asking already, one answer each may be older than the last changes.
        const hasAsked = free === 0 || (empty.get(urls.work) ?? 0) > before.work + free;
        return hasAsked && (empty.get(urls.delay) ?? 0) > before.delay + 1;
      };
      do await afterPending();
      while (changes === before.changes && (pendingCalls > 0 || !isQuiet()));
      if (changes === before.changes) return;
    }
  };

  return {
    queue,
    start: (work, { workers }) => {
      const stop = new AbortController();
      const runBatch = createBatchRunner({
        work: async (item, signal) => {
          changes += 1;
          return work(item, signal).finally(() => {
            changes += 1;
          });
        },
        queue,
        clock,
        random: () => 0.99,
        maxConcurrentKeys: 1, // a worker of the contract works on one key
      });
      const ended = runSqsWorker({
        sqs: client,
        urls,
        run: async (records, signal, drain) => {
          busy += 1;
          return runBatch(records, signal, drain).finally(() => {
            busy -= 1;
          });
        },
        forward: true,
        batches: workers,
        signal: stop.signal,
        waitSeconds: 0,
        clock,
      });
      running = { workers, stop, ended };
    },
    stop: async () => {
      running?.stop.abort();
      await running?.ended;
      running = undefined;
    },
    pass: async (seconds) => {
      const untilMs = clock.now() + seconds * 1000;
      await settle();
      for (let [next] = clock.waits; next !== undefined && clock.now() + next <= untilMs; [next] = clock.waits) {
        clock.advance(next);
        await settle();
      }
      clock.advance(untilMs - clock.now()); // nothing falls due in what is left
    },
    deadLetters: async () => {
      const { letters } = await deadLetters.list();
      return letters.flatMap(({ key, cause }) => (key === undefined ? [] : [{ key, cause }]));
    },
    redrive: async () => {
      await deadLetters.redrive();
    },
    close: remove,
  };
}
