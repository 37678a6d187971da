import { SendMessageCommand } from "@aws-sdk/client-sqs";
import { createDeadline } from "@tmc/kube/deadline.ts";
import { isRecord } from "@tmc/kube/json.ts";
import type { WorkKey } from "../model/key.ts";
import { createSqsQueue } from "../queue/sqs.ts";
import { queueName, sqsError } from "../queue/sqs-client.ts";
import { maxSqsDelaySeconds } from "../queue/sqs-delay.ts";
import { createFunction, type FunctionHandler } from "./function.ts";
import type { Host } from "./host.ts";
import { formatResyncCursor, parseResyncCursor, type ResyncCursor, resyncRunSeconds } from "./messages.ts";
import { walkResync } from "./resync-keys.ts";
import { openUpstreamHub, type QueueClients, readWorkloadTypes } from "./upstream.ts";
import { createWorkspaceLister, reportListFailures } from "./workspaces.ts";

/** Result for manual invocations. */
export type ResyncResult = Readonly<{
  /** Keys that this invocation sent. */
  keys: number;
  /** Lists that failed, and workspaces or endpoints that are not finished. */
  left: number;
  /** Whether another invocation continues. */
  isContinued: boolean;
}>;

/** Calls to SQS at a time: each takes some 15 ms, so that about a thousand per second are possible. */
const maxConcurrentCalls = 16;

/**
 * Creates the function that enqueues every key, which repairs missed changes. The keys are spread over the interval, or over
 * the longest delay of SQS.
 *
 * An invocation works for a bounded time. If it has not finished, it sends the place where it stopped to the resync queue, and
 * the invocation that receives this message continues there. The metric `tmc_resync_left` is written at the end only: 0 if
 * everything was sent, otherwise the number of failed lists, or of what is left when the next resync is due.
 */
export function createResyncFunction(host: Host, clients: QueueClients): FunctionHandler<unknown, ResyncResult> {
  const { clock, random } = host;
  return createFunction(host, {
    name: "resync",
    environmentNames: [
      "hub",
      "kcpSecret",
      "workspaces",
      "apiExport",
      "delayQueueUrl",
      "resyncQueueUrl",
      "resyncSeconds",
      "sync",
    ],
    start: async (tools) => {
      const { delayQueueUrl: delay, sync } = tools.environment;
      const upstream = await openUpstreamHub(clients, tools);
      return {
        ...tools,
        lister: createWorkspaceLister(upstream, tools.environment),
        types: sync ? await readWorkloadTypes(upstream, tools) : [],
        // Only the delay queue is used: every delay is at least a second, and nothing is dead-lettered.
        queue: createSqsQueue({
          sqs: clients.sqs,
          urls: { work: delay, delay, deadLetters: delay },
          maxConcurrentCalls,
          clock,
          random,
        }),
      };
    },
    handle: async ({ lister, types, queue, log, metrics, environment }, event: unknown, signal) => {
      const nowMs = clock.now();
      const cursor = cursorOf(event);
      const startedMs = cursor?.startedMs ?? nowMs;
      const spreadSeconds = Math.min(environment.resyncSeconds, maxSqsDelaySeconds);
      const send = (keys: readonly WorkKey[]): Promise<void> =>
        queue.sendManyLater(
          keys.map((key) => ({
            item: { key, reason: "resync" },
            afterSeconds: Math.max(1, Math.ceil(random() * spreadSeconds)),
          })),
        );
      const deadline = createDeadline(clock, { signal, timeoutMs: resyncRunSeconds * 1000 });
      const walk = await walkResync({
        lister,
        types,
        send,
        from: cursor,
        salt: random(),
        signal: deadline.signal,
      }).finally(() => deadline.end());
      const keys = (cursor?.keys ?? 0) + walk.keys;
      const failed = (cursor?.failed ?? 0) + walk.failures.length;
      const left = failed + (walk.rest?.sources ?? 0);
      // Another resync starts then, and two at once would only delay each other.
      const isLate = clock.now() - startedMs >= environment.resyncSeconds * 1000;
      const isContinued = walk.rest !== undefined && !isLate;
      if (walk.rest !== undefined && isContinued) {
        await sendCursor(clients, environment.resyncQueueUrl, { startedMs, keys, failed, ...walk.rest });
        log.info("resync continues", { keys, left });
      } else {
        metrics.set("tmc_resync_left", {}, left);
        const seconds = Math.round((clock.now() - startedMs) / 1000);
        if (left > 0) log.warn("resync not finished", { keys, left, seconds });
        else log.info("resync sent", { keys, seconds });
      }
      // If nothing could be listed the invocation fails, and is repeated; one that is continued is not.
      reportListFailures(log, { readCount: isContinued ? 1 : walk.readCount, failures: walk.failures });
      return { keys: walk.keys, left, isContinued };
    },
  });
}

/** The place to continue at, if the event is a message of the resync queue; its batch size is one. */
function cursorOf(event: unknown): ResyncCursor | undefined {
  if (!isRecord(event) || !Array.isArray(event.Records)) return undefined;
  const record: unknown = event.Records[0];
  return isRecord(record) && typeof record.body === "string" ? parseResyncCursor(record.body) : undefined;
}

async function sendCursor({ sqs }: Pick<QueueClients, "sqs">, url: string, cursor: ResyncCursor): Promise<void> {
  await sqs
    .send(new SendMessageCommand({ QueueUrl: url, MessageBody: formatResyncCursor(cursor) }))
    .catch((error: unknown) => {
      throw sqsError(`send to ${queueName(url)}`, error);
    });
}
