import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { subdomainProblems } from "@tmc/kube/selector.ts";
import { clientOf } from "../upstream/logical-cluster.ts";
import { asCluster, type Cluster, type Reading } from "./cluster.ts";
import type { SourceConfig } from "./flags.ts";
import { readSource, type SourceRequest } from "./read-source.ts";
import { settleNames, type TurnedAway } from "./resolve-names.ts";
import type { SourceKind } from "./source-kinds.ts";

/** All clusters of a logical cluster, as they are now. */
export type Listing = Readonly<{
  /** In the order of their names. */
  clusters: readonly Cluster[];
  /** Objects that are no cluster because another one has their name. */
  turnedAway: readonly TurnedAway[];
  /** Sources whose kind the server does not serve now; clusters that came from there have not gone for that. */
  notServed: readonly SourceKind[];
}>;

/** The clusters that all sources know, by their names. It keeps nothing: two processes, or one after a restart, see the same. */
export interface ClusterRegistry {
  /** Fails as a whole where one source cannot be asked: half a list looks like clusters that have gone. */
  list(cluster: string, signal: AbortSignal): Promise<Listing>;
  /** The cluster that `list` has under a name, in at most a few requests however many there are; undefined for none. */
  find(address: Readonly<{ cluster: string; name: string }>, signal: AbortSignal): Promise<Cluster | undefined>;
}

export type ClusterRegistryOptions = Readonly<{
  /** A client at the hub's root. */
  client: KubeClient;
  config: Pick<SourceConfig, "sources" | "namespaces" | "template">;
  clock: Clock;
}>;

/** Creates the registry over a hub, kcp or a plain cluster. */
export function createClusterRegistry({ client, config, clock }: ClusterRegistryOptions): ClusterRegistry {
  const { sources, namespaces, template } = config;
  const requestFor = (cluster: string, name?: string): SourceRequest => ({
    place: { client: clientOf(client, cluster), namespaces },
    context: { cluster, template, nowMs: clock.now() },
    name,
  });

  return {
    list: async (cluster, signal) => {
      const request = requestFor(cluster);
      const answers = await Promise.all(
        sources.map(async (source) => ({ source, readings: await readSource[source](request, signal) })),
      );
      const notServed = answers.filter(({ readings }) => readings === undefined).map(({ source }) => source);
      if (notServed.length === sources.length) throw nothingServed(cluster, sources);
      const { winners, turnedAway } = settleNames(
        answers.flatMap(({ readings }) => readings ?? []),
        sources,
      );
      return { clusters: winners.map(asCluster), turnedAway, notServed };
    },
    find: async ({ cluster, name }, signal) => {
      // It goes into a selector, and no object can have another name.
      if (subdomainProblems(name).length > 0) return undefined;
      const request = requestFor(cluster, name);
      let isServed = false;
      for (const source of sources) {
        const readings = await readSource[source](request, signal);
        isServed ||= readings !== undefined;
        const winner = winnerOf(readings ?? [], source);
        if (winner !== undefined) return asCluster(winner);
      }
      if (!isServed) throw nothingServed(cluster, sources);
      return undefined;
    },
  };
}

function winnerOf(readings: readonly Reading[], source: SourceKind): Reading | undefined {
  return settleNames(readings, [source]).winners[0];
}

/** A workspace that is not there answers like one that serves nothing; neither says that clusters have gone. */
function nothingServed(cluster: string, sources: readonly SourceKind[]): ControllerError {
  const where = cluster === "" ? "the cluster" : cluster;
  return new ControllerError("unreachable", `cluster sources: ${where} serves none of ${sources.join(", ")}`);
}
