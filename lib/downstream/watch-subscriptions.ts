import type { ResourceType } from "@tmc/kube/kube-object.ts";
import { typeId } from "../api/workload-kinds.ts";
import { formatKey, type ObjectKey } from "../model/key.ts";
import type { CopyWatches } from "./copy-watch.ts";

/** The types that sync has subscribed to, per cluster. Subscriptions add up. */
export interface WatchSubscriptions {
  subscribe(registration: ObjectKey, types: readonly ResourceType[]): void;
  /** Ends all subscriptions of a cluster. */
  unsubscribe(registration: ObjectKey): void;
}

/** Creates subscriptions that start and stop `watches`; `watches` is called only when the set of types changes. */
export function createWatchSubscriptions(watches: Pick<CopyWatches, "subscribe" | "unsubscribe">): WatchSubscriptions {
  const subscribed = new Map<string, Map<string, ResourceType>>();
  return {
    subscribe: (registration, types) => {
      const id = formatKey(registration);
      const known = subscribed.get(id) ?? new Map<string, ResourceType>();
      const before = known.size;
      for (const type of types) known.set(typeId(type), type);
      if (known.size === before) return;
      subscribed.set(id, known);
      watches.subscribe(registration, [...known.values()]);
    },
    unsubscribe: (registration) => {
      if (subscribed.delete(formatKey(registration))) watches.unsubscribe(registration);
    },
  };
}
