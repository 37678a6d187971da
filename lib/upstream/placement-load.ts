import type { KubeObject } from "@tmc/kube/kube-object.ts";
import {
  nothingReserved,
  type ReservedByCluster,
  type ReservedResources,
  ReservedSums,
  reservationOf,
} from "../model/reserved-resources.ts";

/** Counts how many placements of one logical cluster use each of its clusters, and sums what they reserve there. */
export interface PlacementLoad {
  /** Takes the current state of a placement; undefined for a deleted one. Ends its reservation. */
  set(name: string, placement: KubeObject | undefined): void;
  /** The counts without those of the named placement; the map follows every later change. */
  others(name: string): ReadonlyMap<string, number>;
  /** The reserved resources without those of the named placement. */
  reservedByOthers(name: string): ReservedByCluster;
  /**
   * Counts a decision as if it were already stored, until a newer state of the placement arrives. The returned function
   * takes the reservation back if no such state will arrive.
   */
  reserve(name: string, selectedClusters: readonly string[]): () => void;
}

type Entry = {
  placement: KubeObject;
  reserved: readonly string[] | undefined;
  counted: readonly string[];
  /** What was counted on each of the `counted` clusters. */
  amount: ReservedResources;
};

const none: readonly never[] = [];

/** Creates counts without placements. */
export function createPlacementLoad(): PlacementLoad {
  const entries = new Map<string, Entry>();
  const counts = new Map<string, number>();
  const sums = new ReservedSums();

  const count = (entry: Entry, selected: readonly string[]): void => {
    for (const name of entry.counted) {
      const rest = (counts.get(name) ?? 0) - 1;
      if (rest > 0) counts.set(name, rest);
      else counts.delete(name);
    }
    for (const name of selected) counts.set(name, (counts.get(name) ?? 0) + 1);
    const amount = reservationOf(entry.placement);
    sums.subtract(entry.counted, entry.amount);
    sums.add(selected, amount);
    entry.counted = selected;
    entry.amount = amount;
  };
  const recount = (entry: Entry): void => count(entry, entry.reserved ?? selectedClustersOf(entry.placement));

  return {
    set: (name, placement) => {
      const entry = entries.get(name);
      if (placement === undefined) {
        if (entry !== undefined) count(entry, none);
        entries.delete(name);
        return;
      }
      const next = entry ?? { placement, reserved: undefined, counted: none, amount: nothingReserved };
      next.placement = placement;
      // A decision on the older state is stored by now, or never will be.
      next.reserved = undefined;
      entries.set(name, next);
      recount(next);
    },
    others: (name) => withoutOwn(counts, (cluster) => (entries.get(name)?.counted.includes(cluster) ? 1 : 0)),
    reservedByOthers: (name) => {
      const own = entries.get(name);
      return sums.excluding(own?.counted ?? none, own?.amount ?? nothingReserved);
    },
    reserve: (name, selectedClusters) => {
      const entry = entries.get(name);
      if (entry === undefined) return () => {};
      entry.reserved = selectedClusters;
      recount(entry);
      return () => {
        // A later decision may have made a new reservation, or the placement may be gone.
        if (entry.reserved !== selectedClusters) return;
        entry.reserved = undefined;
        if (entries.get(name) === entry) recount(entry);
      };
    },
  };
}

function selectedClustersOf({ status }: KubeObject): readonly string[] {
  if (typeof status !== "object" || status === null || !("selectedClusters" in status)) return none;
  const selected = status.selectedClusters;
  return Array.isArray(selected) ? selected.filter((name): name is string => typeof name === "string") : none;
}

/** A view of the counts without one placement's own share, computed on access. */
function withoutOwn(counts: ReadonlyMap<string, number>, own: (name: string) => number): ReadonlyMap<string, number> {
  const others = (name: string): number => (counts.get(name) ?? 0) - own(name);
  const entries = function* (): MapIterator<[string, number]> {
    for (const name of counts.keys()) yield [name, others(name)];
  };
  const view: ReadonlyMap<string, number> = {
    get size() {
      return counts.size;
    },
    has: (name) => counts.has(name),
    get: (name) => (counts.has(name) ? others(name) : undefined),
    keys: () => counts.keys(),
    values: function* (): MapIterator<number> {
      for (const [, value] of entries()) yield value;
    },
    entries,
    [Symbol.iterator]: entries,
    forEach: (visit) => {
      for (const [name, value] of entries()) visit(value, name, view);
    },
  };
  return view;
}
