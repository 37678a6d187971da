import { createSqsQueue } from "../queue/sqs.ts";
import { longestDelaySeconds } from "../queue/sqs-delay.ts";
import { knownWorkloads, openHub, type QueueCloud } from "./cloud.ts";

import { createFunction, type FunctionHandler } from "./function.ts";
import type { Host } from "./host.ts";
import { keysIn } from "./resync-keys.ts";
import { createFleet, reportProblems } from "./workspaces.ts";

/** What was done, for whoever calls the function by hand. */
export type ResyncAnswer = Readonly<{ keys: number; sent: number }>;

/** Sent between two looks at the time: four calls at once, a few times. */
const keysAtOnce = 200;

/**
 * Creates the function that has every object reconciled once, so that anything missed heals. The keys are smeared over the interval, or
 * as much of it as the delay queue can hold.
 */
export function createResyncer(host: Host, cloud: QueueCloud): FunctionHandler<unknown, ResyncAnswer> {
  const { clock, random } = host;
  return createFunction(host, {
    name: "resync",
    reads: ["hub", "kcpSecret", "workspaces", "apiExport", "delayQueueUrl", "resyncSeconds", "sync"],
    start: async (tools) => {
      const { delayQueueUrl: delay, sync } = tools.environment;
      const opened = await openHub(cloud, tools);
      return {
        ...tools,
        fleet: createFleet(opened, tools.environment),
        types: sync ? await knownWorkloads(opened, tools) : [],
        // Nothing here is sent at once or set aside: the wait is never less than a second.
        queue: createSqsQueue({ sqs: cloud.sqs, urls: { work: delay, delay, deadLetters: delay }, clock, random }),
      };
    },
    handle: async ({ fleet, types, queue, log, environment }, _event: unknown, signal) => {
      const { keys, ...listed } = await keysIn(fleet, types, signal);
      const overSeconds = Math.min(environment.resyncSeconds, longestDelaySeconds);
      // Whoever would be left out for want of time is another one each time.
      const first = Math.floor(random() * keys.length);
      const inTurn = [...keys.slice(first), ...keys.slice(0, first)];
      let sent = 0;
      while (sent < inTurn.length && !signal.aborted) {
        const some = inTurn.slice(sent, sent + keysAtOnce);
        await queue.sendEachLater(
          some.map((key) => ({
            item: { key, reason: "resync" },
            afterSeconds: Math.max(1, Math.ceil(random() * overSeconds)),
          })),
        );
        sent += some.length;
      }
      if (sent < keys.length) log.warn("resync cut off", { keys: keys.length, sent });
      else log.info("resync sent", { keys: keys.length });
      reportProblems(log, listed);
      return { keys: keys.length, sent };
    },
  });
}
