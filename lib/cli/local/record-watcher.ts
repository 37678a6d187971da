import type { Clock } from "@tmc/kube/clock.ts";
import type { WorkloadSync } from "../../api/workload-sync.ts";

export type RecordWatcherOptions = Readonly<{
  /** Returns all sync records; the same array while nothing has changed. */
  list: () => readonly WorkloadSync[];
  clock: Clock;
  /** Called for each sync record that was added, changed or deleted. */
  onChange: (before: WorkloadSync | undefined, after: WorkloadSync | undefined) => void;
}>;

/** Fast enough for a display; without a change a poll only compares two references. */
const pollIntervalMs = 100;

/** Reports changes of sync records until the returned function is called. */
export function watchRecords({ list, clock, onChange }: RecordWatcherOptions): () => void {
  let listed: readonly WorkloadSync[] = [];
  let known = new Map<string, WorkloadSync>();
  let cancel = (): void => {};
  const poll = (): void => {
    const present = list();
    if (present !== listed) {
      const next = new Map(present.map((record) => [`${record.metadata.namespace}/${record.metadata.name}`, record]));
      for (const [id, record] of next) if (known.get(id) !== record) onChange(known.get(id), record);
      for (const [id, record] of known) if (!next.has(id)) onChange(record, undefined);
      [listed, known] = [present, next];
    }
    cancel = clock.after(pollIntervalMs, poll);
  };
  poll();
  return () => cancel();
}
