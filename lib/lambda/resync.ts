import { createSqsQueue } from "../queue/sqs.ts";
import { maxSqsDelaySeconds } from "../queue/sqs-delay.ts";
import { createFunction, type FunctionHandler } from "./function.ts";
import type { Host } from "./host.ts";
import { listResyncKeys } from "./resync-keys.ts";
import { openUpstreamHub, type QueueClients, readWorkloadTypes } from "./upstream.ts";
import { createWorkspaceLister, reportListFailures } from "./workspaces.ts";

/** Result for manual invocations. */
export type ResyncResult = Readonly<{ keys: number; sent: number }>;

/** Keys sent between two checks of the deadline: five rounds of four concurrent calls. */
const keysPerStep = 200;

/**
 * Creates the function that enqueues every key, which repairs missed changes. The keys are spread over the interval, or over
 * the longest delay of SQS.
 */
export function createResyncFunction(host: Host, clients: QueueClients): FunctionHandler<unknown, ResyncResult> {
  const { clock, random } = host;
  return createFunction(host, {
    name: "resync",
    environmentNames: ["hub", "kcpSecret", "workspaces", "apiExport", "delayQueueUrl", "resyncSeconds", "sync"],
    start: async (tools) => {
      const { delayQueueUrl: delay, sync } = tools.environment;
      const upstream = await openUpstreamHub(clients, tools);
      return {
        ...tools,
        lister: createWorkspaceLister(upstream, tools.environment),
        types: sync ? await readWorkloadTypes(upstream, tools) : [],
        // Only the delay queue is used: every delay is at least a second, and nothing is dead-lettered.
        queue: createSqsQueue({ sqs: clients.sqs, urls: { work: delay, delay, deadLetters: delay }, clock, random }),
      };
    },
    handle: async ({ lister, types, queue, log, environment }, _event: unknown, signal) => {
      const { keys, ...listed } = await listResyncKeys(lister, types, signal);
      const spreadSeconds = Math.min(environment.resyncSeconds, maxSqsDelaySeconds);
      // A random start, so that a resync without enough time does not always omit the same keys.
      const first = Math.floor(random() * keys.length);
      const rotated = [...keys.slice(first), ...keys.slice(0, first)];
      let sent = 0;
      while (sent < rotated.length && !signal.aborted) {
        const step = rotated.slice(sent, sent + keysPerStep);
        await queue.sendManyLater(
          step.map((key) => ({
            item: { key, reason: "resync" },
            afterSeconds: Math.max(1, Math.ceil(random() * spreadSeconds)),
          })),
        );
        sent += step.length;
      }
      if (sent < keys.length) log.warn("resync cut off", { keys: keys.length, sent });
      else log.info("resync sent", { keys: keys.length });
      reportListFailures(log, listed);
      return { keys: keys.length, sent };
    },
  });
}
