import type { Clock } from "@tmc/kube/clock.ts";
import type { WorkloadSync } from "../../api/workload-sync.ts";
import type { WorkloadKey } from "../../model/key.ts";
import type { CopyRecord } from "../sync-objects.ts";
import type { CopyOutcome } from "../targets/apply.ts";

/** The result of one reconcile. */
export type DebounceFacts = Readonly<{
  key: WorkloadKey;
  record: WorkloadSync | undefined;
  targets: readonly CopyOutcome[];
  /** Whether there is more to report than the progress of the target copies. */
  hasOtherChanges: boolean;
}>;

/**
 * Delays the status writes of rollouts. A rollout changes a dozen times within milliseconds, and each change would cost two
 * upstream writes, which are the scarcest resource. Final states are written at once: all copies are ready, or one is
 * rejected. A transient state is written once it has lasted for a while.
 *
 * The delayed state is in memory only: after a restart the next reconcile observes it again.
 */
export interface StatusDebounce {
  /** The copies as they were observed and not written yet; undefined when nothing is delayed. */
  unwrittenCopies(key: WorkloadKey, record: WorkloadSync | undefined): readonly CopyRecord[] | undefined;
  /** For how many more seconds the status write is delayed; undefined when it is to be written now. */
  delaySeconds(facts: DebounceFacts): number | undefined;
}

export type StatusDebounceOptions = Readonly<{
  clock: Clock;
  /** Delay of the first write of a transient state. */
  firstMs?: number | undefined;
  /** Upper bound of the delay, which doubles with every write. */
  maxMs?: number | undefined;
}>;

type DelayedStatus = Readonly<{
  resourceVersion: string | undefined;
  copies: readonly CopyRecord[];
  dueMs: number;
  delayMs: number;
  /** Whether it was written when it was due; the next write of a transient state is delayed longer. */
  isWritten: boolean;
}>;

/** Bound of the delayed workloads; beyond it the oldest are forgotten, and their status is written at the next reconcile. */
const maxDelayed = 10_000;

export function createStatusDebounce({ clock, firstMs = 1_000, maxMs = 5_000 }: StatusDebounceOptions): StatusDebounce {
  const delayed = new Map<string, DelayedStatus>();
  const idOf = ({ logicalCluster, name }: WorkloadKey): string => `${logicalCluster}|${name}`;
  const store = (id: string, entry: DelayedStatus): void => {
    delayed.delete(id); // so that it becomes the newest
    delayed.set(id, entry);
    for (const oldest of delayed.keys()) {
      if (delayed.size <= maxDelayed) return;
      delayed.delete(oldest);
    }
  };
  return {
    unwrittenCopies: (key, record) => {
      const entry = delayed.get(idOf(key));
      // If the record was written since, its status is newer.
      return entry?.isWritten === false && entry.resourceVersion === record?.metadata.resourceVersion
        ? entry.copies
        : undefined;
    },
    delaySeconds: ({ key, record, targets, hasOtherChanges }) => {
      const id = idOf(key);
      if (hasOtherChanges || !isTransient(targets)) {
        delayed.delete(id);
        return undefined;
      }
      const nowMs = clock.monotonicMs();
      const before = delayed.get(id);
      const delayMs =
        before === undefined ? firstMs : before.isWritten ? Math.min(before.delayMs * 2, maxMs) : before.delayMs;
      const dueMs = before === undefined || before.isWritten ? nowMs + delayMs : before.dueMs;
      const resourceVersion = record?.metadata.resourceVersion;
      const copies = targets.map((outcome) => outcome.record);
      store(id, { resourceVersion, copies, dueMs, delayMs, isWritten: dueMs <= nowMs });
      return dueMs <= nowMs ? undefined : (dueMs - nowMs) / 1000;
    },
  };
}

/** Whether every copy is written, and some are not ready yet. */
function isTransient(targets: readonly CopyOutcome[]): boolean {
  return (
    targets.some(({ record }) => record.state === "Applied") &&
    targets.every(
      ({ isCurrent, record: { state, reason } }) =>
        isCurrent && (state === "Ready" || (state === "Applied" && reason !== "Drifted")),
    )
  );
}
