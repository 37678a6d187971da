/** Concurrent invocations of the functions whose number an operator sets. */
export type FunctionConcurrency = Readonly<Record<"reconcile" | "forward" | "probe", number>>;

/**
 * Defaults of a deployment: 20 batches of ten keys are about 800 keys per second, 5 forward as many, and 10 messages of 50
 * clusters are 10,000 clusters per minute, unless many of them do not respond.
 */
export const defaultConcurrency: FunctionConcurrency = { reconcile: 20, forward: 5, probe: 10 };

/** Resync consumes its own queue, whose event source has a minimum of two; heartbeat and health run once at a time. */
const fixedConcurrency = { resync: 2, heartbeat: 1, health: 1 } as const;

/** Concurrent invocations that a deployment needs at most. */
export function concurrencyDemand({ reconcile, forward, probe }: FunctionConcurrency): number {
  const fixed = Object.values(fixedConcurrency).reduce((sum, each) => sum + each, 0);
  return reconcile + forward + probe + fixed;
}
