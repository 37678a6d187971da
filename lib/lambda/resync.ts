import { clientOf } from "../kcp/logical-cluster.ts";
import { reconciledTypes } from "../kcp/reconciled-types.ts";
import type { KubeClient } from "../kube/client.ts";
import { type ObjectKey, reconciledKinds } from "../model/key.ts";
import { createSqsQueue } from "../queue/sqs.ts";
import { longestDelaySeconds } from "../queue/sqs-wait.ts";
import { openHub, type QueueCloud } from "./cloud.ts";
import { createFleet, reportProblems } from "./fleet.ts";
import { createFunction, type FunctionHandler } from "./function.ts";
import type { Host } from "./host.ts";

/** What was done, for whoever calls the function by hand. */
export type ResyncAnswer = Readonly<{ keys: number; sent: number }>;

/** Sent between two looks at the time: four calls at once, a few times. */
const keysAtOnce = 200;
/** Names only: objects of this size come a thousand to the page. */
const pageSize = 1_000;

/**
 * Creates the function that has every object reconciled once, so that anything missed heals. The keys are smeared over the interval, or
 * as much of it as the delay queue can hold.
 */
export function createResyncer(host: Host, cloud: QueueCloud): FunctionHandler<unknown, ResyncAnswer> {
  const { clock, random } = host;
  return createFunction(host, {
    name: "resync",
    reads: ["hub", "kcpSecret", "workspaces", "delayQueueUrl", "resyncSeconds"],
    start: async (tools) => {
      const client = await openHub(cloud, tools);
      const { delayQueueUrl: delay } = tools.environment;
      return {
        ...tools,
        client,
        fleet: createFleet(client, tools.environment),
        // Nothing here is sent at once or set aside: the wait is never less than a second.
        queue: createSqsQueue({ sqs: cloud.sqs, urls: { work: delay, delay, deadLetters: delay }, clock, random }),
      };
    },
    handle: async ({ client, fleet, queue, log, environment }, _event: unknown, signal) => {
      const found = await fleet.everywhere(({ name }) => keysIn(client, name, signal), signal);
      const keys = found.done.flatMap(({ result }) => result);
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
      reportProblems(log, found);
      return { keys: keys.length, sent };
    },
  });
}

async function keysIn(client: KubeClient, cluster: string, signal: AbortSignal): Promise<readonly ObjectKey[]> {
  const keys: ObjectKey[] = [];
  for (const kind of reconciledKinds) {
    const { items } = await clientOf(client, cluster).metadata.listAll(
      { type: reconciledTypes[kind] },
      { limit: pageSize, signal },
    );
    for (const { metadata } of items) keys.push({ cluster, kind, name: metadata.name ?? "" });
  }
  return keys;
}
