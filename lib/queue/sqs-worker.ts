import { createBackoff } from "@tmc/kube/backoff.ts";
import { type Clock, systemClock } from "@tmc/kube/clock.ts";
import type { BatchRunner } from "./batch.ts";
import { createForwarder } from "./forward.ts";
import { type QueueUrls, queueName, type SqsClient } from "./sqs-client.ts";
import {
  deleteMessages,
  type ReceivedMessage,
  receiveMessages,
  redeliveryDelaySeconds,
  releaseMessages,
} from "./sqs-receive.ts";

export type SqsWorkerOptions = Readonly<{
  sqs: SqsClient;
  urls: Pick<QueueUrls, "work" | "delay">;
  run: BatchRunner;
  /** Whether to forward messages of the delay queue too, where no function does. @default false */
  forward?: boolean;
  /** Batches of up to ten messages that are processed concurrently. @default 2 */
  batches?: number;
  /** Stops the worker: no new message is started, messages in flight may finish. */
  signal: AbortSignal;
  /** How long messages in flight may take after that. Then they are released. @default 10 */
  graceSeconds?: number;
  /** Timeout of a batch. Its messages are invisible to other consumers for this time and a margin, whatever the queue's own setting is. @default 60 */
  batchSeconds?: number;
  /**
   * Long-poll time. A stop waits for the poll to end: SQS may still answer a canceled poll, and messages that reach no consumer
   * block their keys until they are visible again. So it is shorter than the grace period. @default 5
   */
  waitSeconds?: number;
  clock?: Clock;
  /** From 0 up to 1; jitter of the pauses during an outage. */
  random?: () => number;
  /** Called once when a queue stops responding, and once when it responds again. */
  onOutage?: (outage: Outage) => void;
}>;

type Source = Readonly<{ url: string; outages: OutageTracker }>;
/** Returns the ids of messages that must be delivered again. */
type HandleMessages = (messages: readonly ReceivedMessage[]) => Promise<readonly string[]>;

/** From the end of a batch until its messages become visible to other consumers, for the calls that delete or release them. */
const visibilityMarginSeconds = 10;

const minPauseMs = 500;
const maxPauseMs = 30_000;

/** Consumes the work queue until the signal aborts; resolves when everything in flight has ended or was released. */
export async function runSqsWorker(options: SqsWorkerOptions): Promise<void> {
  const { sqs, urls, run, forward = false, batches = 2, signal, graceSeconds = 10, batchSeconds = 60 } = options;
  const { waitSeconds = 5, clock = systemClock, random = Math.random, onOutage } = options;
  const abort = new AbortController();

  // If the queue does not respond here, it delivers the messages again after their visibility timeout.
  const settle = async (
    url: string,
    messages: readonly ReceivedMessage[],
    failed: readonly string[],
  ): Promise<void> => {
    const failedIds = new Set(failed);
    await deleteMessages(
      sqs,
      url,
      messages.filter(({ messageId }) => !failedIds.has(messageId)),
    );
    const released = messages.filter(({ messageId }) => failedIds.has(messageId));
    // A worker that stops releases its messages without a delay.
    await releaseMessages(sqs, url, released, ({ receives }) =>
      signal.aborted ? 0 : redeliveryDelaySeconds(receives),
    );
  };

  const work = async (messages: readonly ReceivedMessage[]): Promise<readonly string[]> => {
    const timeout = new AbortController();
    const disarm = clock.after(batchSeconds * 1000, () => timeout.abort());
    try {
      return (await run(messages, AbortSignal.any([abort.signal, timeout.signal]), signal)).failed;
    } finally {
      disarm();
    }
  };

  const poll = async ({ url, outages }: Source, handle: HandleMessages): Promise<void> => {
    const backoff = createBackoff({ shortestMs: minPauseMs, longestMs: maxPauseMs, random });
    while (!signal.aborted) {
      try {
        const messages = await receiveMessages(sqs, url, {
          waitSeconds,
          visibilitySeconds: batchSeconds + visibilityMarginSeconds,
          signal: abort.signal,
        });
        if (messages.length > 0) await settle(url, messages, await handle(messages));
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
    disarmGrace = clock.after(graceSeconds * 1000, () => abort.abort());
  };
  if (!signal.aborted) signal.addEventListener("abort", drain, { once: true });
  // All pollers of a queue share its outage.
  const sourceOf = (url: string): Source => ({
    url,
    outages: createOutageTracker({ queue: queueName(url), clock, onOutage }),
  });
  const workSource = sourceOf(urls.work);
  const pollers = Array.from({ length: batches }, () => poll(workSource, work));
  const forwarder = createForwarder({ sqs, urls });
  if (forward) pollers.push(poll(sourceOf(urls.delay), async (messages) => (await forwarder(messages)).failed));
  await Promise.all(pollers);
  signal.removeEventListener("abort", drain);
  disarmGrace();
}

/** Waits until the time is over or the signal aborts. */
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

/** A queue stopped responding, or responds again. */
export type Outage = Readonly<
  { kind: "begun"; queue: string; error: unknown } | { kind: "ended"; queue: string; seconds: number }
>;

export interface OutageTracker {
  begin(error: unknown): void;
  end(): void;
}

/** Creates a tracker that reports consecutive failures of a queue as one outage. */
export function createOutageTracker({
  queue,
  clock,
  onOutage,
}: Readonly<{ queue: string; clock: Clock; onOutage: ((outage: Outage) => void) | undefined }>): OutageTracker {
  let sinceMs: number | undefined;
  return {
    begin: (error) => {
      if (sinceMs !== undefined) return;
      sinceMs = clock.monotonicMs();
      onOutage?.({ kind: "begun", queue, error });
    },
    end: () => {
      if (sinceMs === undefined) return;
      const seconds = (clock.monotonicMs() - sinceMs) / 1000;
      sinceMs = undefined;
      onOutage?.({ kind: "ended", queue, seconds });
    },
  };
}
