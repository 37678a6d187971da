import { isRecord } from "@tmc/kube/json.ts";
import { isQuantity, parseQuantity } from "@tmc/kube/quantity.ts";

/** Amounts of resources in billionths, as in `Quantity`: exact, so that the order of additions does not matter. */
export type ReservedResources = Readonly<{ cpu: bigint; memory: bigint }>;

/** Finds what placements have reserved on a cluster; undefined if nothing. */
export type ReservedByCluster = Pick<ReadonlyMap<string, ReservedResources>, "get">;

export const nothingReserved: ReservedResources = { cpu: 0n, memory: 0n };

// Objects of a cache are never modified in place, so a parsed reservation stays valid as long as its spec lives.
const reservations = new WeakMap<object, ReservedResources>();

/** What a placement reserves on each of its clusters: `spec.resources`. Amounts that are not valid, or negative, count as none. */
export function reservationOf({ spec }: Readonly<{ metadata: unknown; spec?: unknown }>): ReservedResources {
  if (!isRecord(spec) || !isRecord(spec.resources)) return nothingReserved;
  const known = reservations.get(spec);
  if (known !== undefined) return known;
  const { cpu, memory } = spec.resources;
  const reservation = { cpu: nanosOf(cpu), memory: nanosOf(memory) };
  reservations.set(spec, reservation);
  return reservation;
}

/** Sums of the resources that placements have reserved on each cluster. */
export class ReservedSums {
  readonly #sums = new Map<string, ReservedResources>();

  /** Adds an amount on each of the clusters. */
  add(clusters: readonly string[], amount: ReservedResources): void {
    this.#change(clusters, amount, 1n);
  }

  /** Takes back an amount that was added. */
  subtract(clusters: readonly string[], amount: ReservedResources): void {
    this.#change(clusters, amount, -1n);
  }

  /** The sums without the part of one placement, which must not count against itself. */
  excluding(clusters: readonly string[], own: ReservedResources): ReservedByCluster {
    return {
      get: (name) => {
        const sum = this.#sums.get(name);
        if (sum === undefined || !clusters.includes(name)) return sum;
        return { cpu: sum.cpu - own.cpu, memory: sum.memory - own.memory };
      },
    };
  }

  #change(clusters: readonly string[], { cpu, memory }: ReservedResources, sign: 1n | -1n): void {
    if (cpu === 0n && memory === 0n) return;
    for (const name of clusters) {
      const before = this.#sums.get(name) ?? nothingReserved;
      const after = { cpu: before.cpu + sign * cpu, memory: before.memory + sign * memory };
      if (after.cpu === 0n && after.memory === 0n) this.#sums.delete(name);
      else this.#sums.set(name, after);
    }
  }
}

function nanosOf(value: unknown): bigint {
  if (!isQuantity(value)) return 0n;
  const { nanos } = parseQuantity(value);
  return nanos > 0n ? nanos : 0n;
}
