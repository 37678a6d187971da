import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { reconciledKinds } from "../model/key.ts";
import type { HealthChecks } from "../observe/health.ts";
import type { Log } from "../observe/log.ts";
import { awaitWorkspace } from "../upstream/await-workspace.ts";
import type { ExportAddress } from "../upstream/export/address.ts";
import type { OpenExportEndpoint } from "../upstream/export/endpoints.ts";
import { clientOf, type LogicalCluster, plainKubernetes } from "../upstream/logical-cluster.ts";
import { createExportScope } from "./export-scope.ts";
import type { Watched } from "./listener.ts";
import { createRelay, type Relay, type RelayParts } from "./relay.ts";

/** An export, all tenants of which are relayed. */
export type ExportOptions = Readonly<{ address: ExportAddress; openEndpoint: OpenExportEndpoint }>;

/** Which logical clusters a process works on. */
export type ScopeChoice = Readonly<{
  /** Paths of workspaces, or names of logical clusters; undefined for a plain Kubernetes cluster with TMC's CRDs. */
  workspaces: readonly string[] | undefined;
  /** Instead of `workspaces`: every workspace that has bound this export. */
  apiExport?: ExportOptions | undefined;
}>;

export type ScopeOptions = ScopeChoice &
  Readonly<{
    /** A client at the root of the upstream server. */
    client: KubeClient;
    clock: Clock;
    random: () => number;
    log: Log;
    health: HealthChecks;
    /** Stops `find`. */
    signal: AbortSignal;
    /** Whether to check periodically that the export is what this version of TMC needs. @default false */
    checksExport?: boolean | undefined;
  }>;

/** The logical clusters that a process works on: how they are found, watched and reached. */
export interface Scope {
  /** A client that reaches each logical cluster by its name, below `/clusters/`. */
  readonly client: KubeClient;
  /**
   * Resolves the workspaces or the export, and returns a text for the log. Fails at once, with a one-line error, if one does
   * not exist; retries as long as upstream is unreachable.
   */
  find(): Promise<string>;
  /** The logical clusters that are in scope now. */
  logicalClusters(): readonly LogicalCluster[];
  /** The workspace path of a logical cluster; the scope of any other watch is returned as it is (`RelayListener`). */
  pathOf(watchScope: string): string;
  /** The watches that run from the start. */
  watches(): readonly Readonly<{ what: Watched; scope: string }>[];
  /** Creates the relay. To be called once. */
  createRelay(parts: RelayParts): Relay;
  /** Whether keys of a logical cluster are to be reconciled, as far as this process knows. */
  isEngaged(logicalCluster: string): boolean;
  /** Stops the checks and closes the connections that were opened. */
  close(): Promise<void>;
}

/** Creates the scope of an export or of single workspaces. */
export function createScope(options: ScopeOptions): Scope {
  const { apiExport } = options;
  return apiExport === undefined ? createWorkspaceScope(options) : createExportScope({ ...options, apiExport });
}

function createWorkspaceScope({ client, workspaces, clock, random, log, signal }: ScopeOptions): Scope {
  let logicalClusters: readonly LogicalCluster[] = [];
  let paths: ReadonlyMap<string, string> = new Map();
  const resolve = (workspace: string): Promise<LogicalCluster> =>
    awaitWorkspace(client, workspace, {
      clock,
      random,
      signal,
      onWait: (error, retryInMs) =>
        log.warn("upstream is unreachable", { workspace, retryInSeconds: retryInMs / 1000, error }),
    });
  return {
    client,
    find: async () => {
      const found = workspaces === undefined ? [plainKubernetes] : await Promise.all(workspaces.map(resolve));
      // A path and a name may resolve to the same logical cluster.
      logicalClusters = [...new Map(found.map((cluster) => [cluster.name, cluster])).values()];
      paths = new Map(logicalClusters.map(({ name, path }) => [name, path]));
      return [...paths.values()].join(", ");
    },
    logicalClusters: () => logicalClusters,
    pathOf: (watchScope) => paths.get(watchScope) ?? watchScope,
    watches: () => logicalClusters.flatMap(({ name }) => reconciledKinds.map((what) => ({ what, scope: name }))),
    createRelay: (parts) =>
      createRelay({
        ...parts,
        workspaces: logicalClusters.map(({ name }) => ({ logicalCluster: name, client: clientOf(client, name) })),
      }),
    isEngaged: () => true,
    close: async () => {},
  };
}
