import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { CredentialSource } from "../credentials/credentials.ts";
import type { Hub } from "../model/hub.ts";
import type { ObjectKey } from "../model/key.ts";
import { done, requeueAfter } from "../model/next.ts";
import type { Work } from "../model/work-item.ts";
import { createClusterTeller, followClusters } from "../relay/cluster-source-watch.ts";
import type { FollowClusters } from "../relay/relay.ts";
import { createRoster } from "../sources/cluster-index.ts";
import type { SourceConfig } from "../sources/flags.ts";
import { hasForeign } from "../sources/source-kinds.ts";
import { createSourcedCredentials } from "../sources/sourced-credentials.ts";
import type { HubWrite } from "../upstream/hub-requests.ts";
import type { ObjectCache } from "../upstream/object-cache.ts";
import { createSourcedHub, type Desk } from "./sourced-hub.ts";

/** Where clusters come from, as the controller takes them up. */
export type ControllerSources = Pick<SourceConfig, "sources" | "namespaces" | "template">;

/** Our own registrations, as they are. */
export const onlyRegistrations: ControllerSources = {
  sources: ["clusterregistration"],
  namespaces: undefined,
  template: undefined,
};

/** Refuses clusters of other kinds where their objects cannot be seen, or where what is found out about them would get lost. */
export function requireReach(
  sources: ControllerSources,
  { isDirect, isAlone }: Readonly<{ isDirect: boolean; isAlone: boolean }>,
): void {
  if (!hasForeign(sources.sources) || (isDirect && isAlone)) return;
  const why = isDirect ? "what is found out about them stays in one process" : "an export shows no kinds but its own";
  throw new ControllerError("invalid", `cluster sources ${sources.sources.join(", ")}: ${why}`);
}

/** The parts of a controller that differ by where clusters come from. */
export interface ClusterSources {
  /** Undefined where the watch of registrations is all that it takes. */
  readonly followClusters: FollowClusters | undefined;
  /** The hub, and the work on keys that may be done by what is known. */
  engage(hub: Hub): Readonly<{ hub: Hub; whileKnown: (work: Work) => Work }>;
  credentials(credentials: CredentialSource): CredentialSource;
}

export type ClusterSourcesOptions = Readonly<{
  config: ControllerSources;
  cache: ObjectCache;
  /** A client at the hub's root. */
  client: KubeClient;
  clock: Clock;
  onWrite?: ((write: HubWrite) => void) | undefined;
  onRefused?: ((key: ObjectKey, error: unknown) => void) | undefined;
}>;

/** Creates those parts; where there are registrations alone they are what they are without. */
export function createClusterSources(options: ClusterSourcesOptions): ClusterSources {
  const { config, cache, client, clock, onWrite, onRefused } = options;
  const { template } = config;
  const desks = new Map<string, Desk>();
  const deskOf = (logicalCluster: string): Desk | undefined => desks.get(logicalCluster);
  const follow: FollowClusters = (watched, follower) => {
    const roster = createRoster(watched.place, { config, clock });
    const teller = createClusterTeller(roster, follower);
    desks.set(watched.place, { roster, teller });
    return followClusters(roster, teller, watched);
  };
  const isPlain = !hasForeign(config.sources) && template === undefined;
  return {
    followClusters: isPlain ? undefined : follow,
    engage: (hub) => {
      if (!hasForeign(config.sources)) return { hub, whileKnown: (work) => work };
      const sourced = createSourcedHub({ hub, cache, client, deskOf, onWrite, onRefused });
      return { hub: sourced, whileKnown: (work) => workOnceLooked(work, sourced.isLooked) };
    },
    credentials: (credentials) =>
      isPlain
        ? credentials
        : createSourcedCredentials({
            credentials,
            template,
            readingOf: ({ logicalCluster, name }) => deskOf(logicalCluster)?.roster.find(name),
          }),
  };
}

/** By then a cluster has been looked at, or is known not to answer; whoever is looked at tells the placements before that. */
const lookSeconds = 10;

/**
 * Lets placements wait for the first look at clusters whose facts are kept in this process alone: after a restart they would
 * else be taken for less than they are, and work would leave them.
 */
function workOnceLooked(work: Work, isLooked: (logicalCluster: string) => boolean): Work {
  return async (item, signal) =>
    item.key.kind === "WorkloadPlacement" && !isLooked(item.key.logicalCluster)
      ? requeueAfter(lookSeconds)
      : work(item, signal);
}

/**
 * Lets keys of logical clusters that are looked after no more end quietly. What was known of them has been forgotten, and
 * must not be taken for gone; should they come back, everything there is looked at anew.
 */
export function workWhileEngaged(work: Work, isEngaged: (logicalCluster: string) => boolean): Work {
  return async (item, signal) => (isEngaged(item.key.logicalCluster) ? work(item, signal) : done);
}
