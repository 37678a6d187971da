import { createFreshHub, type FreshHub } from "../kcp/fresh-hub.ts";
import type { ObjectKey } from "../model/key.ts";
import { refuseNotTaken, sendAll } from "../queue/sqs-send.ts";
import { isHeartbeatDue } from "../registration/heartbeat-due.ts";
import { openHub, type QueueCloud } from "./cloud.ts";
import { createFleet, type Fleet, reportProblems } from "./fleet.ts";
import { createFunction, type FunctionHandler } from "./function.ts";
import { formatHeartbeat } from "./heartbeat-message.ts";
import type { Host } from "./host.ts";
import { planHeartbeat } from "./plan-heartbeat.ts";
import { type Readiness, readinessOf } from "./readiness.ts";

type Parts = Readonly<{ hub: FreshHub; fleet: Fleet }>;
/** What was done, for whoever calls the function by hand. */
export type HeartbeatAnswer = Readonly<{ clusters: number; due: number; messages: number }>;

/** Creates the function that finds the clusters that are due and has them probed. */
export function createHeartbeatPlanner(host: Host, cloud: QueueCloud): FunctionHandler<unknown, HeartbeatAnswer> {
  return createFunction(host, {
    name: "heartbeat",
    reads: ["hub", "kcpSecret", "workspaces", "heartbeatQueueUrl", "heartbeatSeconds"],
    start: async (tools) => {
      const client = await openHub(cloud, tools);
      const parts: Parts = { hub: createFreshHub({ client }), fleet: createFleet(client, tools.environment) };
      return { ...tools, ...parts };
    },
    handle: async ({ hub, fleet, log, metrics, environment }, _event: unknown, signal) => {
      const { heartbeatSeconds, heartbeatQueueUrl } = environment;
      const nowMs = host.clock.now();
      const ready: Record<Readiness, number> = { true: 0, false: 0, unknown: 0 };
      hub.beginBatch();
      const found = await fleet.everywhere(async ({ name: cluster }) => {
        const registrations = await hub.list("ClusterRegistration", cluster, signal);
        for (const registration of registrations) ready[readinessOf(registration)] += 1;
        return registrations
          .filter((registration) => isHeartbeatDue(registration, { nowMs, periodSeconds: heartbeatSeconds }))
          .map(({ metadata }): ObjectKey => ({ cluster, kind: "ClusterRegistration", name: metadata.name ?? "" }));
      }, signal);
      const keys = found.done.flatMap(({ result }) => result);
      const messages = planHeartbeat({ keys, heartbeatSeconds, nowMs });
      const notTaken = await sendAll(
        cloud.sqs,
        heartbeatQueueUrl,
        messages.map((message) => ({ MessageBody: formatHeartbeat(message), DelaySeconds: message.delaySeconds })),
      );
      for (const state of ["true", "false", "unknown"] as const)
        metrics.set("tmc_clusters", { ready: state }, ready[state]);
      const clusters = ready.true + ready.false + ready.unknown;
      log.info("heartbeats planned", { clusters, due: keys.length, messages: messages.length });
      refuseNotTaken(notTaken, messages.length);
      reportProblems(log, found);
      return { clusters, due: keys.length, messages: messages.length };
    },
  });
}
