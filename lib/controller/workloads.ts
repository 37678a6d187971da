import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { WorkloadType } from "../api/workload-kinds.ts";
import { allWorkloadTypes } from "../api/workload-kinds.ts";
import type { Log } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { RelayedWorkloads } from "../relay/event-to-key/workload-tracker.ts";
import { createCachedWorkloadHub } from "../upstream/cached-workload-hub.ts";
import { createFreshWorkloadHub, type FreshWorkloadHub } from "../upstream/fresh-workload-hub.ts";
import { createWorkloadCache, type WorkloadCache } from "../upstream/workload-cache.ts";
import type { FlushableWorkloadHub, WorkloadHubOptions } from "../upstream/workload-hub.ts";

/** The cache of workloads and the hubs on it. */
export interface ControllerWorkloads {
  readonly cache: WorkloadCache;
  /** What the relay watches. */
  readonly relayed: RelayedWorkloads;
  /** A hub that reads from the cache, for reconcilers whose keys come from this relay alone. */
  cachedHub(): FlushableWorkloadHub;
  /** A hub that reads from the server, for reconcilers whose keys also come from other processes. */
  freshHub(): FreshWorkloadHub;
}

/** Creates an empty workload cache. */
export function createControllerWorkloads({
  client,
  custom,
  trim,
  clock,
  log,
  metrics,
}: Readonly<{
  client: KubeClient;
  /** Types that the operator has added. */
  custom?: readonly WorkloadType[] | undefined;
  trim: (object: KubeObject) => KubeObject;
  clock: Clock;
  log: Log;
  metrics: Pick<Metrics, "add">;
}>): ControllerWorkloads {
  const types = allWorkloadTypes(custom);
  const cache = createWorkloadCache({ types, transform: trim });
  const parts: WorkloadHubOptions = {
    client,
    clock,
    onWrite: ({ part }) => metrics.add("tmc_upstream_writes_total", { kind: "Workload", part }),
    // Debug level: nothing depends on an Event, and a tenant may deny them.
    onEventFailure: (error, { logicalCluster, name }) =>
      log.debug("event not written", { logicalCluster, name, error }),
  };
  return {
    cache,
    relayed: { types, cache, transform: trim },
    cachedHub: () => createCachedWorkloadHub({ ...parts, cache }),
    freshHub: () => createFreshWorkloadHub({ ...parts, types }),
  };
}
