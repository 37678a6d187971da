import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { delay } from "@tmc/kube/deadline.ts";
import { reconciledKinds } from "../model/key.ts";
import type { HealthChecks } from "../observe/health.ts";
import type { Log } from "../observe/log.ts";
import { awaitWorkspace } from "../upstream/await-workspace.ts";
import type { ExportAddress } from "../upstream/export/address.ts";
import type { OpenExportEndpoint } from "../upstream/export/endpoints.ts";
import { clientOf, type LogicalCluster, plainKubernetes } from "../upstream/logical-cluster.ts";
import { createExportScope } from "./export-scope.ts";
import type { Watched } from "./listener.ts";
import { createRelay, type Relay, type RelayedWorkspace, type RelayParts, type WorkspaceRelay } from "./relay.ts";

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
   * not exist; retries as long as upstream is unreachable. A workspace that does not answer for ten seconds delays no other:
   * it is added when it answers.
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

/** How long a process waits for all workspaces; then it starts with those that have answered. */
const patienceMs = 10_000;
/** How often a workspace is searched that is missing although the process has started. */
const searchAgainMs = 60_000;

function createWorkspaceScope(options: ScopeOptions): Scope {
  const { client, workspaces, signal } = options;
  /** By what the operator has named. */
  const found = new Map<string, LogicalCluster>();
  let relay: WorkspaceRelay | undefined;
  // A path and a name may resolve to the same logical cluster.
  const logicalClusters = (): readonly LogicalCluster[] => {
    const inOrder = workspaces?.flatMap((workspace) => found.get(workspace) ?? []) ?? [plainKubernetes];
    return [...new Map(inOrder.map((cluster) => [cluster.name, cluster])).values()];
  };
  const relayedOf = ({ name }: LogicalCluster): RelayedWorkspace => ({
    logicalCluster: name,
    client: clientOf(client, name),
  });
  const pathOf = (watchScope: string): string =>
    [...found.values()].find(({ name }) => name === watchScope)?.path ?? watchScope;
  return {
    client,
    find: async () => {
      await findWorkspaces(options, (workspace, cluster) => {
        if (signal.aborted) return;
        found.set(workspace, cluster);
        relay?.add(relayedOf(cluster));
      });
      return logicalClusters()
        .map(({ path }) => path)
        .join(", ");
    },
    logicalClusters,
    pathOf,
    watches: () => logicalClusters().flatMap(({ name }) => reconciledKinds.map((what) => ({ what, scope: name }))),
    createRelay: (parts) => {
      relay = createRelay({
        ...parts,
        workspaces: logicalClusters().map(relayedOf),
        awaited: () => workspaces?.filter((workspace) => !found.has(workspace)) ?? [],
      });
      return relay;
    },
    isEngaged: () => true,
    close: async () => {},
  };
}

/** Searches all workspaces. Resolves when each was found, or when some were and `patienceMs` have passed; the search goes on. */
async function findWorkspaces(
  { client, workspaces = [], clock, random, log, signal }: ScopeOptions,
  onFound: (workspace: string, cluster: LogicalCluster) => void,
): Promise<void> {
  let mayStart = false;
  let isAnyFound = false;
  const some = Promise.withResolvers<void>();
  const search = async (workspace: string): Promise<void> => {
    const onWait = (error: unknown, retryInMs: number): void =>
      log.warn("upstream is unreachable", { workspace, retryInSeconds: retryInMs / 1000, error });
    for (;;) {
      try {
        onFound(workspace, await awaitWorkspace(client, workspace, { clock, random, signal, onWait }));
        isAnyFound = true;
        if (mayStart) some.resolve();
        return;
      } catch (error) {
        if (!mayStart || !isAnyFound || signal.aborted) throw error;
        log.error("workspace is not served", { workspace, retryInSeconds: searchAgainMs / 1000, error });
        if (!(await delay(clock, searchAgainMs, signal))) return;
      }
    }
  };
  const cancel = clock.after(patienceMs, () => {
    mayStart = true;
    if (isAnyFound) some.resolve();
  });
  try {
    await Promise.race([Promise.all(workspaces.map(search)), some.promise]);
  } finally {
    cancel();
  }
}
