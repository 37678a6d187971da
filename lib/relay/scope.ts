import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { reconciledKinds } from "../model/key.ts";
import type { Health } from "../observe/health.ts";
import type { Log } from "../observe/log.ts";
import { awaitWorkspace } from "../upstream/await-workspace.ts";
import type { ExportAddress } from "../upstream/export/address.ts";
import type { OpenExportEndpoint } from "../upstream/export/endpoints.ts";
import { clientOf, type LogicalCluster, plainHub } from "../upstream/logical-cluster.ts";
import { createExportTerritory } from "./export-scope.ts";
import type { Watched } from "./listener.ts";
import { createRelay, type Relay, type RelayParts } from "./relay.ts";

/** An export whose tenants are looked after, all of them. */
export type ExportOptions = Readonly<{ address: ExportAddress; openEndpoint: OpenExportEndpoint }>;

/** Which part of a hub a process looks after. */
export type TerritoryChoice = Readonly<{
  /** Paths of workspaces, or names of logical clusters; undefined for a plain Kubernetes cluster with our kinds. */
  workspaces: readonly string[] | undefined;
  /** In their place: every workspace that has bound this export. */
  apiExport?: ExportOptions | undefined;
}>;

export type TerritoryOptions = TerritoryChoice &
  Readonly<{
    /** A client at the root of the hub's server. */
    client: KubeClient;
    clock: Clock;
    random: () => number;
    log: Log;
    health: Health;
    /** Ends the search for what is not there yet. */
    signal: AbortSignal;
    /** Whether to look after the export itself: whether it still is what this version needs. @default false */
    checksExport?: boolean | undefined;
  }>;

/** The part of a hub that a process looks after: how it is found, watched and reached. */
export interface Territory {
  /** A client below which each of its logical clusters is found by name. */
  readonly client: KubeClient;
  /**
   * Finds it, and says in words what was found. Fails at once, in one line, for what is not there; a hub that cannot be
   * reached is asked again until it can.
   */
  find(): Promise<string>;
  /** The logical clusters that are looked after now. */
  clusters(): readonly LogicalCluster[];
  /** What people call a logical cluster, or another place that is watched. */
  pathOf(place: string): string;
  /** The watches that there are from the beginning. */
  watches(): readonly Readonly<{ what: Watched; place: string }>[];
  /** Creates what watches it, once. */
  createRelay(parts: RelayParts): Relay;
  /** Whether a key of a logical cluster is worth working on by what this process has seen. */
  isEngaged(logicalCluster: string): boolean;
  /** Ends what it has opened. */
  close(): Promise<void>;
}

/** Creates the territory that was chosen. */
export function createTerritory(options: TerritoryOptions): Territory {
  const { apiExport } = options;
  return apiExport === undefined ? createWorkspaces(options) : createExportTerritory({ ...options, apiExport });
}

function createWorkspaces({ client, workspaces, clock, random, log, signal }: TerritoryOptions): Territory {
  let clusters: readonly LogicalCluster[] = [];
  let paths: ReadonlyMap<string, string> = new Map();
  const resolve = (workspace: string): Promise<LogicalCluster> =>
    awaitWorkspace(client, workspace, {
      clock,
      random,
      signal,
      onWait: (error, retryInMs) =>
        log.warn("hub cannot be reached", { workspace, retryInSeconds: retryInMs / 1000, error }),
    });
  return {
    client,
    find: async () => {
      const found = workspaces === undefined ? [plainHub] : await Promise.all(workspaces.map(resolve));
      // A path and a name may lead to the same one.
      clusters = [...new Map(found.map((cluster) => [cluster.name, cluster])).values()];
      paths = new Map(clusters.map(({ name, path }) => [name, path]));
      return [...paths.values()].join(", ");
    },
    clusters: () => clusters,
    pathOf: (place) => paths.get(place) ?? place,
    watches: () => clusters.flatMap(({ name }) => reconciledKinds.map((what) => ({ what, place: name }))),
    createRelay: (parts) =>
      createRelay({
        ...parts,
        clusters: clusters.map(({ name }) => ({ logicalCluster: name, client: clientOf(client, name) })),
      }),
    isEngaged: () => true,
    close: async () => {},
  };
}
