import type { Clock } from "@tmc/kube/clock.ts";
import type { SQSEvent } from "aws-lambda";
import { forEachConcurrently } from "../model/concurrency.ts";
import { formatKey } from "../model/key.ts";
import { assertValidDelay, type Next } from "../model/next.ts";
import type { Work, WorkItem } from "../model/work-item.ts";
import type { QueueEvent } from "./queue-event.ts";
import { afterFailure, readableCause, sortOfFailure } from "./retry-policy.ts";
import type { SqsQueue } from "./sqs.ts";

import { collapseMessages, countFailure, parseBody, type WorkMessage } from "./work-message.ts";

/** A message as a batch has it, whoever fetched it. */
export type BatchRecord = Readonly<{
  messageId: string;
  body: string;
  groupId: string;
  sentMs: number;
  /** How often it has been handed out, this time included. */
  receives: number;
}>;

/**
 * Works on a batch and answers which messages are to be handed out again; all others are done with.
 *
 * When `signal` aborts it answers at once: whatever has not ended by then has failed. When `drain` aborts nothing more is begun,
 * and what is under way may end.
 */
export type BatchRunner = (
  records: readonly BatchRecord[],
  signal: AbortSignal,
  drain?: AbortSignal,
) => Promise<Readonly<{ failed: readonly string[] }>>;

export type BatchRunnerOptions = Readonly<{
  work: Work;
  queue: Pick<SqsQueue, "sendLater" | "setAside">;
  clock: Clock;
  /** From 0 up to 1; the spread of the waits between attempts. @default Math.random */
  random?: () => number;
  /** How many keys of a batch are worked on at once. @default 10, all of a batch */
  groupsAtOnce?: number;
  /** Told of everything that happens, after it has; for metrics and logs. What it throws is nobody's. */
  onEvent?: (event: QueueEvent) => void;
}>;

/** A key's messages in one batch. */
type Bundle = Readonly<{ message: WorkMessage; records: readonly BatchRecord[] }>;

/** Thrown inside of a group to end it as failed, where the reason has been told already. */
class GroupFailed extends Error {}

/**
 * Creates the runner of batches from the work queue.
 *
 * The lines of a batch are worked on beside each other, so that one which hangs keeps no other from ending. Of a line only the newest
 * state matters: its messages are one run and share one fate, or a redelivered one would overtake the rest.
 * Whatever is to happen next is sent before a message is given up; a run that is repeated for it finds nothing to do.
 */
