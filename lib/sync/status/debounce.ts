import type { Clock } from "@tmc/kube/clock.ts";
import type { WorkloadSync } from "../../api/workload-sync.ts";
import type { WorkloadKey } from "../../model/key.ts";
import type { CopyRecord } from "../sync-objects.ts";
import type { Outcome } from "../targets/apply.ts";

/** What one look has found. */
export type Found = Readonly<{
  key: WorkloadKey;
  record: WorkloadSync | undefined;
  targets: readonly Outcome[];
  /** Whether there is more to tell than how the wanted copies come along. */
  hasMore: boolean;
}>;

/**
 * Holds back reports of what passes. A roll-out tells a dozen things in as many milliseconds, and every one of them would be
 * two writes to the hub, which are its scarcest good. What lasts is written at once: that all copies are ready, or that one is
 * refused. What passes is written when it has lasted for a while.
 *
 * What is held back is only remembered here: a process that dies forgets it, and the next one finds it again.
 */
export interface StatusDebounce {
  /** What was found of the copies and is not yet written; undefined when there is nothing of that kind. */
  unwritten(key: WorkloadKey, record: WorkloadSync | undefined): readonly CopyRecord[] | undefined;
  /** Says for how many more seconds what was found is held back; undefined when it is to be written now. */
  holdSeconds(found: Found): number | undefined;
}

export type StatusDebounceOptions = Readonly<{
  clock: Clock;
  /** How long the first report of something that passes waits. */
  firstMs?: number | undefined;
  /** How long later ones wait at most, while it goes on; each waits twice as long as the one before. */
  mostMs?: number | undefined;
}>;

type Held = Readonly<{
  version: string | undefined;
  copies: readonly CopyRecord[];
  dueMs: number;
  waitMs: number;
  /** Whether it was written when it was due; the next report of what still passes waits longer. */
  isWritten: boolean;
}>;

/** As many workloads as can be on their way at once before the oldest are reported as they are. */
const mostHeld = 10_000;

/** Creates a pace at which nothing is held back yet. */
export function createStatusDebounce({
  clock,
  firstMs = 1_000,
  mostMs = 5_000,
}: StatusDebounceOptions): StatusDebounce {
  const held = new Map<string, Held>();
  const idOf = ({ logicalCluster, name }: WorkloadKey): string => `${logicalCluster}|${name}`;
  const keep = (id: string, entry: Held): void => {
    held.delete(id); // so that it becomes the youngest
    held.set(id, entry);
    for (const oldest of held.keys()) {
      if (held.size <= mostHeld) return;
      held.delete(oldest);
    }
  };
  return {
    unwritten: (key, record) => {
      const entry = held.get(idOf(key));
      // Somebody has written the record since: what it says now is newer.
      return entry?.isWritten === false && entry.version === record?.metadata.resourceVersion
        ? entry.copies
        : undefined;
    },
    holdSeconds: ({ key, record, targets, hasMore }) => {
      const id = idOf(key);
      if (hasMore || !isPassing(targets)) {
        held.delete(id);
        return undefined;
      }
      const nowMs = clock.now();
      const before = held.get(id);
      const waitMs =
        before === undefined ? firstMs : before.isWritten ? Math.min(before.waitMs * 2, mostMs) : before.waitMs;
      const dueMs = before === undefined || before.isWritten ? nowMs + waitMs : before.dueMs;
      const version = record?.metadata.resourceVersion;
      const copies = targets.map((outcome) => outcome.record);
      keep(id, { version, copies, dueMs, waitMs, isWritten: dueMs <= nowMs });
      return dueMs <= nowMs ? undefined : (dueMs - nowMs) / 1000;
    },
  };
}

/** Whether every copy is what it should be, and some are on their way to being ready. */
function isPassing(targets: readonly Outcome[]): boolean {
  return (
    targets.some(({ record }) => record.state === "Applied") &&
    targets.every(
      ({ isCurrent, record: { state, reason } }) =>
        isCurrent && (state === "Ready" || (state === "Applied" && reason !== "Drifted")),
    )
  );
}
