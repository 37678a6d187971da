import type { Clock } from "@tmc/kube/clock.ts";
import type { SQSEvent } from "aws-lambda";
import { forEachConcurrently } from "../model/concurrency.ts";
import { formatKey } from "../model/key.ts";
import type { Work, WorkItem } from "../model/work-item.ts";
import { assertValidDelay, type Next } from "../model/work-item.ts";
import { ignoreListenerErrors, type QueueEvent } from "./queue-event.ts";
import { decideFailureAction, failureKindOf, readableCause, receivesPerFailure } from "./retry-policy.ts";
import type { SqsQueue } from "./sqs.ts";
import { coalesceMessages, countFailure, parseBody, type WorkMessage } from "./work-message.ts";

/** A message of a batch, received by a function or by the worker. */
export type BatchRecord = Readonly<{
  messageId: string;
  body: string;
  groupId: string;
  sentMs: number;
  /** How often it has been received, this time included. */
  receives: number;
  /** Deletes the message before the batch has ended; undefined if it is not a message of the work queue. */
  receipt?: string | undefined;
}>;

/**
 * Processes a batch and returns the ids of messages that must be delivered again; all others can be deleted.
 *
 * When `signal` aborts it returns at once, and messages still in progress count as failed. When `drain` aborts, no further
 * message is started and messages in progress may finish.
 */
export type BatchRunner = (
  records: readonly BatchRecord[],
  signal: AbortSignal,
  drain?: AbortSignal,
) => Promise<Readonly<{ failed: readonly string[] }>>;

export type BatchRunnerOptions = Readonly<{
  work: Work;
  queue: Pick<SqsQueue, "sendLater" | "deadLetter">;
  clock: Clock;
  /** From 0 up to 1; jitter of the delays between attempts. @default Math.random */
  random?: () => number;
  /** Keys of a batch that are reconciled concurrently. @default 10, a whole batch */
  maxConcurrentKeys?: number;
  /** Called after every event, for metrics and logs. Errors it throws are ignored. */
  onEvent?: (event: QueueEvent) => void;
}>;

/** The messages of one key in a batch, coalesced. */
type KeyBatch = Readonly<{ message: WorkMessage; records: readonly BatchRecord[] }>;
/** A message that cannot be parsed, and why. */
type UnreadableRecord = Readonly<{ error: unknown; records: readonly [BatchRecord] }>;

/** Ends the messages of a key as failed; the reason has been emitted already. */
class KeyFailed extends Error {}

/**
 * Creates the runner for batches of the work queue.
 *
 * Keys are processed concurrently, also those of one message group (the placements of a tenant), so that one that hangs does
 * not block or fail the others. The messages of a key are one reconcile and succeed or fail together; otherwise a redelivered
 * message would overtake the rest of its key. The next message of a key is sent before the current one is acknowledged: a
 * crash in between repeats a reconcile, which then finds nothing to do.
 */
