import type { ResourceType } from "@tmc/kube/kube-object.ts";
import { typeId } from "../api/workload-kinds.ts";
import { formatKey, type ObjectKey } from "../model/key.ts";
import type { CopyWatches } from "./copy-watch.ts";

/** Knows which types are of interest on which cluster: whoever works on one says so, and what was said adds up. */
export interface Attention {
  attend(registration: ObjectKey, types: readonly ResourceType[]): void;
  /** Nothing there is of interest until somebody says so again. */
  disregard(registration: ObjectKey): void;
}

/** Has the watches follow what is of interest. */
export function createAttention(watches: Pick<CopyWatches, "want" | "unwant">): Attention {
  const wanted = new Map<string, Map<string, ResourceType>>();
  return {
    attend: (registration, types) => {
      const id = formatKey(registration);
      const known = wanted.get(id) ?? new Map<string, ResourceType>();
      const before = known.size;
      for (const type of types) known.set(typeId(type), type);
      if (known.size === before) return;
      wanted.set(id, known);
      watches.want(registration, [...known.values()]);
    },
    disregard: (registration) => {
      if (wanted.delete(formatKey(registration))) watches.unwant(registration);
    },
  };
}
