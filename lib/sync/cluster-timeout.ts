import type { Clock } from "@tmc/kube/clock.ts";
import { createDeadline, unlessAborted } from "@tmc/kube/deadline.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { SyncSettings } from "./settings.ts";

/**
 * Runs work on one cluster within the time that a reconcile may spend there; a timeout is the fault "unreachable". A cluster
 * that hangs therefore does not delay the report about the others.
 */
export async function withClusterTimeout<T>(
  { clock, settings }: Readonly<{ clock: Clock; settings: Pick<SyncSettings, "clusterTimeoutSeconds"> }>,
  targetCluster: string,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { clusterTimeoutSeconds } = settings;
  const deadline = createDeadline(clock, { signal, timeoutMs: clusterTimeoutSeconds * 1000 });
  try {
    return await unlessAborted(work(deadline.signal), deadline.signal);
  } catch (error) {
    if (!deadline.expired || signal.aborted) throw error;
    throw new ControllerError("unreachable", `cluster ${targetCluster}: no answer in time`, { cause: error });
  } finally {
    deadline.end();
  }
}