export function createBatchRunner(options: BatchRunnerOptions): BatchRunner {
  const { work, queue, clock, random = Math.random, maxConcurrentKeys = 10 } = options;
  const emit = ignoreListenerErrors(options.onEvent);

  const deadLetterUnreadable = async ({ error, records: [record] }: UnreadableRecord): Promise<void> => {
    const { messageId, receives } = record;
    const cause = readableCause(error);
    await queue.deadLetter(record, cause).catch((failure: unknown) => {
      emit({ kind: "unreadable", messageId, cause, receives, error: failure });
      throw new KeyFailed();
    });
    emit({ kind: "unreadable", messageId, cause, receives });
  };

  const runKey = async ({ message, records }: KeyBatch, signal: AbortSignal): Promise<void> => {
    const { key, reason, resourceVersion, attempts } = message;
    const item: WorkItem = { key, reason, resourceVersion };
    const startedMs = clock.monotonicMs();
    const sentMs = Math.min(...records.map((record) => record.sentMs));
    const receives = Math.max(...records.map((record) => record.receives));
    const waitedSeconds = Math.max(0, clock.now() - sentMs) / 1000;
    emit({ kind: "started", item, waitedSeconds, messages: records.length, receives });
    const durationSeconds = (): number => Math.max(0, clock.monotonicMs() - startedMs) / 1000;
    const failReturned = (error?: unknown): KeyFailed => {
      emit({ kind: "ended", item, durationSeconds: durationSeconds(), outcome: "returned", error });
      return new KeyFailed();
    };
    // After an abort the batch has returned without this key: its message is delivered again, and sending another would duplicate it.
    const sendNext = async (send: () => Promise<void>): Promise<void> => {
      if (signal.aborted) throw failReturned();
      await send().catch((error: unknown) => {
        throw failReturned(error);
      });
    };

    let next: Next;
    try {
      // A new message starts a new count: keys that waited for a throttled function then run and are not dead-lettered.
      if (receives > receivesPerFailure) throw new Error(`no result after ${receives - 1} receives of its message`);
      next = await work(item, signal);
      if (next.kind === "requeue") assertValidDelay(next.afterSeconds);
    } catch (error) {
      if (signal.aborted) throw failReturned(); // cut off, which says nothing about the key
      const failureKind = failureKindOf(error);
      const counted = countFailure(attempts, failureKind);
      const count = counted[failureKind] ?? 1;
      const action = decideFailureAction(error, count, random());
      if (action.kind === "retry") {
        // Without the resource version: it is outdated by then, and would prevent the deduplication of equal retries.
        await sendNext(() => queue.sendLater({ key, reason: "retry", attempts: counted }, action.afterSeconds));
      } else if (action.kind === "dead-letter") {
        await sendNext(() => queue.deadLetter({ ...item, attempts: counted }, readableCause(error)));
      }
      emit({
        kind: "ended",
        item,
        durationSeconds: durationSeconds(),
        outcome: action.kind,
        error,
        failureKind,
        attempts: count,
        afterSeconds: action.kind === "retry" ? action.afterSeconds : undefined,
      });
      return;
    }
    const { kind } = next;
    if (next.kind === "requeue") {
      const { afterSeconds } = next;
      await sendNext(() => queue.sendLater({ key, reason: "requeue" }, afterSeconds));
    }
    emit({ kind: "ended", item, durationSeconds: durationSeconds(), outcome: kind });
  };

  /** Returns whether the messages can be deleted. */
  const run = async (batch: KeyBatch | UnreadableRecord, signal: AbortSignal): Promise<boolean> => {
    try {
      if ("error" in batch) await deadLetterUnreadable(batch);
      else await runKey(batch, signal);
      return true;
    } catch {
      return false;
    }
  };

  return async (records, signal, drain) => {
    const done = new Set<string>();
    const abort = abortPromise(signal);
    const processed = forEachConcurrently(keyBatchesOf(records), maxConcurrentKeys, async (batch) => {
      if (signal.aborted || drain?.aborted === true) return;
      if (await run(batch, signal)) for (const { messageId } of batch.records) done.add(messageId);
    });
    await Promise.race([processed, abort.aborted]);
    abort.dispose();
    return { failed: records.map(({ messageId }) => messageId).filter((messageId) => !done.has(messageId)) };
  };
}

/** The messages of a Lambda event. */
export function batchRecordsOf({ Records }: SQSEvent): readonly BatchRecord[] {
  return Records.map(({ messageId, body, attributes, receiptHandle }) => ({
    messageId,
    body,
    // A standard queue has no groups: each message is its own.
    groupId: attributes.MessageGroupId ?? messageId,
    sentMs: Number(attributes.SentTimestamp),
    receives: Number(attributes.ApproximateReceiveCount),
    receipt: receiptHandle,
  }));
}

/** The messages of a batch by key, in the order of the first message of each key. An unreadable message is alone. */
function keyBatchesOf(records: readonly BatchRecord[]): readonly (KeyBatch | UnreadableRecord)[] {
  const batches = new Map<string, KeyBatch | UnreadableRecord>();
  for (const record of records) {
    let message: WorkMessage;
    try {
      message = parseBody(record.body);
    } catch (error) {
      batches.set(record.messageId, { error, records: [record] });
      continue;
    }
    const text = formatKey(message.key);
    const earlier = batches.get(text);
    batches.set(
      text,
      earlier === undefined || "error" in earlier
        ? { message, records: [record] }
        : { message: coalesceMessages(earlier.message, message), records: [...earlier.records, record] },
    );
  }
  return [...batches.values()];
}

/** A promise for the abort of a signal; `dispose` removes its listener. */
function abortPromise(signal: AbortSignal): Readonly<{ aborted: Promise<void>; dispose: () => void }> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const onAbort = (): void => resolve();
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  return { aborted: promise, dispose: () => signal.removeEventListener("abort", onAbort) };
}
