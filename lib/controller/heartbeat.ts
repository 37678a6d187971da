import type { KubeObject } from "../model/kube-object.ts";
import { createPeriodic, listedClusters, type PeriodicOptions } from "./periodic.ts";
import type { Rota } from "./rota.ts";

/** Creates what has every registered cluster probed once in a period, but not before the time that its breaker names. */
export function createHeartbeat(options: PeriodicOptions): Rota {
  const { cache, clock, periodSeconds } = options;
  // Turns and probes are a little apart: one that is due before the next turn is nearer to this one.
  const soonMs = periodSeconds * 500;
  const isDue = (object: KubeObject): boolean => {
    const next = nextProbeMs(object);
    return next === undefined || next <= clock.now() + soonMs;
  };
  const keys = function* () {
    for (const cluster of listedClusters(cache)) {
      for (const object of cache.list("ClusterRegistration", cluster)) {
        if (isDue(object)) yield { cluster, kind: "ClusterRegistration", name: object.metadata.name ?? "" } as const;
      }
    }
  };
  return createPeriodic(options, { reason: "heartbeat", keys });
}

function nextProbeMs({ status }: KubeObject): number | undefined {
  if (typeof status !== "object" || status === null || !("nextProbeTime" in status)) return undefined;
  const ms = typeof status.nextProbeTime === "string" ? Date.parse(status.nextProbeTime) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}
