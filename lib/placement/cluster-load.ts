import type { WorkloadPlacement } from "../api/workload-placement.ts";

type Entry = { placement: WorkloadPlacement; selected: readonly string[] };
type Promised = Readonly<{ resourceVersion: string | undefined; selected: readonly string[] }>;

/**
 * Counts how many placements of one logical cluster use each of its clusters. It looks only at what has changed since it
 * was last asked, by the identity of the objects, and counts a decision from the moment it is made until the list shows it.
 * All that it knows can be had again from the list: a new process starts with an empty book.
 */
export class LoadBook {
  readonly #entries = new Map<string, Entry>();
  readonly #promised = new Map<string, Promised>();
  readonly #load = new Map<string, number>();

  /** Brings the book up to date with the list. */
  update(placements: readonly WorkloadPlacement[]): void {
    for (const placement of placements) {
      const name = placement.metadata.name ?? "";
      const entry = this.#entries.get(name);
      if (entry?.placement === placement) continue;
      const promised = this.#promised.get(name);
      const isStale = promised !== undefined && promised.resourceVersion !== placement.metadata.resourceVersion;
      if (isStale) this.#promised.delete(name);
      const selected =
        promised === undefined || isStale ? (placement.status?.selectedClusters ?? []) : promised.selected;
      this.#set(name, placement, selected);
    }
    if (this.#entries.size > placements.length)
      this.#forget(new Set(placements.map(({ metadata }) => metadata.name ?? "")));
  }

  /** The load without one placement: nobody makes room for himself. */
  without(name: string): ReadonlyMap<string, number> {
    const own = this.#entries.get(name)?.selected ?? [];
    if (own.length === 0) return this.#load;
    const load = new Map(this.#load);
    for (const cluster of own) load.set(cluster, (load.get(cluster) ?? 0) - 1);
    return load;
  }

  /** Counts a decision that the list does not show yet. */
  promise(seen: WorkloadPlacement, selected: readonly string[]): void {
    const name = seen.metadata.name ?? "";
    const entry = this.#entries.get(name);
    if (entry !== undefined && entry.placement.metadata.resourceVersion !== seen.metadata.resourceVersion) return;
    this.#promised.set(name, { resourceVersion: seen.metadata.resourceVersion, selected });
    this.#set(name, entry?.placement ?? seen, selected);
  }

  #set(name: string, placement: WorkloadPlacement, selected: readonly string[]): void {
    for (const cluster of this.#entries.get(name)?.selected ?? []) this.#count(cluster, -1);
    for (const cluster of selected) this.#count(cluster, 1);
    this.#entries.set(name, { placement, selected });
  }

  #count(cluster: string, change: 1 | -1): void {
    const count = (this.#load.get(cluster) ?? 0) + change;
    if (count === 0) this.#load.delete(cluster);
    else this.#load.set(cluster, count);
  }

  #forget(present: ReadonlySet<string>): void {
    for (const [name, { selected }] of this.#entries) {
      if (present.has(name)) continue;
      for (const cluster of selected) this.#count(cluster, -1);
      this.#entries.delete(name);
      this.#promised.delete(name);
    }
  }
}
