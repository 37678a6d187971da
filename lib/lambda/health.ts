import { GetQueueAttributesCommand } from "@aws-sdk/client-sqs";
import type { KubeClient } from "@tmc/kube/client.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { readinessOf } from "../model/condition.ts";
import type { ReconciledKind } from "../model/key.ts";
import { readableCause } from "../queue/retry-policy.ts";
import { errorOfSqs, nameOfQueue, type SqsClient } from "../queue/sqs-client.ts";
import { openHub, type QueueCloud } from "./cloud.ts";
import { createFunction, type FunctionHandler, once, type Tools } from "./function.ts";
import type { Host } from "./host.ts";

import { createFleet, type Fleet } from "./workspaces.ts";

/** A part of the answer, or why there is none. */
type Part<T> = Readonly<T & { ok: true }> | Readonly<{ ok: false; reason: string }>;
type Counts = Readonly<{ ready: number; total: number; unread?: Readonly<Record<string, string>> }>;
type Depths = Readonly<{ visible: number; inFlight: number; delayed: number }>;

/** How the deployed form is, in JSON. */
export type HealthAnswer = Readonly<{
  version: string;
  stage: string;
  time: string;
  /** Whether every part could be read and nothing lies with the dead letters. */
  ok: boolean;
  hub: Part<{ tookMs: number }>;
  clusters: Part<Counts>;
  placements: Part<Counts>;
  queues: Readonly<Record<"work" | "delay" | "heartbeat" | "deadLetters", Part<Depths>>>;
}>;

/** Creates the function that says how everything is. It only reads, and each part that cannot be read says why by itself. */
export function createHealthReader(host: Host, cloud: QueueCloud): FunctionHandler<unknown, HealthAnswer> {
  return createFunction(host, {
    name: "health",
    reads: [
      "hub",
      "kcpSecret",
      "workspaces",
      "apiExport",
      "workQueueUrl",
      "delayQueueUrl",
      "deadLettersUrl",
      "heartbeatQueueUrl",
    ],
    // Not opened at the start: that the hub's secret cannot be read is an answer here.
    start: async (tools) => ({ ...tools, hub: once(() => openParts(cloud, tools)) }),
    handle: async ({ hub, environment }, _event: unknown, signal) => {
      const counted = (kind: ReconciledKind): Promise<Part<Counts>> =>
        part(async () => count((await hub()).fleet, kind, signal));
      const depths = (url: string): Promise<Part<Depths>> => part(() => readDepths(cloud.sqs, url, signal));
      const [hubPart, clusters, placements, work, delay, heartbeat, deadLetters] = await Promise.all([
        part(async () => ask((await hub()).client, host, signal)),
        counted("ClusterRegistration"),
        counted("WorkloadPlacement"),
        depths(environment.workQueueUrl),
        depths(environment.delayQueueUrl),
        depths(environment.heartbeatQueueUrl),
        depths(environment.deadLettersUrl),
      ]);
      const queues = { work, delay, heartbeat, deadLetters };
      const isRead = [hubPart, clusters, placements, ...Object.values(queues)].every(({ ok }) => ok);
      const isUnread = [clusters, placements].some((one) => one.ok && one.unread !== undefined);
      return {
        version: host.version,
        stage: environment.stage,
        time: new Date(host.clock.now()).toISOString(),
        ok: isRead && !isUnread && deadLetters.ok && deadLetters.visible === 0,
        hub: hubPart,
        clusters,
        placements,
        queues,
      };
    },
  });
}

type Parts = Readonly<{ client: KubeClient; fleet: Fleet }>;

async function openParts(
  cloud: QueueCloud,
  tools: Tools & Parameters<typeof openHub>[1] & { environment: Parameters<typeof createFleet>[1] },
): Promise<Parts> {
  const opened = await openHub(cloud, tools);
  return { client: opened.client, fleet: createFleet(opened, tools.environment) };
}

async function part<T extends object>(read: () => Promise<T>): Promise<Part<T>> {
  try {
    return { ...(await read()), ok: true };
  } catch (error) {
    return { ok: false, reason: readableCause(error) };
  }
}

async function ask(client: KubeClient, { clock }: Host, signal: AbortSignal): Promise<Readonly<{ tookMs: number }>> {
  const beganMs = clock.now();
  const { status } = await client.at("/").raw("GET", "/readyz", { signal });
  // Who may not ask for it has still reached the hub.
  if (status >= 500) throw new ControllerError("unreachable", `hub: /readyz: ${status}`);
  return { tookMs: clock.now() - beganMs };
}

async function count(fleet: Fleet, kind: ReconciledKind, signal: AbortSignal): Promise<Counts> {
  const { found, read, problems } = await fleet.list(kind, "whole", signal);
  const [first] = problems;
  if (first !== undefined && read === 0) throw first.error;
  const objects = found.flatMap((each) => each.objects);
  const unread = Object.fromEntries(problems.map(({ workspace, error }) => [workspace, readableCause(error)]));
  return {
    ready: objects.filter((object) => readinessOf(object) === "true").length,
    total: objects.length,
    ...(problems.length > 0 && { unread }),
  };
}

async function readDepths(sqs: SqsClient, url: string, signal: AbortSignal): Promise<Depths> {
  try {
    const { Attributes = {} } = await sqs.send(
      new GetQueueAttributesCommand({
        QueueUrl: url,
        AttributeNames: [
          "ApproximateNumberOfMessages",
          "ApproximateNumberOfMessagesNotVisible",
          "ApproximateNumberOfMessagesDelayed",
        ],
      }),
      { abortSignal: signal },
    );
    return {
      visible: Number(Attributes.ApproximateNumberOfMessages ?? 0),
      inFlight: Number(Attributes.ApproximateNumberOfMessagesNotVisible ?? 0),
      delayed: Number(Attributes.ApproximateNumberOfMessagesDelayed ?? 0),
    };
  } catch (error) {
    throw errorOfSqs(`ask for ${nameOfQueue(url)}`, error);
  }
}
