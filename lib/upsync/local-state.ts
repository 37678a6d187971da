import { unlessAborted } from "@tmc/kube/deadline.ts";
import { formatKey, type ObjectKey, type WorkloadKey } from "../model/key.ts";

/**
 * Hashes of what was written upstream and of what upstream stored, where the server changed it (defaults, pruned fields).
 * As long as both hashes stay the same, writing again would change nothing.
 */
export type AcceptedDifference = Readonly<{ downstreamHash: string; upstreamHash: string }>;

/**
 * State that one process keeps in memory between reconciles. Correctness does not depend on it: a process without it repeats
 * a read, a notification or a write.
 */
export interface UpsyncLocalState {
  acceptedDifference(key: WorkloadKey): AcceptedDifference | undefined;
  setAcceptedDifference(key: WorkloadKey, difference: AcceptedDifference | undefined): void;
  /** Stores the serialized blockers of a key; "" for none. Returns whether they differ from the stored ones. */
  recordBlockers(key: WorkloadKey, blockers: string): boolean;
  /** Runs this process's writes to one registration one at a time: of concurrent writes, all but one would conflict. */
  runExclusive<T>(registration: ObjectKey, signal: AbortSignal, work: () => Promise<T>): Promise<T>;
}

export function createUpsyncLocalState(): UpsyncLocalState {
  const differences = new Map<string, AcceptedDifference>();
  const blockersByKey = new Map<string, string>();
  /** Registration → resolves when the last queued run has ended. */
  const queueTails = new Map<string, Promise<void>>();
  return {
    acceptedDifference: (key) => differences.get(formatKey(key)),
    setAcceptedDifference: (key, difference) => {
      if (difference === undefined || difference.downstreamHash === difference.upstreamHash) {
        differences.delete(formatKey(key));
      } else differences.set(formatKey(key), difference);
    },
    recordBlockers: (key, blockers) => {
      const before = blockersByKey.get(formatKey(key)) ?? "";
      if (blockers === "") blockersByKey.delete(formatKey(key));
      else blockersByKey.set(formatKey(key), blockers);
      return before !== blockers;
    },
    runExclusive: async (registration, signal, work) => {
      const id = formatKey(registration);
      const before = queueTails.get(id) ?? Promise.resolve();
      const { promise: ended, resolve: end } = Promise.withResolvers<void>();
      const tail = before.then(() => ended);
      queueTails.set(id, tail);
      try {
        await unlessAborted(before, signal);
        return await work();
      } finally {
        end();
        if (queueTails.get(id) === tail) queueTails.delete(id);
      }
    },
  };
}
