import type { Rota } from "../engine/spread-schedule.ts";
import { isHeartbeatDue } from "../registration/due.ts";
import { createPeriodic, listedClusters, type PeriodicOptions } from "./periodic.ts";

/** Creates what has every registered cluster probed once in a period, but not before the time that its breaker names. */
export function createHeartbeat(options: PeriodicOptions): Rota {
  const { cache, clock, periodSeconds } = options;
  const keys = function* () {
    for (const logicalCluster of listedClusters(cache)) {
      for (const object of cache.list("ClusterRegistration", logicalCluster)) {
        if (!isHeartbeatDue(object, { nowMs: clock.now(), periodSeconds })) continue;
        yield {
          logicalCluster: logicalCluster,
          kind: "ClusterRegistration",
          name: object.metadata.name ?? "",
        } as const;
      }
    }
  };
  return createPeriodic(options, { reason: "heartbeat", keys });
}
