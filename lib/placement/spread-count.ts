import type { ClusterFacts } from "./observed.ts";
import type { SpreadWish } from "./parsed-spec.ts";

/** How many chosen clusters have one value of one topology key. */
type Tally = { count: number };
type Constraint = {
  readonly wish: SpreadWish;
  readonly tallies: Map<string, Tally>;
  /** The smallest of the counts; undefined when it is to be found anew. */
  least: number | undefined;
};

/** Where a cluster is, in all topology keys: the same object for all clusters that are in the same places. */
export type Place = Readonly<{
  /** One for each constraint; undefined where the cluster lacks the label. */
  tallies: readonly (Tally | undefined)[];
  inside: Map<string, Place>;
}>;

/** Stands for a missing label; no label has this value. */
const nowhere = "\0";

/**
 * Counts the chosen clusters for each value that the candidates have of each topology key. A value counts from the moment
 * its place is asked for, so the places of all candidates are asked for before the first question about the skew.
 */
export class SpreadCount {
  readonly isNeeded: boolean;
  readonly #constraints: readonly Constraint[];
  readonly #everywhere: Place = { tallies: [], inside: new Map() };

  constructor(wishes: readonly SpreadWish[]) {
    this.isNeeded = wishes.length > 0;
    this.#constraints = wishes.map((wish) => ({ wish, tallies: new Map(), least: 0 }));
  }

  /** Where a cluster is. */
  placeOf({ labels }: ClusterFacts): Place {
    let place = this.#everywhere;
    for (const constraint of this.#constraints) {
      const value = labels.get(constraint.wish.key) ?? nowhere;
      let deeper = place.inside.get(value);
      if (deeper === undefined) {
        const tally = value === nowhere ? undefined : tallyAt(constraint, value);
        deeper = { tallies: [...place.tallies, tally], inside: new Map() };
        place.inside.set(value, deeper);
      }
      place = deeper;
    }
    return place;
  }

  /** Counts a cluster there as chosen. */
  add({ tallies }: Place): void {
    for (const [index, constraint] of this.#constraints.entries()) {
      const tally = tallies[index];
      if (tally === undefined) continue;
      if (tally.count === constraint.least) constraint.least = undefined;
      tally.count += 1;
    }
  }

  /** How full the places are. */
  crowd({ tallies }: Place): number {
    let crowd = 0;
    for (const tally of tallies) crowd += tally?.count ?? 0;
    return crowd;
  }

  /** The strict constraint that one more cluster there would break. */
  refusal({ tallies }: Place): SpreadWish | undefined {
    let index = 0;
    for (const constraint of this.#constraints) {
      const count = tallies[index]?.count ?? 0;
      index += 1;
      if (constraint.wish.strict && count + 1 - leastOf(constraint) > constraint.wish.maxSkew) return constraint.wish;
    }
    return undefined;
  }

  /** The constraints that the choice does not keep to, strict or not. */
  excess(): readonly Readonly<{ key: string; skew: number; maxSkew: number }>[] {
    return this.#constraints.flatMap((constraint) => {
      const { key, maxSkew } = constraint.wish;
      let most = 0;
      for (const { count } of constraint.tallies.values()) most = Math.max(most, count);
      const skew = most - leastOf(constraint);
      return skew > maxSkew ? [{ key, skew, maxSkew }] : [];
    });
  }
}

function tallyAt(constraint: Constraint, value: string): Tally {
  const known = constraint.tallies.get(value);
  if (known !== undefined) return known;
  const tally = { count: 0 };
  constraint.tallies.set(value, tally);
  constraint.least = 0;
  return tally;
}

function leastOf(constraint: Constraint): number {
  if (constraint.least !== undefined) return constraint.least;
  let least = Infinity;
  for (const { count } of constraint.tallies.values()) if (count < least) least = count;
  constraint.least = least;
  return least;
}
