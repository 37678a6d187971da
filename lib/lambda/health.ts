import { GetQueueAttributesCommand } from "@aws-sdk/client-sqs";
import type { KubeClient } from "@tmc/kube/client.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { readinessOf } from "../model/condition.ts";
import type { ReconciledKind } from "../model/key.ts";
import { readableCause } from "../queue/retry-policy.ts";
import { queueName, type SqsClient, sqsError } from "../queue/sqs-client.ts";
import { createFunction, type FunctionHandler, type FunctionTools, lazy } from "./function.ts";
import type { Host } from "./host.ts";
import { openUpstreamHub, type QueueClients } from "./upstream.ts";
import { createWorkspaceLister, type WorkspaceLister } from "./workspaces.ts";

/** A part of the response, or the reason why it could not be read. */
type Part<T> = Readonly<T & { ok: true }> | Readonly<{ ok: false; reason: string }>;
type ReadyCounts = Readonly<{ ready: number; total: number; unread?: Readonly<Record<string, string>> }>;
type Depths = Readonly<{ visible: number; inFlight: number; delayed: number }>;

/** The state of a deployment, as JSON. */
export type HealthResponse = Readonly<{
  version: string;
  stage: string;
  time: string;
  /** Whether every part could be read and there are no dead letters. */
  ok: boolean;
  hub: Part<{ tookMs: number }>;
  clusters: Part<ReadyCounts>;
  placements: Part<ReadyCounts>;
  queues: Readonly<Record<"work" | "delay" | "heartbeat" | "deadLetters", Part<Depths>>>;
}>;

/** Creates the function that reports the state of a deployment. It only reads; each part fails by itself. */
export function createHealthFunction(host: Host, clients: QueueClients): FunctionHandler<unknown, HealthResponse> {
  return createFunction(host, {
    name: "health",
    environmentNames: [
      "hub",
      "kcpSecret",
      "workspaces",
      "apiExport",
      "workQueueUrl",
      "delayQueueUrl",
      "deadLettersUrl",
      "heartbeatQueueUrl",
    ],
    // Opened on demand: a secret that cannot be read is part of the response, not a failed start.
    start: async (tools) => ({ ...tools, upstream: lazy(() => openUpstream(clients, tools)) }),
    handle: async ({ upstream, environment }, _event: unknown, signal) => {
      const readyCounts = (kind: ReconciledKind): Promise<Part<ReadyCounts>> =>
        readPart(async () => countReady((await upstream()).lister, kind, signal));
      const depths = (url: string): Promise<Part<Depths>> => readPart(() => readDepths(clients.sqs, url, signal));
      const [hub, clusters, placements, work, delay, heartbeat, deadLetters] = await Promise.all([
        readPart(async () => probeUpstream((await upstream()).client, host, signal)),
        readyCounts("ClusterRegistration"),
        readyCounts("WorkloadPlacement"),
        depths(environment.workQueueUrl),
        depths(environment.delayQueueUrl),
        depths(environment.heartbeatQueueUrl),
        depths(environment.deadLettersUrl),
      ]);
      const queues = { work, delay, heartbeat, deadLetters };
      const hasAllParts = [hub, clusters, placements, ...Object.values(queues)].every(({ ok }) => ok);
      const hasUnreadWorkspaces = [clusters, placements].some((one) => one.ok && one.unread !== undefined);
      return {
        version: host.version,
        stage: environment.stage,
        time: new Date(host.clock.now()).toISOString(),
        ok: hasAllParts && !hasUnreadWorkspaces && deadLetters.ok && deadLetters.visible === 0,
        hub,
        clusters,
        placements,
        queues,
      };
    },
  });
}

type UpstreamParts = Readonly<{ client: KubeClient; lister: WorkspaceLister }>;

async function openUpstream(
  clients: QueueClients,
  tools: FunctionTools &
    Parameters<typeof openUpstreamHub>[1] & { environment: Parameters<typeof createWorkspaceLister>[1] },
): Promise<UpstreamParts> {
  const upstream = await openUpstreamHub(clients, tools);
  return { client: upstream.client, lister: createWorkspaceLister(upstream, tools.environment) };
}

async function readPart<T extends object>(read: () => Promise<T>): Promise<Part<T>> {
  try {
    return { ...(await read()), ok: true };
  } catch (error) {
    return { ok: false, reason: readableCause(error) };
  }
}

async function probeUpstream(
  client: KubeClient,
  { clock }: Host,
  signal: AbortSignal,
): Promise<Readonly<{ tookMs: number }>> {
  const startedMs = clock.monotonicMs();
  const { status } = await client.at("/").raw("GET", "/readyz", { signal });
  // A 403 still shows that the upstream is reachable.
  if (status >= 500) throw new ControllerError("unreachable", `upstream: /readyz: ${status}`);
  return { tookMs: clock.monotonicMs() - startedMs };
}

async function countReady(lister: WorkspaceLister, kind: ReconciledKind, signal: AbortSignal): Promise<ReadyCounts> {
  const { found, readCount, failures } = await lister.list(kind, "whole", signal);
  const [first] = failures;
  if (first !== undefined && readCount === 0) throw first.error;
  const objects = found.flatMap((listed) => listed.objects);
  const unread = Object.fromEntries(failures.map(({ workspace, error }) => [workspace, readableCause(error)]));
  return {
    ready: objects.filter((object) => readinessOf(object) === "true").length,
    total: objects.length,
    ...(failures.length > 0 && { unread }),
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
    throw sqsError(`read attributes of ${queueName(url)}`, error);
  }
}
