import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { WorkloadType } from "../api/workload-kinds.ts";
import { workloadKindsWith } from "../api/workload-kinds.ts";
import type { Log } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { RelayedWorkloads } from "../relay/workload-tracker.ts";
import { createCachedWorkloadHub } from "../upstream/cached-workload-hub.ts";
import { createFreshWorkloadHub, type FreshWorkloadHub } from "../upstream/fresh-workload-hub.ts";
import { createWorkloadCache, type WorkloadCache } from "../upstream/workload-cache.ts";
import type { TellingWorkloadHub, WorkloadHubParts } from "../upstream/workload-hub.ts";

/** What a controller has to look after workloads. */
export interface ControllerWorkloads {
  /** What its relay has seen of them. */
  readonly cache: WorkloadCache;
  /** What its relay watches. */
  readonly relayed: RelayedWorkloads;
  /** A hub for reconcilers that hear only of what this relay has seen. */
  cachedHub(): TellingWorkloadHub;
  /** A hub for reconcilers that others tell as well. */
  freshHub(): FreshWorkloadHub;
}

/** Creates what a controller has to look after workloads. */
export function createControllerWorkloads({
  client,
  custom,
  slim,
  clock,
  log,
  metrics,
}: Readonly<{
  client: KubeClient;
  /** Types that an operator has added. */
  custom?: readonly WorkloadType[] | undefined;
  slim: (object: KubeObject) => KubeObject;
  clock: Clock;
  log: Log;
  metrics: Pick<Metrics, "add">;
}>): ControllerWorkloads {
  const types = workloadKindsWith(custom);
  const cache = createWorkloadCache({ types, slim });
  const parts: WorkloadHubParts = {
    client,
    clock,
    onWrite: ({ part }) => metrics.add("tmc_upstream_writes_total", { kind: "Workload", part }),
    // Nothing depends on it, and a tenant need not let us.
    onUntold: (error, { logicalCluster, name }) => log.debug("event not written", { logicalCluster, name, error }),
  };
  return {
    cache,
    relayed: { types, cache, slim },
    cachedHub: () => createCachedWorkloadHub({ ...parts, cache }),
    freshHub: () => createFreshWorkloadHub({ ...parts, types }),
  };
}
