import { createSqsSharedQueue, type SharedQueue } from "../controller/shared-queue.ts";

import type { Log } from "../observe/log.ts";
import { findQueues, type KnownQueues } from "../queue/queue-stats.ts";
import type { TenantRate } from "../queue/tenant-rate-limit.ts";
import { type CliIo, UsageError } from "./cli-io.ts";
import { openSqs } from "./queue-options.ts";

/** A shared queue with its connections. */
export type OpenedQueue = SharedQueue & Readonly<{ close: () => void }>;

/** Opens the queue on SQS that a controller shares with others; what was not named of it is found. */
export async function openSharedQueue(
  io: CliIo,
  known: KnownQueues,
  { log, tenantRate }: Readonly<{ log: Log; tenantRate: TenantRate | undefined }>,
): Promise<OpenedQueue> {
  const sqs = await openSqs(io, known.work);
  try {
    const { work, delay, deadLetters } = await findQueues(sqs, known);
    if (delay === undefined) throw new UsageError("--delay-queue-url is missing: no queue of the same stage was found");
    if (deadLetters === undefined) throw new UsageError("--dead-letters-url is missing: the work queue names none");
    const queue = createSqsSharedQueue({
      sqs,
      urls: { work, delay, deadLetters },
      clock: io.clock,
      tenantRate,
      onOutage: (outage) => {
        if (outage.kind === "begun") log.warn("queue does not answer", { queue: outage.queue, error: outage.error });
        else log.info("queue answers again", { queue: outage.queue, awaySeconds: Math.round(outage.seconds) });
      },
    });
    return {
      ...queue,
      run: (run, options) =>
        queue.run(run, {
          ...options,
          onEvent: (event) => {
            options.onEvent(event);
            if (event.kind !== "unreadable") return;
            const { messageId, cause, receives, error } = event;
            const words = error === undefined ? "message set aside" : "message cannot be set aside";
            log.error(words, { messageId, cause, receives, ...(error === undefined ? {} : { error }) });
          },
        }),
      close: () => sqs.destroy(),
    };
  } catch (error) {
    sqs.destroy();
    throw error;
  }
}
