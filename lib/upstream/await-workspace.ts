import { createBackoff } from "@tmc/kube/backoff.ts";
import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { delay } from "@tmc/kube/deadline.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import { type LogicalCluster, resolveLogicalCluster } from "./logical-cluster.ts";

export type AwaitWorkspaceOptions = Readonly<{
  clock: Clock;
  random: () => number;
  signal: AbortSignal;
  /** Called before each retry, with the error and the delay. */
  onWait: (error: unknown, retryInMs: number) => void;
}>;

/** A kcp server that starts answers before it has loaded its workspaces. After this time its answer counts. */
const warmUpMs = 60_000;

/**
 * Resolves the logical cluster of a workspace, and retries while the server is unreachable.
 *
 * If a ready server does not have the workspace, this fails at once. A server that was unreachable or is not ready gets some time:
 * while it starts it answers 403 or 404 for workspaces that it serves shortly after.
 */
export function awaitWorkspace(
  client: KubeClient,
  workspace: string,
  options: AwaitWorkspaceOptions,
): Promise<LogicalCluster> {
  return awaitAnswer(client, () => resolveLogicalCluster(client, workspace, options.signal), options);
}

/** The same for any first request to the server. If the server rejects it, that error must be the `cause` of what `request` throws. */
export async function awaitAnswer<T>(
  client: KubeClient,
  request: () => Promise<T>,
  { clock, random, signal, onWait }: AwaitWorkspaceOptions,
): Promise<T> {
  const backoff = createBackoff({ shortestMs: 500, longestMs: 15_000, random });
  let wasUnavailable = false;
  let rejectedSinceMs: number | undefined;
  for (;;) {
    try {
      return await request();
    } catch (error) {
      if (signal.aborted) throw error;
      if (isTransient(error)) {
        wasUnavailable = true;
        rejectedSinceMs = undefined;
      } else {
        wasUnavailable ||= isRejection(error) && !(await isServerReady(client, signal));
        rejectedSinceMs ??= clock.monotonicMs();
        if (!wasUnavailable || !isRejection(error) || clock.monotonicMs() - rejectedSinceMs >= warmUpMs) throw error;
      }
      const retryInMs = backoff.nextMs();
      onWait(error, retryInMs);
      if (!(await delay(clock, retryInMs, signal))) throw error;
    }
  }
}

function isTransient(error: unknown): boolean {
  const fault = faultOf(error);
  return fault === "unreachable" || fault === "throttled";
}

/** Whether the server answered that TMC has no such workspace or no access to it. */
function isRejection(error: unknown): boolean {
  const fault = error instanceof Error ? faultOf(error.cause) : undefined;
  return fault === "not-found" || fault === "forbidden";
}

async function isServerReady(client: KubeClient, signal: AbortSignal): Promise<boolean> {
  try {
    const { status } = await client.at("/").raw("GET", "/readyz", { signal });
    // A 401 or 403 says nothing about readiness.
    return status < 500;
  } catch (error) {
    if (!isTransient(error)) throw error;
    return false;
  }
}
