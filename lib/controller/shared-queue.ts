import type { Clock } from "@tmc/kube/clock.ts";
import type { Work, WorkQueue } from "../model/work-item.ts";
import { createBatchRunner } from "../queue/batch.ts";
import { rateLimitFanOut } from "../queue/fan-out.ts";
import { isolatingRunner } from "../queue/isolate.ts";
import type { QueueEvent } from "../queue/queue-event.ts";
import { createSqsQueue } from "../queue/sqs.ts";
import type { QueueUrls, SqsClient } from "../queue/sqs-client.ts";
import { deleteMessages } from "../queue/sqs-receive.ts";
import { type Outage, runSqsWorker } from "../queue/sqs-worker.ts";
import type { TenantRate } from "../queue/tenant-rate-limit.ts";

export type SharedRunOptions = Readonly<{
  /** Keys that are reconciled concurrently. */
  workers: number;
  /** After an abort no reconcile starts. */
  signal: AbortSignal;
  /** How long running reconciles may take after the abort. */
  graceSeconds: number;
  /** Called when keys have been received, before the first of them is reconciled. */
  onBatch: () => void;
  onEvent: (event: QueueEvent) => void;
}>;

/** A queue that several processes send to and receive from. */
export interface SharedQueue extends WorkQueue {
  /** Reconciles keys until the signal aborts; resolves when all running reconciles have ended or were returned to the queue. */
  run(work: Work, options: SharedRunOptions): Promise<void>;
}

export type SqsSharedQueueOptions = Readonly<{
  sqs: SqsClient;
  urls: QueueUrls;
  clock: Clock;
  random?: () => number;
  /** Rate limit for the fan-out keys of one tenant. @default none */
  tenantRate?: TenantRate | undefined;
  /** Called at the begin and at the end of each outage of a queue. */
  onOutage?: (outage: Outage) => void;
}>;

/** Batches that are received concurrently, so that one slow key does not delay the next messages. */
const minBatches = 4;
/** The limit of SQS for one receive. */
const maxBatchSize = 10;

/** Creates the SQS queue of a controller that shares it with functions or other controllers. */
export function createSqsSharedQueue(options: SqsSharedQueueOptions): SharedQueue {
  const { sqs, urls, clock, random = Math.random, onOutage } = options;
  let emit: (event: QueueEvent) => void = () => {};
  const queue = createSqsQueue({ sqs, urls, clock, random, onEvent: (event) => emit(event) });
  return {
    ...rateLimitFanOut(queue, options.tenantRate),
    run: async (work, { workers, signal, graceSeconds, onBatch, onEvent }) => {
      emit = onEvent;
      const { batches, keysPerBatch } = divideWorkers(workers);
      const run = isolatingRunner({
        run: createBatchRunner({ work, queue, clock, random, maxConcurrentKeys: keysPerBatch, onEvent }),
        queue,
        acknowledge: (records) => deleteMessages(sqs, urls.work, records),
      });
      await runSqsWorker({
        sqs,
        urls,
        run: (records, cut, drain) => {
          onBatch();
          return run(records, cut, drain);
        },
        // A forward function may receive from the delay queue too; SQS delivers each message to one of them.
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

/** Divides workers into concurrent batches and concurrent keys per batch; never more keys in total than workers. */
export function divideWorkers(workers: number): Readonly<{ batches: number; keysPerBatch: number }> {
  const batches = Math.max(Math.min(workers, minBatches), Math.ceil(workers / maxBatchSize));
  return { batches, keysPerBatch: Math.max(1, Math.floor(workers / batches)) };
}
