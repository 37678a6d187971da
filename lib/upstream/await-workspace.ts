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
  /** Hears why it is asked again, and when. */
  onWait: (error: unknown, retryInMs: number) => void;
}>;

/** A kcp that starts answers before it has read its workspaces; after this time it has, or never will. */
const warmUpMs = 60_000;

/**
 * Finds the logical cluster of a workspace, and asks again for as long as the hub cannot be reached.
 *
 * A hub that is well and has no such workspace is believed at once. One that was away, or says that it is not ready, is
 * given some time: while it starts it refuses what it knows perfectly well a moment later.
 */
export function awaitWorkspace(
  client: KubeClient,
  workspace: string,
  options: AwaitWorkspaceOptions,
): Promise<LogicalCluster> {
  return awaitAnswer(client, () => resolveLogicalCluster(client, workspace, options.signal), options);
}

/** The same for anything that the hub is asked for at the start; a refusal is the cause of the error that `ask` gives. */
export async function awaitAnswer<T>(
  client: KubeClient,
  ask: () => Promise<T>,
  { clock, random, signal, onWait }: AwaitWorkspaceOptions,
): Promise<T> {
  const backoff = createBackoff({ shortestMs: 500, longestMs: 15_000, random });
  let wasAway = false;
  let refusedSinceMs: number | undefined;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (signal.aborted) throw error;
      if (mayPass(error)) {
        wasAway = true;
        refusedSinceMs = undefined;
      } else {
        wasAway ||= isRefusal(error) && !(await isHubReady(client, signal));
        refusedSinceMs ??= clock.now();
        if (!wasAway || !isRefusal(error) || clock.now() - refusedSinceMs >= warmUpMs) throw error;
      }
      const retryInMs = backoff.nextMs();
      onWait(error, retryInMs);
      if (!(await delay(clock, retryInMs, signal))) throw error;
    }
  }
}

function mayPass(error: unknown): boolean {
  const fault = faultOf(error);
  return fault === "unreachable" || fault === "throttled";
}

/** Whether the hub itself has said that there is no such workspace for us. */
function isRefusal(error: unknown): boolean {
  const fault = error instanceof Error ? faultOf(error.cause) : undefined;
  return fault === "not-found" || fault === "forbidden";
}

async function isHubReady(client: KubeClient, signal: AbortSignal): Promise<boolean> {
  try {
    const { status } = await client.at("/").raw("GET", "/readyz", { signal });
    // Who may not ask learns nothing by it.
    return status < 500;
  } catch (error) {
    if (!mayPass(error)) throw error;
    return false;
  }
}
