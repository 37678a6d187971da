import { formatKey } from "../../model/key.ts";
import { coalesce, type WorkItem } from "../../model/work-item.ts";

/** Keys that are kept back until everything was listed once; several items of one key coalesce into one. */
export interface PendingKeys {
  add(items: readonly WorkItem[]): void;
  all(): readonly WorkItem[];
}

/** Creates an empty collection. */
export function createPendingKeys(): PendingKeys {
  const pending = new Map<string, WorkItem>();
  return {
    add: (items) => {
      for (const item of items) {
        const id = formatKey(item.key);
        const before = pending.get(id);
        pending.set(id, before === undefined ? item : coalesce(before, item));
      }
    },
    all: () => [...pending.values()],
  };
}
