import type { ObjectKey } from "../model/key.ts";
import { type Readiness, readinessOf } from "../model/readiness.ts";
import { recordReadiness } from "../observe/record-readiness.ts";
import { refuseNotTaken, sendAll } from "../queue/sqs-send.ts";
import { isHeartbeatDue } from "../registration/heartbeat-due.ts";
import { openHub, type QueueCloud } from "./cloud.ts";
import { createFunction, type FunctionHandler } from "./function.ts";
import { formatHeartbeat } from "./heartbeat-message.ts";
import type { Host } from "./host.ts";
import { planHeartbeat } from "./plan-heartbeat.ts";
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
      const keys = listed.found.flatMap(({ cluster, objects }) => {
        for (const registration of objects) ready[readinessOf(registration)] += 1;
        return objects
          .filter((registration) => isHeartbeatDue(registration, { nowMs, periodSeconds: heartbeatSeconds }))
          .map(({ metadata }): ObjectKey => ({ cluster, kind: "ClusterRegistration", name: metadata.name ?? "" }));
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
