import { placeOf } from "../engine/spread-schedule.ts";
import { type Readiness, readinessOf } from "../model/condition.ts";
import type { ObjectKey } from "../model/key.ts";
import { recordReadiness } from "../observe/recorders.ts";
import { refuseNotTaken, sendAll } from "../queue/sqs-send.ts";
import { isHeartbeatDue } from "../registration/due.ts";
import { openHub, type QueueCloud } from "./cloud.ts";
import { createFunction, type FunctionHandler } from "./function.ts";
import { formatHeartbeat, type HeartbeatMessage, mostClusters } from "./heartbeat-message.ts";
import type { Host } from "./host.ts";
import { createFleet, reportProblems } from "./workspaces.ts";

/** What was done, for whoever calls the function by hand. */
export type HeartbeatAnswer = Readonly<{ clusters: number; due: number; messages: number }>;

/** Creates the function that finds the clusters that are due and has them probed. */
export function createHeartbeatPlanner(host: Host, cloud: QueueCloud): FunctionHandler<unknown, HeartbeatAnswer> {
  return createFunction(host, {
    name: "heartbeat",
    reads: ["hub", "kcpSecret", "workspaces", "apiExport", "heartbeatQueueUrl", "heartbeatSeconds"],
    start: async (tools) => ({ ...tools, fleet: createFleet(await openHub(cloud, tools), tools.environment) }),
    handle: async ({ fleet, log, metrics, environment }, _event: unknown, signal) => {
      const { heartbeatSeconds, heartbeatQueueUrl } = environment;
      const nowMs = host.clock.now();
      const ready: Record<Readiness, number> = { true: 0, false: 0, unknown: 0 };
      const listed = await fleet.list("ClusterRegistration", "whole", signal);
      const keys = listed.found.flatMap(({ logicalCluster, objects }) => {
        for (const registration of objects) ready[readinessOf(registration)] += 1;
        return objects
          .filter((registration) => isHeartbeatDue(registration, { nowMs, periodSeconds: heartbeatSeconds }))
          .map(
            ({ metadata }): ObjectKey => ({ logicalCluster, kind: "ClusterRegistration", name: metadata.name ?? "" }),
          );
      });
      const messages = planHeartbeat({ keys, heartbeatSeconds, nowMs });
      const notTaken = await sendAll(
        cloud.sqs,
        heartbeatQueueUrl,
        messages.map((message) => ({ MessageBody: formatHeartbeat(message), DelaySeconds: message.delaySeconds })),
      );
      recordReadiness(metrics, "ClusterRegistration", ready);
      const clusters = ready.true + ready.false + ready.unknown;
      log.info("heartbeats planned", { clusters, due: keys.length, messages: messages.length });
      refuseNotTaken(notTaken, messages.length);
      reportProblems(log, listed);
      return { clusters, due: keys.length, messages: messages.length };
    },
  });
}

export type HeartbeatFacts = Readonly<{
  /** The registrations that are due. */
  keys: readonly ObjectKey[];
  /** How often each is to be probed. */
  heartbeatSeconds: number;
  nowMs: number;
}>;

/** The planner runs once a minute: no schedule comes round more often. */
const roundSeconds = 60;
/** The share of a wave over which its messages are spread; the rest is for the last of them to be worked on. */
const spread = 5 / 6;

/**
 * Decides which clusters are probed until the planner runs again, in which messages and when.
 *
 * Heartbeats that come more often than the planner are sent as several waves; of those that come less often each cluster has
 * its turn, which follows from its name alone. That also says who shares a message, so that the clusters of one tenant, who may all
 * be dead, are not waited for one after the other.
 */
export function planHeartbeat({ keys, heartbeatSeconds, nowMs }: HeartbeatFacts): readonly HeartbeatMessage[] {
  const turns = Math.max(1, Math.round(heartbeatSeconds / roundSeconds));
  const waves = Math.max(1, Math.floor(roundSeconds / heartbeatSeconds));
  const waveSeconds = Math.min(heartbeatSeconds, roundSeconds);
  const turn = Math.floor(nowMs / (roundSeconds * 1000)) % turns;
  const placed = keys
    .map((key) => ({ key, place: placeOf(key) }))
    .filter(({ place }) => place % turns === turn)
    .toSorted((one, other) => one.place - other.place);
  const count = Math.ceil(placed.length / mostClusters);
  return Array.from({ length: waves }, (_, wave) =>
    Array.from({ length: count }, (__, at): HeartbeatMessage => {
      // Dealt out in turn, so that the messages are of one size.
      const clusters = placed
        .filter((___, index) => index % count === at)
        .map(({ key: { logicalCluster, name } }) => ({ logicalCluster: logicalCluster, name }));
      const delaySeconds = Math.floor(waveSeconds * (wave + (at / count) * spread));
      return { clusters, delaySeconds };
    }),
  ).flat();
}