export function createBatchRunner(options: BatchRunnerOptions): BatchRunner {
  const { work, queue, clock, random = Math.random, groupsAtOnce = 10, onEvent } = options;
  const tell = (event: QueueEvent): void => {
    try {
      onEvent?.(event);
    } catch {
      // Whoever only listens must not be able to stop the work.
    }
  };

  const setAsideUnreadable = async (record: BatchRecord, error: unknown): Promise<void> => {
    const { messageId, receives } = record;
    const cause = readableCause(error);
    await queue.setAside(record, cause).catch((failure: unknown) => {
      tell({ kind: "unreadable", messageId, cause, receives, error: failure });
      throw new GroupFailed();
    });
    tell({ kind: "unreadable", messageId, cause, receives });
  };

  const runBundle = async ({ message, records }: Bundle, signal: AbortSignal): Promise<void> => {
    const { key, reason, resourceVersion, attempts } = message;
    const item: WorkItem = { key, reason, resourceVersion };
    const startedMs = clock.now();
    const sentMs = Math.min(...records.map((record) => record.sentMs));
    const receives = Math.max(...records.map((record) => record.receives));
    const waitedSeconds = Math.max(0, startedMs - sentMs) / 1000;
    tell({ kind: "started", item, waitedSeconds, messages: records.length, receives });
    const durationSeconds = (): number => Math.max(0, clock.now() - startedMs) / 1000;
    const giveBack = (error?: unknown): GroupFailed => {
      tell({ kind: "ended", item, durationSeconds: durationSeconds(), outcome: "returned", error });
      return new GroupFailed();
    };
    /** The answer may have been given without this run: then its message comes again, and a second one would be too much. */
    const sendNext = async (sending: () => Promise<void>): Promise<void> => {
      if (signal.aborted) throw giveBack();
      await sending().catch((error: unknown) => {
        throw giveBack(error);
      });
    };

    let next: Next;
    try {
      next = await work(item, signal);
      if (next.kind === "requeue") assertValidDelay(next.afterSeconds);
    } catch (error) {
      if (signal.aborted) throw giveBack(); // it was cut off: that says nothing about the key
      const sort = sortOfFailure(error);
      const counted = countFailure(attempts, sort);
      const count = counted[sort] ?? 1;
      const after = afterFailure(error, count, random());
      if (after.kind === "retry") {
        // The version that woke it is left out: by then it is old, and equal wishes can be one.
        await sendNext(() => queue.sendLater({ key, reason: "retry", attempts: counted }, after.afterSeconds));
      } else if (after.kind === "dead-letter") {
        await sendNext(() => queue.setAside({ ...item, attempts: counted }, readableCause(error)));
      }
      const afterSeconds = after.kind === "retry" ? after.afterSeconds : undefined;
      const ended = {
        durationSeconds: durationSeconds(),
        outcome: after.kind,
        error,
        sort,
        attempts: count,
        afterSeconds,
      };
      tell({ kind: "ended", item, ...ended });
      return;
    }
    const { kind } = next;
    if (next.kind === "requeue") {
      const { afterSeconds } = next;
      await sendNext(() => queue.sendLater({ key, reason: "requeue" }, afterSeconds));
    }
    tell({ kind: "ended", item, durationSeconds: durationSeconds(), outcome: kind });
  };

  /** Answers whether all messages of a line are done with. */
  const runGroup = async (records: readonly BatchRecord[], signal: AbortSignal): Promise<boolean> => {
    try {
      const bundles = new Map<string, Bundle>();
      for (const record of records) {
        let message: WorkMessage;
        try {
          message = parseBody(record.body);
        } catch (error) {
          await setAsideUnreadable(record, error);
          continue;
        }
        // A line of ours has one key. One that was filled by hand may have more, and none may get lost.
        const text = formatKey(message.key);
        const earlier = bundles.get(text);
        bundles.set(text, {
          message: earlier === undefined ? message : collapseMessages(earlier.message, message),
          records: [...(earlier?.records ?? []), record],
        });
      }
      for (const bundle of bundles.values()) await runBundle(bundle, signal);
      return true;
    } catch {
      return false;
    }
  };

  return async (records, signal, drain) => {
    const groups = groupsOf(records);
    const done = new Set<string>();
    const cut = untilAborted(signal);
    const worked = forEachConcurrently(groups, groupsAtOnce, async ([groupId, members]) => {
      if (signal.aborted || drain?.aborted === true) return;
      if (await runGroup(members, signal)) done.add(groupId);
    });
    await Promise.race([worked, cut.aborted]);
    cut.forget();
    return { failed: records.filter(({ groupId }) => !done.has(groupId)).map(({ messageId }) => messageId) };
  };
}

/** The messages of an event that Lambda hands to a function. */
export function recordsOf({ Records }: SQSEvent): readonly BatchRecord[] {
  return Records.map(({ messageId, body, attributes }) => ({
    messageId,
    body,
    // A standard queue has no lines: each of its messages is one.
    groupId: attributes.MessageGroupId ?? messageId,
    sentMs: Number(attributes.SentTimestamp),
    receives: Number(attributes.ApproximateReceiveCount),
  }));
}

/** Lines in the order of their first message. */
function groupsOf(records: readonly BatchRecord[]): ReadonlyMap<string, readonly BatchRecord[]> {
  const groups = new Map<string, BatchRecord[]>();
  for (const record of records) {
    const group = groups.get(record.groupId);
    if (group === undefined) groups.set(record.groupId, [record]);
    else group.push(record);
  }
  return groups;
}

/** The moment of a signal as a promise that can be let go of. */
function untilAborted(signal: AbortSignal): Readonly<{ aborted: Promise<void>; forget: () => void }> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const fire = (): void => resolve();
  if (signal.aborted) fire();
  else signal.addEventListener("abort", fire, { once: true });
  return { aborted: promise, forget: () => signal.removeEventListener("abort", fire) };
}
