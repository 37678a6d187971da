import { formatKey } from "../model/key.ts";
import type { BatchRecord, BatchRunner } from "./batch.ts";
import type { SqsQueue } from "./sqs.ts";
import { parseBody, type WorkMessage } from "./work-message.ts";

export type IsolateOptions = Readonly<{
  run: BatchRunner;
  queue: Pick<SqsQueue, "sendManyLater">;
  /** Deletes messages before the batch has ended. */
  acknowledge: (records: readonly BatchRecord[]) => Promise<void>;
}>;

/** The shortest delay of SQS. */
const sendAgainAfterSeconds = 1;

/**
 * Creates a runner that runs a key alone if the process that received it before may have died of it.
 *
 * SQS counts a receive for every message of a batch whose process dies, and dead-letters a message after some receives: one
 * key that kills its process would take the other nine along. So a batch that contains a message with an earlier receive runs
 * one such key only. All other messages are first sent again as new ones, without receives, and deleted. A key that was
 * received together with the one that kills is thus received twice at most before it runs alone or among new keys.
 */
export function isolatingRunner({ run, queue, acknowledge }: IsolateOptions): BatchRunner {
  return async (records, signal, drain) => {
    const suspects = records.filter(isSuspect).toSorted((one, other) => other.receives - one.receives);
    const [chosen] = suspects;
    if (chosen === undefined) return run(records, signal, drain);
    const chosenKey = keyOf(messageOf(chosen));
    // An unreadable message starts no work: the runner dead-letters it.
    const others = records.flatMap((record) => {
      const message = messageOf(record);
      return message === undefined || keyOf(message) === chosenKey ? [] : [{ record, message }];
    });
    if (others.length > 0) {
      try {
        await queue.sendManyLater(
          others.map(({ record, message: { nonce: _, ...message } }) => ({
            item: isSuspect(record) ? { ...message, alone: true } : message,
            afterSeconds: sendAgainAfterSeconds,
          })),
        );
        await acknowledge(others.map(({ record }) => record));
      } catch {
        // The queue does not respond: all messages are delivered again.
        return { failed: records.map(({ messageId }) => messageId) };
      }
    }
    const sentAgain = new Set(others.map(({ record }) => record));
    return run(
      records.filter((record) => !sentAgain.has(record)),
      signal,
      drain,
    );
  };
}

function isSuspect(record: BatchRecord): boolean {
  return record.receives > 1 || messageOf(record)?.alone === true;
}

const keyOf = (message: WorkMessage | undefined): string | undefined => message && formatKey(message.key);

function messageOf({ body }: BatchRecord): WorkMessage | undefined {
  try {
    return parseBody(body);
  } catch {
    return undefined;
  }
}
