import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { CredentialSource } from "../credentials/credentials.ts";
import type { Hub } from "../model/hub.ts";
import type { ObjectKey } from "../model/key.ts";
import type { Work } from "../model/work-item.ts";
import { done, requeueAfter } from "../model/work-item.ts";
import type { WatchClusterSources } from "../relay/relay.ts";
import { createClusterSourceFeed, watchClusterSources } from "../relay/watch/cluster-source-watch.ts";
import { createClusterIndex } from "../sources/cluster-index.ts";
import type { SourceConfig } from "../sources/flags.ts";
import { hasExternalSources } from "../sources/source-kinds.ts";
import { createSourcedCredentials } from "../sources/sourced-credentials.ts";
import type { HubWrite } from "../upstream/hub-requests.ts";
import type { ObjectCache } from "../upstream/object-cache.ts";
import { createSourcedHub, type WorkspaceClusters } from "./sourced-hub.ts";

/** The cluster sources of a controller. */
export type ControllerSources = Pick<SourceConfig, "sources" | "namespaces" | "template">;

/** ClusterRegistrations alone, without a secret template. */
export const onlyRegistrations: ControllerSources = {
  sources: ["clusterregistration"],
  namespaces: undefined,
  template: undefined,
};

/** Throws if clusters of other kinds cannot be read, or if their status, which is kept in memory, would not reach all processes. */
export function assertSourcesSupported(
  { sources }: ControllerSources,
  { isDirect, isAlone }: Readonly<{ isDirect: boolean; isAlone: boolean }>,
): void {
  if (!hasExternalSources(sources) || (isDirect && isAlone)) return;
  const why = isDirect ? "their status is kept in the memory of one process" : "an export shows only its own kinds";
  throw new ControllerError("invalid", `cluster sources ${sources.join(", ")}: ${why}`);
}

/** The parts of a controller that depend on its cluster sources. */
export interface ClusterSources {
  /** Undefined if watching ClusterRegistrations is enough. */
  readonly watchClusterSources: WatchClusterSources | undefined;
  /** Adds the clusters of other kinds to a hub. `delayPlacements` wraps the work so that placements wait for the first probes. */
  extend(hub: Hub): Readonly<{ hub: Hub; delayPlacements: (work: Work) => Work }>;
  credentials(credentials: CredentialSource): CredentialSource;
}

export type ClusterSourcesOptions = Readonly<{
  config: ControllerSources;
  cache: ObjectCache;
  /** A client for the root of the upstream server. */
  client: KubeClient;
  clock: Clock;
  onWrite?: ((write: HubWrite) => void) | undefined;
  onRejected?: ((key: ObjectKey, error: unknown) => void) | undefined;
}>;

/** Creates these parts. With ClusterRegistrations alone, hub, work and credentials stay as they are. */
export function createClusterSources(options: ClusterSourcesOptions): ClusterSources {
  const { config, cache, client, clock, onWrite, onRejected } = options;
  const { template } = config;
  const byLogicalCluster = new Map<string, WorkspaceClusters>();
  const clustersOf = (logicalCluster: string): WorkspaceClusters | undefined => byLogicalCluster.get(logicalCluster);
  const watch: WatchClusterSources = (informerOptions, handler) => {
    const index = createClusterIndex(informerOptions.scope, { config, clock });
    const feed = createClusterSourceFeed(index, handler);
    byLogicalCluster.set(informerOptions.scope, { index, feed });
    return watchClusterSources(index, feed, informerOptions);
  };
  const isDefault = !hasExternalSources(config.sources) && template === undefined;
  return {
    watchClusterSources: isDefault ? undefined : watch,
    extend: (hub) => {
      if (!hasExternalSources(config.sources)) return { hub, delayPlacements: (work) => work };
      const sourced = createSourcedHub({ hub, cache, client, clustersOf, onWrite, onRejected });
      return { hub: sourced, delayPlacements: (work) => delayUntilProbed(work, sourced.areAllProbed) };
    },
    credentials: (credentials) =>
      isDefault
        ? credentials
        : createSourcedCredentials({
            credentials,
            template,
            viewOf: ({ logicalCluster, name }) => clustersOf(logicalCluster)?.index.find(name),
          }),
  };
}

/** By then a cluster has been probed or has timed out. A probe that changes the facts enqueues the placements earlier. */
const firstProbeSeconds = 10;

/**
 * Requeues placements until all clusters whose status is kept in memory have been probed once. After a restart, a placement
 * that is decided earlier would miss what these clusters offer, and workloads would be evicted from them.
 */
function delayUntilProbed(work: Work, areAllProbed: (logicalCluster: string) => boolean): Work {
  return async (item, signal) =>
    item.key.kind === "WorkloadPlacement" && !areAllProbed(item.key.logicalCluster)
      ? requeueAfter(firstProbeSeconds)
      : work(item, signal);
}

/**
 * Drops keys of logical clusters that this process no longer reconciles. Their objects have been dropped from the cache, and
 * must not be taken for deleted. If the logical cluster comes back, everything in it is enqueued again.
 */
export function skipDisengaged(work: Work, isEngaged: (logicalCluster: string) => boolean): Work {
  return async (item, signal) => (isEngaged(item.key.logicalCluster) ? work(item, signal) : done);
}
