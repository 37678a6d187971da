import { type LogicalCluster, plainHub, resolveLogicalCluster } from "../kcp/logical-cluster.ts";
import type { KubeClient } from "../kube/client.ts";
import type { Log } from "../observe/log.ts";
import { forEachAtOnce } from "../queue/at-once.ts";
import type { Environment } from "./environment.ts";

/** A workspace in which something could not be done, and why. */
export type WorkspaceProblem = Readonly<{ workspace: string; error: unknown }>;

/** What came of doing something in every workspace. */
export type Everywhere<T> = Readonly<{
  done: readonly Readonly<{ cluster: LogicalCluster; result: T }>[];
  problems: readonly WorkspaceProblem[];
}>;

/** The workspaces that the operator named. */
export interface Fleet {
  /** Does something in each of them, a few at a time. One that is not there, or that fails, holds up no other. */
  everywhere<T>(
    task: (cluster: LogicalCluster, signal: AbortSignal) => Promise<T>,
    signal: AbortSignal,
  ): Promise<Everywhere<T>>;
}

/** Each is a few lists of a hub that has other work. */
const workspacesAtOnce = 4;

/**
 * Creates the fleet over a client at the hub's root. The logical cluster of a workspace is asked for once and kept; after a
 * failure there it is asked for again, for the workspace may have been made anew.
 */
export function createFleet(client: KubeClient, { hub, workspaces }: Pick<Environment, "hub" | "workspaces">): Fleet {
  const known = new Map<string, LogicalCluster>();
  const resolve = async (workspace: string, signal: AbortSignal): Promise<LogicalCluster> => {
    const found = known.get(workspace) ?? (await resolveLogicalCluster(client, workspace, signal));
    known.set(workspace, found);
    return found;
  };
  return {
    everywhere: async <T>(task: (cluster: LogicalCluster, signal: AbortSignal) => Promise<T>, signal: AbortSignal) => {
      const begun = new Set<string>();
      const done: { cluster: LogicalCluster; result: T }[] = [];
      const problems: WorkspaceProblem[] = [];
      await forEachAtOnce(hub === "kubernetes" ? [""] : workspaces, workspacesAtOnce, async (workspace) => {
        try {
          const cluster = hub === "kubernetes" ? plainHub : await resolve(workspace, signal);
          if (begun.has(cluster.name)) return; // a path and a name may lead to the same one
          begun.add(cluster.name);
          done.push({ cluster, result: await task(cluster, signal) });
        } catch (error) {
          known.delete(workspace);
          problems.push({ workspace, error });
        }
      });
      return { done, problems };
    },
  };
}

/** Logs where something could not be done; when that is everywhere, the whole has failed. */
export function reportProblems(log: Log, { done, problems }: Everywhere<unknown>): void {
  const [first] = problems;
  if (first !== undefined && done.length === 0) {
    if (problems.length === 1) throw first.error;
    throw new AggregateError(
      problems.map(({ error }) => error),
      "no workspace could be read",
    );
  }
  for (const { workspace, error } of problems) log.warn("workspace cannot be read", { workspace, error });
}
