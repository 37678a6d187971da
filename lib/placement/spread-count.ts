import type { ClusterFacts } from "./facts.ts";
import type { SpreadWish } from "./wish.ts";

type Constraint = { readonly wish: SpreadWish; readonly counts: Map<string, number>; least: number };

/** Counts the chosen clusters for each value that the candidates have of each topology key. */
export class SpreadCount {
  readonly isNeeded: boolean;
  readonly #constraints: readonly Constraint[];

  constructor(wishes: readonly SpreadWish[], candidates: readonly Readonly<{ cluster: ClusterFacts }>[]) {
    this.isNeeded = wishes.length > 0;
    this.#constraints = wishes.map((wish) => {
      const counts = new Map<string, number>();
      for (const { cluster } of candidates) {
        const value = cluster.labels.get(wish.key);
        if (value !== undefined) counts.set(value, 0);
      }
      return { wish, counts, least: 0 };
    });
  }

  /** Counts a cluster as chosen. */
  add({ labels }: ClusterFacts): void {
    for (const constraint of this.#constraints) {
      const { wish, counts } = constraint;
      const value = labels.get(wish.key);
      if (value === undefined) continue;
      counts.set(value, (counts.get(value) ?? 0) + 1);
      constraint.least = leastOf(counts);
    }
  }

  /** How full the places are in which a cluster is. */
  crowd(cluster: ClusterFacts): number {
    let crowd = 0;
    for (const constraint of this.#constraints) crowd += countAt(constraint, cluster);
    return crowd;
  }

  /** The strict constraint that one more cluster would break. */
  refusal(cluster: ClusterFacts): SpreadWish | undefined {
    for (const constraint of this.#constraints) {
      const { wish, least } = constraint;
      if (wish.strict && countAt(constraint, cluster) + 1 - least > wish.maxSkew) return wish;
    }
    return undefined;
  }

  /** The constraints that the choice does not keep to, strict or not. */
  excess(): readonly Readonly<{ key: string; skew: number; maxSkew: number }>[] {
    return this.#constraints.flatMap(({ wish: { key, maxSkew }, counts, least }) => {
      const skew = Math.max(0, ...counts.values()) - least;
      return skew > maxSkew ? [{ key, skew, maxSkew }] : [];
    });
  }

  /** One text for all clusters that are in the same places. */
  placeOf({ labels }: ClusterFacts): string {
    let place = "";
    // Neither character can be part of a value.
    for (const { wish } of this.#constraints) place += `${labels.get(wish.key) ?? "\0"}\n`;
    return place;
  }
}

function countAt({ wish, counts }: Constraint, { labels }: ClusterFacts): number {
  const value = labels.get(wish.key);
  return value === undefined ? 0 : (counts.get(value) ?? 0);
}

function leastOf(counts: ReadonlyMap<string, number>): number {
  let smallest = Infinity;
  for (const count of counts.values()) if (count < smallest) smallest = count;
  return smallest;
}
