import type { Clock } from "@tmc/kube/clock.ts";
import type { Work, WorkQueue } from "../model/work-item.ts";
import { createBatchRunner } from "../queue/batch.ts";
import { spreadFanOut } from "../queue/fan-out.ts";
import type { QueueEvent } from "../queue/queue-event.ts";
import { createSqsQueue } from "../queue/sqs.ts";
import type { QueueUrls, SqsClient } from "../queue/sqs-client.ts";
import { type Outage, runSqsWorker } from "../queue/sqs-worker.ts";
import type { TenantRate } from "../queue/tenant-rate-limit.ts";

export type SharedRunOptions = Readonly<{
  /** Keys that are worked on at once. */
  workers: number;
  /** Ends the work: nothing more is begun. */
  signal: AbortSignal;
  /** How long what is in flight may take after that. */
  graceSeconds: number;
  /** Called when keys have come and before the first of them is worked on. */
  onBatch: () => void;
  onEvent: (event: QueueEvent) => void;
}>;

/** A queue that more than one process sends to and works on. */
export interface SharedQueue extends WorkQueue {
  /** Works until the signal aborts, and is done when everything in flight has ended or was given back. */
  run(work: Work, options: SharedRunOptions): Promise<void>;
}

export type SqsSharedQueueOptions = Readonly<{
  sqs: SqsClient;
  urls: QueueUrls;
  clock: Clock;
  random?: () => number;
  /** How fast the keys of one tenant may go that are told of another's change. @default any number at once */
  tenantRate?: TenantRate | undefined;
  /** Hears once of each time that a queue does not answer, and of its end. */
  onOutage?: (outage: Outage) => void;
}>;

/** Batches that are fetched side by side, so that one slow key does not keep the next messages from being fetched. */
const fewBatches = 4;
/** A batch has no more keys. */
const largestBatch = 10;

/** Creates a queue on SQS for a controller that shares it with functions or with others of its kind. */
export function createSqsSharedQueue(options: SqsSharedQueueOptions): SharedQueue {
  const { sqs, urls, clock, random = Math.random, onOutage } = options;
  let tell: (event: QueueEvent) => void = () => {};
  const queue = createSqsQueue({ sqs, urls, clock, random, onEvent: (event) => tell(event) });
  return {
    ...spreadFanOut(queue, options.tenantRate),
    run: async (work, { workers, signal, graceSeconds, onBatch, onEvent }) => {
      tell = onEvent;
      const { batches, groupsAtOnce } = divideWorkers(workers);
      const run = createBatchRunner({ work, queue, clock, random, groupsAtOnce, onEvent });
      await runSqsWorker({
        sqs,
        urls,
        run: (records, cut, drain) => {
          onBatch();
          return run(records, cut, drain);
        },
        // Where a function does the same, each message still goes one way only.
        forward: true,
        batches,
        signal,
        graceSeconds,
        clock,
        random,
        ...(onOutage === undefined ? {} : { onOutage }),
      });
    },
  };
}

/** Divides workers into batches that are fetched beside each other and keys of each; never more keys than workers. */
export function divideWorkers(workers: number): Readonly<{ batches: number; groupsAtOnce: number }> {
  const batches = Math.max(Math.min(workers, fewBatches), Math.ceil(workers / largestBatch));
  return { batches, groupsAtOnce: Math.max(1, Math.floor(workers / batches)) };
}
