import { createSqsSharedQueue, type SharedQueue } from "../../controller/shared-queue.ts";

import type { Log } from "../../observe/log.ts";
import { findQueues, type KnownQueues } from "../../queue/queue-stats.ts";
import type { TenantRate } from "../../queue/tenant-rate-limit.ts";
import { type CliIo, UsageError } from "../cli-io.ts";
import { openSqs } from "./queue-options.ts";

/** A shared queue whose connections the caller must close. */
export type OpenSharedQueue = SharedQueue & Readonly<{ close: () => void }>;

/** Opens the SQS queues that a controller shares with others; finds the queues whose URLs are not set. */
export async function openSharedQueue(
  io: CliIo,
  known: KnownQueues,
  { log, tenantRate }: Readonly<{ log: Log; tenantRate: TenantRate | undefined }>,
): Promise<OpenSharedQueue> {
  const sqs = await openSqs(io, known.work);
  try {
    const { work, delay, deadLetters } = await findQueues(sqs, known);
    if (delay === undefined)
      throw new UsageError("--delay-queue-url is required: no delay queue of the same stage was found");
    if (deadLetters === undefined)
      throw new UsageError("--dead-letters-url is required: the work queue has no redrive policy");
    const queue = createSqsSharedQueue({
      sqs,
      urls: { work, delay, deadLetters },
      clock: io.clock,
      tenantRate,
      onOutage: (outage) => {
        if (outage.kind === "begun") log.warn("queue is unavailable", { queue: outage.queue, error: outage.error });
        else log.info("queue is available again", { queue: outage.queue, awaySeconds: Math.round(outage.seconds) });
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
            const message = error === undefined ? "message dead-lettered" : "message cannot be dead-lettered";
            log.error(message, { messageId, cause, receives, ...(error === undefined ? {} : { error }) });
          },
        }),
      close: () => sqs.destroy(),
    };
  } catch (error) {
    sqs.destroy();
    throw error;
  }
}
