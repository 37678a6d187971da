import { type ObjectKey, reconciledKinds } from "../model/key.ts";
import { createSqsQueue } from "../queue/sqs.ts";
import { longestDelaySeconds } from "../queue/sqs-wait.ts";
import { openHub, type QueueCloud } from "./cloud.ts";
import { createFleet, type Fleet, type FleetList, reportProblems } from "./fleet.ts";
import { createFunction, type FunctionHandler } from "./function.ts";
import type { Host } from "./host.ts";

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
    reads: ["hub", "kcpSecret", "workspaces", "apiExport", "delayQueueUrl", "resyncSeconds"],
    start: async (tools) => {
      const { delayQueueUrl: delay } = tools.environment;
      return {
        ...tools,
        fleet: createFleet(await openHub(cloud, tools), tools.environment),
        // Nothing here is sent at once or set aside: the wait is never less than a second.
        queue: createSqsQueue({ sqs: cloud.sqs, urls: { work: delay, delay, deadLetters: delay }, clock, random }),
      };
    },
    handle: async ({ fleet, queue, log, environment }, _event: unknown, signal) => {
      const { keys, ...listed } = await keysIn(fleet, signal);
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

type Keys = Pick<FleetList, "read" | "problems"> & Readonly<{ keys: readonly ObjectKey[] }>;

async function keysIn(fleet: Fleet, signal: AbortSignal): Promise<Keys> {
  const keys: ObjectKey[] = [];
  /** What fails for one kind mostly fails for the other: it is said once. */
  const problems = new Map<string, FleetList["problems"][number]>();
  let read = 0;
  for (const kind of reconciledKinds) {
    const listed = await fleet.list(kind, "metadata", signal);
    read += listed.read;
    for (const problem of listed.problems) problems.set(problem.workspace, problem);
    for (const { cluster, objects } of listed.found) {
      for (const { metadata } of objects) keys.push({ cluster, kind, name: metadata.name ?? "" });
    }
  }
  return { keys, read, problems: [...problems.values()] };
}
