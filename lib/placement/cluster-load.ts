import type { WorkloadPlacement } from "../api/workload-placement.ts";
import { nothingReserved, type ReservedByCluster, ReservedSums, reservationOf } from "../model/reserved-resources.ts";

type Entry = Readonly<{ placement: WorkloadPlacement; selected: readonly string[] }>;
type Reservation = Readonly<{ resourceVersion: string | undefined; selected: readonly string[] }>;

/**
 * Counts how many placements of one logical cluster use each target cluster, and what they reserve there. An update processes only placements whose
 * object changed. A decision counts as soon as it is reserved, before a list shows it. All state can be rebuilt from the
 * list, so a new process starts empty.
 */
export class ClusterLoad {
  readonly #entries = new Map<string, Entry>();
  readonly #reservations = new Map<string, Reservation>();
  readonly #load = new Map<string, number>();
  readonly #reserved = new ReservedSums();

  /** Number of counted placements. */
  get size(): number {
    return this.#entries.size;
  }

  /** Applies a complete list of the placements. */
  update(placements: readonly WorkloadPlacement[]): void {
    for (const placement of placements) {
      const name = placement.metadata.name ?? "";
      const entry = this.#entries.get(name);
      if (entry?.placement === placement) continue;
      const reservation = this.#reservations.get(name);
      const isStale = reservation !== undefined && reservation.resourceVersion !== placement.metadata.resourceVersion;
      if (isStale) this.#reservations.delete(name);
      const selected =
        reservation === undefined || isStale ? (placement.status?.selectedClusters ?? []) : reservation.selected;
      this.#set(name, placement, selected);
    }
    if (this.#entries.size > placements.length)
      this.#prune(new Set(placements.map(({ metadata }) => metadata.name ?? "")));
  }

  /** The load without the placement of this name, whose own selection must not influence its decision. */
  excluding(name: string): ReadonlyMap<string, number> {
    const own = this.#entries.get(name)?.selected ?? [];
    if (own.length === 0) return this.#load;
    const load = new Map(this.#load);
    for (const targetCluster of own) load.set(targetCluster, (load.get(targetCluster) ?? 0) - 1);
    return load;
  }

  /** The reserved resources without those of the placement of this name. */
  reservedExcluding(name: string): ReservedByCluster {
    const own = this.#entries.get(name);
    return this.#reserved.excluding(
      own?.selected ?? [],
      own === undefined ? nothingReserved : reservationOf(own.placement),
    );
  }

  /** Counts a decision that no list shows yet; ignored if the placement has changed since it was observed. */
  reserve(observed: WorkloadPlacement, selected: readonly string[]): void {
    const name = observed.metadata.name ?? "";
    const entry = this.#entries.get(name);
    if (entry !== undefined && entry.placement.metadata.resourceVersion !== observed.metadata.resourceVersion) return;
    this.#reservations.set(name, { resourceVersion: observed.metadata.resourceVersion, selected });
    this.#set(name, entry?.placement ?? observed, selected);
  }

  #set(name: string, placement: WorkloadPlacement, selected: readonly string[]): void {
    const before = this.#entries.get(name);
    if (before !== undefined) this.#subtract(before);
    for (const targetCluster of selected) this.#add(targetCluster, 1);
    this.#reserved.add(selected, reservationOf(placement));
    this.#entries.set(name, { placement, selected });
  }

  #subtract({ placement, selected }: Entry): void {
    for (const targetCluster of selected) this.#add(targetCluster, -1);
    this.#reserved.subtract(selected, reservationOf(placement));
  }

  #add(targetCluster: string, change: 1 | -1): void {
    const count = (this.#load.get(targetCluster) ?? 0) + change;
    if (count === 0) this.#load.delete(targetCluster);
    else this.#load.set(targetCluster, count);
  }

  /** Removes placements that the list no longer has. */
  #prune(listed: ReadonlySet<string>): void {
    for (const [name, entry] of this.#entries) {
      if (listed.has(name)) continue;
      this.#subtract(entry);
      this.#entries.delete(name);
      this.#reservations.delete(name);
    }
  }
}
