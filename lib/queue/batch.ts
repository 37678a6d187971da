import type { Clock } from "@tmc/kube/clock.ts";
import type { SQSEvent } from "aws-lambda";
import { forEachConcurrently } from "../model/concurrency.ts";
import { formatKey } from "../model/key.ts";
import { assertValidDelay, type Next } from "../model/next.ts";
import type { Work, WorkItem } from "../model/work-item.ts";
import { ignoreListenerErrors, type QueueEvent } from "./queue-event.ts";
import { decideFailureAction, failureKindOf, readableCause } from "./retry-policy.ts";
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
  /** Message groups of a batch that are processed concurrently. @default 10, a whole batch */
  maxConcurrentGroups?: number;
  /** Called after every event, for metrics and logs. Errors it throws are ignored. */
  onEvent?: (event: QueueEvent) => void;
}>;

/** The messages of one key in a batch, coalesced. */
type KeyBatch = Readonly<{ message: WorkMessage; records: readonly BatchRecord[] }>;

/** Ends a message group as failed; the reason has been emitted already. */
class GroupFailed extends Error {}

/**
 * Creates the runner for batches of the work queue.
 *
 * Message groups are processed concurrently, so that one that hangs does not block the others. The messages of a group are
 * one reconcile and succeed or fail together; otherwise a redelivered message would overtake the rest of its group. The next
 * message of a key is sent before the current one is acknowledged: a crash in between repeats a reconcile, which then finds
 * nothing to do.
 */
export function createBatchRunner(options: BatchRunnerOptions): BatchRunner {
  const { work, queue, clock, random = Math.random, maxConcurrentGroups = 10 } = options;
  const emit = ignoreListenerErrors(options.onEvent);

  const deadLetterUnreadable = async (record: BatchRecord, error: unknown): Promise<void> => {
    const { messageId, receives } = record;
    const cause = readableCause(error);
    await queue.deadLetter(record, cause).catch((failure: unknown) => {
      emit({ kind: "unreadable", messageId, cause, receives, error: failure });
      throw new GroupFailed();
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
    const failReturned = (error?: unknown): GroupFailed => {
      emit({ kind: "ended", item, durationSeconds: durationSeconds(), outcome: "returned", error });
      return new GroupFailed();
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

  /** Returns whether all messages of a group can be deleted. */
  const runGroup = async (records: readonly BatchRecord[], signal: AbortSignal): Promise<boolean> => {
    try {
      const batches = new Map<string, KeyBatch>();
      for (const record of records) {
        let message: WorkMessage;
        try {
          message = parseBody(record.body);
        } catch (error) {
          await deadLetterUnreadable(record, error);
          continue;
        }
        // A group that TMC sent has one key. A group that was filled by hand may have several, and none may be lost.
        const text = formatKey(message.key);
        const earlier = batches.get(text);
        batches.set(text, {
          message: earlier === undefined ? message : coalesceMessages(earlier.message, message),
          records: [...(earlier?.records ?? []), record],
        });
      }
      for (const batch of batches.values()) await runKey(batch, signal);
      return true;
    } catch {
      return false;
    }
  };

  return async (records, signal, drain) => {
    const groups = groupRecords(records);
    const done = new Set<string>();
    const abort = abortPromise(signal);
    const processed = forEachConcurrently(groups, maxConcurrentGroups, async ([groupId, members]) => {
      if (signal.aborted || drain?.aborted === true) return;
      if (await runGroup(members, signal)) done.add(groupId);
    });
    await Promise.race([processed, abort.aborted]);
    abort.dispose();
    return { failed: records.filter(({ groupId }) => !done.has(groupId)).map(({ messageId }) => messageId) };
  };
}

/** The messages of a Lambda event. */
export function batchRecordsOf({ Records }: SQSEvent): readonly BatchRecord[] {
  return Records.map(({ messageId, body, attributes }) => ({
    messageId,
    body,
    // A standard queue has no groups: each message is its own.
    groupId: attributes.MessageGroupId ?? messageId,
    sentMs: Number(attributes.SentTimestamp),
    receives: Number(attributes.ApproximateReceiveCount),
  }));
}

/** Groups in the order of their first message. */
function groupRecords(records: readonly BatchRecord[]): ReadonlyMap<string, readonly BatchRecord[]> {
  const groups = new Map<string, BatchRecord[]>();
  for (const record of records) {
    const group = groups.get(record.groupId);
    if (group === undefined) groups.set(record.groupId, [record]);
    else group.push(record);
  }
  return groups;
}

/** A promise for the abort of a signal; `dispose` removes its listener. */
function abortPromise(signal: AbortSignal): Readonly<{ aborted: Promise<void>; dispose: () => void }> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const onAbort = (): void => resolve();
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  return { aborted: promise, dispose: () => signal.removeEventListener("abort", onAbort) };
}
