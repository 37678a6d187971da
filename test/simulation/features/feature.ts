import type { Step } from "../scenario.ts";
import type { Seeded } from "../seeded.ts";

/** What a feature knows of the scenario that it is added to. */
export type FeatureFacts = Readonly<{
  /** The time of the last step of the scenario. */
  endMs: number;
}>;

/**
 * A part of the product, or a kind of fault, that only a share of the seeds exercise. Each draws from choices of its own
 * (`seeded`), so that a new feature leaves the other steps of a seed as they were.
 */
export type Feature = Readonly<{
  name: string;
  /** The share of the seeds that have it, from 0 to 1. */
  share: number;
  /** Whether it needs every type of the product's export; the servers of other seeds export two, which costs less. */
  exportsAllTypes?: boolean;
  /** Whether it is in the mode `direct` only, because the other modes do not fit yet. */
  isDirectOnly?: boolean;
  /** Names of features that it is not combined with, unless both are forced. */
  excludes?: readonly string[];
  /** The steps to add, in any order, between 0 and `endMs`. */
  steps(seeded: Seeded, facts: FeatureFacts): readonly Step[];
}>;
