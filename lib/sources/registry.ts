import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { subdomainErrors } from "@tmc/kube/selector.ts";
import { clientOf } from "../upstream/logical-cluster.ts";
import { type ClusterView, type SourceCluster, toSourceCluster } from "./cluster.ts";
import type { SourceConfig } from "./flags.ts";
import { readSource, type SourceRequest } from "./read-source.ts";
import { type RejectedObject, resolveNames } from "./resolve-names.ts";
import type { SourceKind } from "./source-kinds.ts";

/** All clusters of a logical cluster. */
export type ClusterListing = Readonly<{
  /** Sorted by name. */
  clusters: readonly SourceCluster[];
  /** Objects that are not used because another object has the same name. */
  rejected: readonly RejectedObject[];
  /** Sources whose kind the server does not serve now. That does not mean that their clusters were deleted. */
  notServed: readonly SourceKind[];
}>;

/** Reads the clusters of all sources from the server. It is stateless, so that all processes see the same clusters. */
export interface ClusterRegistry {
  /** Fails if any source cannot be read: with a partial list, the missing clusters would appear to be deleted. */
  list(logicalCluster: string, signal: AbortSignal): Promise<ClusterListing>;
  /** Returns the cluster that `list` has under a name, with a constant number of requests. */
  find(
    address: Readonly<{ logicalCluster: string; name: string }>,
    signal: AbortSignal,
  ): Promise<SourceCluster | undefined>;
}

export type ClusterRegistryOptions = Readonly<{
  /** A client for the root of the upstream server. */
  client: KubeClient;
  config: Pick<SourceConfig, "sources" | "namespaces" | "template">;
  clock: Clock;
}>;

/** Creates a registry for kcp or a plain Kubernetes cluster as upstream. */
export function createClusterRegistry({ client, config, clock }: ClusterRegistryOptions): ClusterRegistry {
  const { sources, namespaces, template } = config;
  const requestFor = (logicalCluster: string, name?: string): SourceRequest => ({
    scope: { client: clientOf(client, logicalCluster), namespaces },
    context: { logicalCluster, template, nowMs: clock.now() },
    name,
  });

  return {
    list: async (logicalCluster, signal) => {
      const request = requestFor(logicalCluster);
      const answers = await Promise.all(
        sources.map(async (source) => ({ source, readings: await readSource[source](request, signal) })),
      );
      const notServed = answers.filter(({ readings }) => readings === undefined).map(({ source }) => source);
      if (notServed.length === sources.length) throw nothingServed(logicalCluster, sources);
      const { winners, rejected } = resolveNames(
        answers.flatMap(({ readings }) => readings ?? []),
        sources,
      );
      return { clusters: winners.map(toSourceCluster), rejected, notServed };
    },
    find: async ({ logicalCluster, name }, signal) => {
      // The name becomes part of a field selector, and no object can have an invalid name.
      if (subdomainErrors(name).length > 0) return undefined;
      const request = requestFor(logicalCluster, name);
      let isServed = false;
      for (const source of sources) {
        const readings = await readSource[source](request, signal);
        isServed ||= readings !== undefined;
        const winner = winnerOf(readings ?? [], source);
        if (winner !== undefined) return toSourceCluster(winner);
      }
      if (!isServed) throw nothingServed(logicalCluster, sources);
      return undefined;
    },
  };
}

function winnerOf(readings: readonly ClusterView[], source: SourceKind): ClusterView | undefined {
  return resolveNames(readings, [source]).winners[0];
}

/** A missing workspace responds like one that serves nothing. Neither means that clusters were deleted. */
function nothingServed(logicalCluster: string, sources: readonly SourceKind[]): ControllerError {
  const where = logicalCluster === "" ? "the cluster" : logicalCluster;
  return new ControllerError("unreachable", `cluster sources: ${where} serves none of ${sources.join(", ")}`);
}
