import type { Clock } from "@tmc/kube/clock.ts";
import type { WorkloadSync } from "../../api/workload-sync.ts";

export type RecordFollower = Readonly<{
  /** All records; the same list as long as nothing in it has changed. */
  list: () => readonly WorkloadSync[];
  clock: Clock;
  /** Hears of each record that has come, changed or gone. */
  onChange: (before: WorkloadSync | undefined, after: WorkloadSync | undefined) => void;
}>;

/** Soon enough for an eye; the look itself costs nothing while nothing has changed. */
const lookEveryMs = 100;

/** Follows the records of workloads until it is stopped. */
export function followRecords({ list, clock, onChange }: RecordFollower): () => void {
  let listed: readonly WorkloadSync[] = [];
  let known = new Map<string, WorkloadSync>();
  let takeBack = (): void => {};
  const look = (): void => {
    const present = list();
    if (present !== listed) {
      const next = new Map(present.map((record) => [`${record.metadata.namespace}/${record.metadata.name}`, record]));
      for (const [id, record] of next) if (known.get(id) !== record) onChange(known.get(id), record);
      for (const [id, record] of known) if (!next.has(id)) onChange(record, undefined);
      [listed, known] = [present, next];
    }
    takeBack = clock.after(lookEveryMs, look);
  };
  look();
  return () => takeBack();
}
