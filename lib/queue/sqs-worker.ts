import { createBackoff } from "@tmc/kube/backoff.ts";
import { type Clock, systemClock } from "@tmc/kube/clock.ts";
import type { BatchRunner } from "./batch.ts";
import { createForwarder } from "./forward.ts";
import { nameOfQueue, type QueueUrls, type SqsClient } from "./sqs-client.ts";
import { deleteMessages, type Fetched, fetchMessages, giveBack } from "./sqs-fetch.ts";

export type SqsWorkerOptions = Readonly<{
  sqs: SqsClient;
  urls: Pick<QueueUrls, "work" | "delay">;
  run: BatchRunner;
  /** Whether the messages of the delay queue are handed on too, where no function does that. @default false */
  forward?: boolean;
  /** How many batches of up to ten messages are worked on at once. @default 2 */
  batches?: number;
  /** Ends the worker: nothing more is begun, what is in flight may finish. */
  signal: AbortSignal;
  /** How long what is in flight may take after that; then it is given back. @default 10 */
  graceSeconds?: number;
  /** How long a batch may take; well below the queue's visibility time-out, or its messages come to another meanwhile. @default 60 */
  batchSeconds?: number;
  /**
   * How long the queue is asked to wait for a message. A stop waits for that, too: a question that is taken back may still be answered,
   * and what was handed to nobody blocks its key until it is visible again. So it is shorter than the grace. @default 5
   */
  waitSeconds?: number;
  clock?: Clock;
  /** From 0 up to 1; the spread of the waits while a queue does not answer. */
  random?: () => number;
  /** Hears once of each time that a queue does not answer, and of its end. */
  onOutage?: (outage: Outage) => void;
}>;

type Source = Readonly<{ url: string; outages: Outages }>;
/** Answers which messages are to come again. */
type Handle = (messages: readonly Fetched[]) => Promise<readonly string[]>;

/**
 * When a failed message comes again: after a few seconds, then later and later. A queue to send on to that is away for a minute must
 * not use up the few receives after which SQS gives a message up.
 */
export function failedSeconds(receives: number): number {
  return Math.min(120, 5 * 3 ** (Math.max(1, receives) - 1));
}

const shortestPauseMs = 500;
const longestPauseMs = 30_000;

/** Works on the queue until the signal aborts, and is done when everything in flight has ended or was given back. */
export async function runSqsWorker(options: SqsWorkerOptions): Promise<void> {
  const { sqs, urls, run, forward = false, batches = 2, signal, graceSeconds = 10, batchSeconds = 60 } = options;
  const { waitSeconds = 5, clock = systemClock, random = Math.random, onOutage } = options;
  const cut = new AbortController();

  /** Deletes what is done and gives back what failed; a queue that does not answer now hands it out again by itself. */
  const answer = async (url: string, messages: readonly Fetched[], failed: readonly string[]): Promise<void> => {
    const again = new Set(failed);
    await deleteMessages(
      sqs,
      url,
      messages.filter(({ messageId }) => !again.has(messageId)),
    );
    const back = messages.filter(({ messageId }) => again.has(messageId));
    // Whoever goes keeps nothing back.
    await giveBack(sqs, url, back, ({ receives }) => (signal.aborted ? 0 : failedSeconds(receives)));
  };

  const work = async (messages: readonly Fetched[]): Promise<readonly string[]> => {
    const late = new AbortController();
    const disarm = clock.after(batchSeconds * 1000, () => late.abort());
    try {
      return (await run(messages, AbortSignal.any([cut.signal, late.signal]), signal)).failed;
    } finally {
      disarm();
    }
  };

  const poll = async ({ url, outages }: Source, handle: Handle): Promise<void> => {
    const backoff = createBackoff({ shortestMs: shortestPauseMs, longestMs: longestPauseMs, random });
    while (!signal.aborted) {
      try {
        const messages = await fetchMessages(sqs, url, { waitSeconds, signal: cut.signal });
        if (messages.length > 0) await answer(url, messages, await handle(messages));
        outages.end();
        backoff.reset();
      } catch (error) {
        if (signal.aborted) return;
        outages.begin(error);
        await pause(clock, backoff.nextMs(), signal);
      }
    }
  };

  let disarmGrace = (): void => {};
  const drain = (): void => {
    disarmGrace = clock.after(graceSeconds * 1000, () => cut.abort());
  };
  if (!signal.aborted) signal.addEventListener("abort", drain, { once: true });
  // One for all who ask the same queue: it is away for all of them.
  const sourceOf = (url: string): Source => ({
    url,
    outages: createOutages({ queue: nameOfQueue(url), clock, onOutage }),
  });
  const workSource = sourceOf(urls.work);
  const pollers = Array.from({ length: batches }, () => poll(workSource, work));
  const forwarding = createForwarder({ sqs, urls });
  if (forward) pollers.push(poll(sourceOf(urls.delay), async (messages) => (await forwarding(messages)).failed));
  await Promise.all(pollers);
  signal.removeEventListener("abort", drain);
  disarmGrace();
}

/** Waits, but not beyond the signal. */
function pause(clock: Clock, waitMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      disarm();
      signal.removeEventListener("abort", end);
      resolve();
    };
    const disarm = clock.after(waitMs, end);
    signal.addEventListener("abort", end, { once: true });
  });
}

/** A queue that stopped to answer, or answers again. */
export type Outage = Readonly<
  { kind: "begun"; queue: string; error: unknown } | { kind: "ended"; queue: string; seconds: number }
>;

/** Knows whether a queue is away. */
export interface Outages {
  begin(error: unknown): void;
  end(): void;
}

/** Turns many failures in a row into one piece of news. */
export function createOutages({
  queue,
  clock,
  onOutage,
}: Readonly<{ queue: string; clock: Clock; onOutage: ((outage: Outage) => void) | undefined }>): Outages {
  let sinceMs: number | undefined;
  return {
    begin: (error) => {
      if (sinceMs !== undefined) return;
      sinceMs = clock.now();
      onOutage?.({ kind: "begun", queue, error });
    },
    end: () => {
      if (sinceMs === undefined) return;
      const seconds = (clock.now() - sinceMs) / 1000;
      sinceMs = undefined;
      onOutage?.({ kind: "ended", queue, seconds });
    },
  };
}
