/** Choices that follow from a seed alone. */
export interface Seeded {
  /** From 0 up to 1. */
  next(): number;
  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number;
  /** True with this probability. */
  chance(probability: number): boolean;
  pick<T>(from: readonly T[]): T;
  /** Some of them, in their order; each with this probability. */
  some<T>(from: readonly T[], probability?: number): T[];
  shuffled<T>(from: readonly T[]): T[];
  /** Choices of their own for one purpose: how many are made there leaves these here as they are. */
  fork(purpose: string): Seeded;
}

/** Makes choices from a seed; the same seed gives the same choices on every machine. */
export function createSeeded(seed: string | number): Seeded {
  const text = String(seed);
  let state = hash(text);
  // Mulberry32: small, fast, and good enough to choose faults with.
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const between = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1));
  const chance = (probability: number): boolean => next() < probability;
  return {
    next,
    between,
    chance,
    pick: (from) => {
      const index = between(0, from.length - 1);
      if (index >= from.length) throw new RangeError("nothing to pick from");
      // The index is one of the list's own.
      return from[index] as (typeof from)[number];
    },
    some: (from, probability = 0.5) => from.filter(() => chance(probability)),
    shuffled: (from) =>
      from
        .map((value) => ({ value, rank: next() }))
        .toSorted((one, other) => one.rank - other.rank)
        .map(({ value }) => value),
    fork: (purpose) => createSeeded(`${text}/${purpose}`),
  };
}

/** FNV-1a, with its bits mixed once more: seeds that differ in one digit must not begin alike. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return value ^ (value >>> 16);
}
