import type { ClusterFacts } from "./observed.ts";
import type { SpreadConstraint } from "./parsed-spec.ts";

/** Number of selected clusters in one topology domain, which is one value of one topology key. */
type DomainCount = { count: number };
type ConstraintCounts = {
  readonly constraint: SpreadConstraint;
  readonly counts: Map<string, DomainCount>;
  /** The smallest count; undefined if it must be computed again. */
  smallest: number | undefined;
};

/** The topology domains of a cluster, one per constraint. Clusters in the same domains share one object. */
export type TopologyDomains = Readonly<{
  /** One per constraint; undefined if the cluster lacks the label. */
  counts: readonly (DomainCount | undefined)[];
  children: Map<string, TopologyDomains>;
}>;

/** Stands for a missing label; no label can have this value. */
const missingLabel = "\0";

/**
 * Counts the selected clusters per topology domain. A domain takes part in the skew after the first `domainsOf` for it,
 * so callers pass all candidates to `domainsOf` before they ask about the skew.
 */
export class SpreadCount {
  readonly isNeeded: boolean;
  readonly #constraints: readonly ConstraintCounts[];
  readonly #root: TopologyDomains = { counts: [], children: new Map() };

  constructor(constraints: readonly SpreadConstraint[]) {
    this.isNeeded = constraints.length > 0;
    this.#constraints = constraints.map((constraint) => ({ constraint, counts: new Map(), smallest: 0 }));
  }

  domainsOf({ labels }: ClusterFacts): TopologyDomains {
    let domains = this.#root;
    for (const entry of this.#constraints) {
      const value = labels.get(entry.constraint.topologyKey) ?? missingLabel;
      let child = domains.children.get(value);
      if (child === undefined) {
        const count = value === missingLabel ? undefined : domainCountFor(entry, value);
        child = { counts: [...domains.counts, count], children: new Map() };
        domains.children.set(value, child);
      }
      domains = child;
    }
    return domains;
  }

  /** Counts one more selected cluster in these domains. */
  add({ counts }: TopologyDomains): void {
    for (const [index, entry] of this.#constraints.entries()) {
      const domain = counts[index];
      if (domain === undefined) continue;
      if (domain.count === entry.smallest) entry.smallest = undefined;
      domain.count += 1;
    }
  }

  /** The number of selected clusters in these domains, summed over the constraints. */
  selectedIn({ counts }: TopologyDomains): number {
    let selected = 0;
    for (const domain of counts) selected += domain?.count ?? 0;
    return selected;
  }

  /** The strict constraint that one more cluster in these domains would violate. */
  violatedConstraint({ counts }: TopologyDomains): SpreadConstraint | undefined {
    let index = 0;
    for (const entry of this.#constraints) {
      const count = counts[index]?.count ?? 0;
      index += 1;
      const { constraint } = entry;
      if (constraint.isStrict && count + 1 - smallestCount(entry) > constraint.maxSkew) return constraint;
    }
    return undefined;
  }

  /** The constraints, strict or not, whose maxSkew the selection exceeds. */
  exceededConstraints(): readonly Readonly<{ key: string; skew: number; maxSkew: number }>[] {
    return this.#constraints.flatMap((entry) => {
      const { topologyKey, maxSkew } = entry.constraint;
      let largest = 0;
      for (const { count } of entry.counts.values()) largest = Math.max(largest, count);
      const skew = largest - smallestCount(entry);
      return skew > maxSkew ? [{ key: topologyKey, skew, maxSkew }] : [];
    });
  }
}

function domainCountFor(entry: ConstraintCounts, value: string): DomainCount {
  const known = entry.counts.get(value);
  if (known !== undefined) return known;
  const domain = { count: 0 };
  entry.counts.set(value, domain);
  entry.smallest = 0;
  return domain;
}

function smallestCount(entry: ConstraintCounts): number {
  if (entry.smallest !== undefined) return entry.smallest;
  let smallest = Infinity;
  for (const { count } of entry.counts.values()) if (count < smallest) smallest = count;
  entry.smallest = smallest;
  return smallest;
}
