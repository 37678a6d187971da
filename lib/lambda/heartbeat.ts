import type { ClusterRegistration } from "../api/cluster-registration.ts";
import { spreadHash } from "../engine/spread-schedule.ts";
import { type Readiness, readinessOf } from "../model/condition.ts";
import type { ObjectKey } from "../model/key.ts";
import { recordReadiness } from "../observe/recorders.ts";
import { sendMessages, throwIfRejected } from "../queue/sqs-send.ts";
import { isHeartbeatDue } from "../registration/due.ts";
import { createFunction, type FunctionHandler } from "./function.ts";
import type { Host } from "./host.ts";
import { formatHeartbeat, type HeartbeatMessage, maxClustersPerMessage } from "./messages.ts";
import { openUpstreamHub, type QueueClients } from "./upstream.ts";
import { createWorkspaceLister, reportListFailures } from "./workspaces.ts";

/** Result for manual invocations. */
export type HeartbeatResult = Readonly<{ clusters: number; due: number; messages: number }>;

/** Creates the function that sends the clusters that are due to the heartbeat queue. */
export function createHeartbeatFunction(host: Host, clients: QueueClients): FunctionHandler<unknown, HeartbeatResult> {
  return createFunction(host, {
    name: "heartbeat",
    environmentNames: ["hub", "kcpSecret", "workspaces", "apiExport", "heartbeatQueueUrl", "heartbeatSeconds"],
    start: async (tools) => ({
      ...tools,
      lister: createWorkspaceLister(await openUpstreamHub(clients, tools), tools.environment),
    }),
    handle: async ({ lister, log, metrics, environment }, _event: unknown, signal) => {
      const { heartbeatSeconds, heartbeatQueueUrl } = environment;
      const nowMs = host.clock.now();
      const ready: Record<Readiness, number> = { true: 0, false: 0, unknown: 0 };
      let orphans = 0;
      const listed = await lister.list("ClusterRegistration", "whole", signal);
      const keys = listed.found.flatMap(({ logicalCluster, objects }) => {
        for (const registration of objects) {
          ready[readinessOf(registration)] += 1;
          // The server validates registrations against our schema.
          orphans += (registration as ClusterRegistration).status?.orphanedCopies?.count ?? 0;
        }
        return objects
          .filter((registration) => isHeartbeatDue(registration, { nowMs, periodSeconds: heartbeatSeconds }))
          .map(
            ({ metadata }): ObjectKey => ({ logicalCluster, kind: "ClusterRegistration", name: metadata.name ?? "" }),
          );
      });
      const messages = planHeartbeat({ keys, heartbeatSeconds, nowMs });
      const rejected = await sendMessages(
        clients.sqs,
        heartbeatQueueUrl,
        messages.map((message) => ({ MessageBody: formatHeartbeat(message), DelaySeconds: message.delaySeconds })),
      );
      recordReadiness(metrics, "ClusterRegistration", ready);
      metrics.set("tmc_unread_workspaces", {}, listed.failures.length);
      metrics.set("tmc_orphaned_copies", {}, orphans);
      const clusters = ready.true + ready.false + ready.unknown;
      log.info("heartbeats planned", { clusters, due: keys.length, messages: messages.length });
      throwIfRejected(rejected, messages.length);
      reportListFailures(log, listed);
      return { clusters, due: keys.length, messages: messages.length };
    },
  });
}

export type HeartbeatPlanInput = Readonly<{
  /** The registrations that are due. */
  keys: readonly ObjectKey[];
  /** Interval between two probes of a cluster. */
  heartbeatSeconds: number;
  nowMs: number;
}>;

/** The planner runs once a minute, the shortest interval of EventBridge Scheduler. */
const plannerIntervalSeconds = 60;
/** Messages are spread over this share of a wave; the rest is left to process the last one. */
const spreadShare = 5 / 6;

/**
 * Decides which clusters are probed until the planner runs again, in which messages and when.
 *
 * If the interval is shorter than the planner's, the clusters are sent in several waves. If it is longer, the hash of a
 * cluster's key decides in which run of the planner it is due. The hash also decides which clusters share a message: the
 * clusters of one tenant, which may all be unreachable, are distributed over the messages.
 */
export function planHeartbeat({ keys, heartbeatSeconds, nowMs }: HeartbeatPlanInput): readonly HeartbeatMessage[] {
  const rounds = Math.max(1, Math.round(heartbeatSeconds / plannerIntervalSeconds));
  const waves = Math.max(1, Math.floor(plannerIntervalSeconds / heartbeatSeconds));
  const waveSeconds = Math.min(heartbeatSeconds, plannerIntervalSeconds);
  const round = Math.floor(nowMs / (plannerIntervalSeconds * 1000)) % rounds;
  const ordered = keys
    .map((key) => ({ key, hash: spreadHash(key) }))
    .filter(({ hash }) => hash % rounds === round)
    .toSorted((one, other) => one.hash - other.hash);
  const messageCount = Math.ceil(ordered.length / maxClustersPerMessage);
  return Array.from({ length: waves }, (_, wave) =>
    Array.from({ length: messageCount }, (__, at): HeartbeatMessage => {
      // Round-robin, so that the messages have the same size.
      const clusters = ordered
        .filter((___, index) => index % messageCount === at)
        .map(({ key: { logicalCluster, name } }) => ({ logicalCluster: logicalCluster, name }));
      const delaySeconds = Math.floor(waveSeconds * (wave + (at / messageCount) * spreadShare));
      return { clusters, delaySeconds };
    }),
  ).flat();
}
