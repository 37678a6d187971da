import type { Clock } from "@tmc/kube/clock.ts";
import { createDeadline, unlessAborted } from "@tmc/kube/deadline.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { SyncSettings } from "./settings.ts";

/**
 * Works on one cluster for as long as a look at a workload may spend there; one that takes longer is the fault "unreachable".
 * So a cluster that hangs keeps nobody from hearing what the others say.
 */
export async function withClusterTimeout<T>(
  { clock, settings }: Readonly<{ clock: Clock; settings: Pick<SyncSettings, "clusterSeconds"> }>,
  name: string,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { clusterSeconds } = settings;
  const deadline = createDeadline(clock, { signal, timeoutMs: clusterSeconds * 1000 });
  try {
    return await unlessAborted(work(deadline.signal), deadline.signal);
  } catch (error) {
    if (!deadline.expired || signal.aborted) throw error;
    throw new ControllerError("unreachable", `cluster ${name}: no answer in time`, { cause: error });
  } finally {
    deadline.end();
  }
}
