import { sumOf } from "./divide.ts";

export type StepFacts = Readonly<{
  /** How many each cluster is to have in the end; a cluster that is not named here is to have none. */
  wanted: ReadonlyMap<string, number>;
  /** How many were last written to each cluster. */
  applied: ReadonlyMap<string, number>;
  /** How many are ready on each cluster that is heard from; on the others nothing is taken for ready. */
  ready: ReadonlyMap<string, number>;
}>;

/**
 * Decides how many replicas to write to each cluster now, on the way to what is wanted of a divided workload.
 *
 * Growth is written at once. A replica is taken from a cluster only when the one that replaces it elsewhere is ready, or
 * when there are more than the total anyway, as after the total itself was lowered:
 *
 * - what is left where it shrinks, and what is ready where it does not, never add up to less than the total;
 * - those that are ready never fall below the total because of a step, nor below what they were if that was less.
 *
 * So a cluster that is wanted and has fewer ready than it should, or is not heard from, makes the others keep what they
 * have, which is what its users then need. It does so only while it is wanted: once the placement has given it up, others
 * grow in its place, and when they are ready nothing waits any more.
 */
export function stepShares({ wanted, applied, ready }: StepFacts): ReadonlyMap<string, number> {
  const names = [...new Set([...wanted.keys(), ...applied.keys()])].toSorted();
  const places = names.map((name) => placeOf(name, { wanted, applied, ready }));
  const total = sumOf(wanted.values());

  const shrinking = places.filter((place) => place.has > place.wants);
  // What is just starting counts where it already is, and does not where it is to come.
  const secured = sumOf(places.map((place) => (place.has > place.wants ? place.has : place.ready)));
  const allReady = sumOf(places.map((place) => place.ready));
  let spare = Math.max(0, secured - total);
  let spareReady = Math.max(0, allReady - total);

  const next = new Map(places.map(({ name, has, wants }) => [name, Math.max(has, wants)]));
  const take = ({ name, has }: Place, count: number) => {
    spare -= count;
    next.set(name, (next.get(name) ?? has) - count);
  };
  // First what serves nobody: a cluster that loses replicas lets those go that are not ready.
  for (const place of shrinking) take(place, Math.min(place.has - Math.max(place.wants, place.ready), spare));
  for (const place of shrinking) {
    const count = Math.min(Math.max(0, place.ready - place.wants), spare, spareReady);
    spareReady -= count;
    take(place, count);
  }
  return next;
}

type Place = Readonly<{ name: string; wants: number; has: number; ready: number }>;

function placeOf(name: string, { wanted, applied, ready }: StepFacts): Place {
  const has = applied.get(name) ?? 0;
  // A replica that is on its way out may still be ready; it is no one to rely on.
  return { name, wants: wanted.get(name) ?? 0, has, ready: Math.min(ready.get(name) ?? 0, has) };
}
