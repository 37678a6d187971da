import type { SpreadSchedule } from "../engine/spread-schedule.ts";
import { isHeartbeatDue } from "../registration/due.ts";
import { createPeriodic, listedLogicalClusters, type PeriodicOptions } from "./periodic.ts";

/** Creates the schedule that enqueues every registration once per period, except while its circuit breaker is open. */
export function createHeartbeat(options: PeriodicOptions): SpreadSchedule {
  const { cache, clock, periodSeconds } = options;
  const keys = function* () {
    for (const logicalCluster of listedLogicalClusters(cache)) {
      for (const object of cache.list("ClusterRegistration", logicalCluster)) {
        if (!isHeartbeatDue(object, { nowMs: clock.now(), periodSeconds })) continue;
        yield { logicalCluster, kind: "ClusterRegistration", name: object.metadata.name ?? "" } as const;
      }
    }
  };
  return createPeriodic(options, { reason: "heartbeat", keys });
}
