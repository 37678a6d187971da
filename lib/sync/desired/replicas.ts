import { compareStrings } from "@tmc/kube/compare.ts";
import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import type { TargetCluster } from "../sync-objects.ts";

export type ShareFacts = Readonly<{
  /** `spec.replicas` of the placement; without it every cluster gets all. */
  rule: ReplicaRule | undefined;
  /** How many replicas the workload asks for. */
  total: number;
  /** The clusters that it belongs on, in any order. */
  clusters: readonly TargetCluster[];
  /** How many were last written to each cluster. */
  current: ReadonlyMap<string, number>;
}>;

export type Shares = Readonly<{
  /** In the order of the names. */
  shares: ReadonlyMap<string, number>;
  /** How many found no cluster. */
  unplaced: number;
  /** What could not be done as it was asked for, for people. */
  why?: string;
}>;

/**
 * Decides how many replicas of a workload each cluster is to have in the end; `stepShares` says how to get there.
 *
 * What is divided adds up to the total, whatever the weights, unless max leaves no room. The order of the clusters leaves
 * no trace. What the clusters have already counts only for who gets the odd ones (see `divide`), so the answer stays the
 * same all along the steps that lead to it.
 */
export function wantedShares({ rule = {}, total, clusters, current }: ShareFacts): Shares {
  if (clusters.length === 0) return withWhy(new Map(), total, total > 0 ? ["there is no cluster for it"] : []);
  const claims = claimsOf({ rule, total, clusters, current });
  return rule.mode === "Divided" ? divided(total, claims) : duplicated(total, claims);
}

function duplicated(total: number, claims: readonly Claim[]): Shares {
  const short = claims.filter(({ max }) => max < total);
  const unplaced = sumOf(short.map(({ max }) => total - max));
  const why = short.length === 0 ? [] : [`max allows fewer than ${total} replicas on ${namesOf(short)}`];
  return withWhy(new Map(claims.map(({ name, max }) => [name, max])), unplaced, why);
}

function divided(total: number, claims: readonly Claim[]): Shares {
  const crossed = claims.filter(({ isCrossed }) => isCrossed);
  const crossedWords = crossed.length === 0 ? [] : [`min is above max on ${namesOf(crossed)}: max counts`];
  if (sumOf(claims.map(({ min }) => min)) > total) {
    const { shares, short } = byName(total, claims);
    const replicas = total === 1 ? "1 replica is" : `${total} replicas are`;
    // Whoever wants none at all has not forgotten the min.
    const shortWords = total === 0 ? [] : [`${replicas} too few for the min of ${namesOf(short)}`];
    return withWhy(shares, 0, [...crossedWords, ...shortWords]);
  }
  const shares = divide(total, claims);
  const unplaced = total - sumOf(shares.values());
  const words = `${unplaced} of ${total} replicas find no room: every cluster has its max, or no weight`;
  return withWhy(shares, unplaced, [...crossedWords, ...(unplaced > 0 ? [words] : [])]);
}

/** Gives everyone the min for as long as there is enough. */
function byName(total: number, claims: readonly Claim[]) {
  const shares = new Map<string, number>();
  const short: Claim[] = [];
  let left = total;
  for (const claim of claims) {
    const share = Math.min(claim.min, left);
    left -= share;
    shares.set(claim.name, share);
    if (share < claim.min) short.push(claim);
  }
  return { shares, short };
}

const withWhy = (shares: ReadonlyMap<string, number>, unplaced: number, why: readonly string[]): Shares =>
  why.length === 0 ? { shares, unplaced } : { shares, unplaced, why: why.join("; ") };

/** As many names as a message bears. */
const mostShown = 5;

function namesOf(claims: readonly Claim[]): string {
  const names = claims.slice(0, mostShown).map(({ name }) => name);
  const rest = claims.length - mostShown;
  return names.join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}

/** How a placement wants replicas shared out. */
export type ReplicaRule = NonNullable<WorkloadPlacement["spec"]["replicas"]>;

/** What one cluster may get. */
export type Claim = Readonly<{
  name: string;
  /** What its share follows; nothing beyond `min` for 0. */
  weight: bigint;
  /** Never above the rule's max; all of them together may ask for more than there is. */
  min: number;
  /** Never above the number of replicas that there are. */
  max: number;
  /** Whether the rule has a min above the max. */
  isCrossed: boolean;
  /** How many it has already. */
  has: number;
}>;

export type ClaimFacts = Readonly<{
  rule: ReplicaRule;
  total: number;
  clusters: readonly TargetCluster[];
  /** How many each cluster has already. */
  current: ReadonlyMap<string, number>;
}>;

/** What every cluster may get, in the order of their names; where min is above max, max counts. */
export function claimsOf({ rule, total, clusters, current }: ClaimFacts): readonly Claim[] {
  const limits = limitsOf(rule);
  const weightOf = rule.divideBy === "Capacity" ? weightByCapacity(clusters) : weightByRule(rule);
  return clusters
    .map((cluster) => {
      const { name } = cluster;
      const { min, max } = limits(name);
      return {
        name,
        weight: weightOf(cluster),
        min: Math.min(min, max),
        max: Math.min(max, total),
        isCrossed: min > max,
        has: current.get(name) ?? 0,
      };
    })
    .toSorted((one, other) => compareStrings(one.name, other.name));
}

/** Reads the fewest and the most that a cluster gets: what is said for it alone goes before what is said for all. */
function limitsOf(rule: ReplicaRule): (cluster: string) => Readonly<{ min: number; max: number }> {
  const single = new Map(rule.clusters?.map((each) => [each.name, each]));
  return (cluster) => {
    const own = single.get(cluster);
    return { min: own?.min ?? rule.min ?? 0, max: own?.max ?? rule.max ?? Number.POSITIVE_INFINITY };
  };
}

function weightByRule(rule: ReplicaRule): (cluster: TargetCluster) => bigint {
  const weights = new Map(rule.clusters?.map(({ name, weight }) => [name, BigInt(weight ?? 1)]));
  return ({ name }) => weights.get(name) ?? 1n;
}

/** A cluster of which nobody knows how large it is counts as one of the middle; where none has any room, all are alike. */
function weightByCapacity(clusters: readonly TargetCluster[]): (cluster: TargetCluster) => bigint {
  const known = clusters.map(({ milliCpu }) => milliCpu).filter((milliCpu) => milliCpu !== undefined);
  if (!known.some((milliCpu) => milliCpu > 0)) return () => 1n;
  const middle = median(known);
  return ({ milliCpu }) => BigInt(Math.round(milliCpu ?? middle));
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((one, other) => one - other);
  const half = sorted.length / 2;
  return ((sorted[Math.ceil(half) - 1] ?? 0) + (sorted[Math.floor(half)] ?? 0)) / 2;
}

/**
 * Divides replicas by weight within everyone's min and max.
 *
 * Everyone's exact share is worked out first. Nobody is ever a whole replica or more away from it: shares are rounded down,
 * and what is left over goes, one each, to those who have it already, then to the largest fractions, then to who has more,
 * then by name. So among all such divisions this one moves the fewest, and a fraction that grew a little moves nothing.
 *
 * There must be enough for every min. The sum is less than the total only where nobody may take more.
 */
export function divide(total: number, claims: readonly Claim[]): ReadonlyMap<string, number> {
  const exact = exactShares(total, claims);
  const leftOver = exact.some(({ fraction }) => fraction > 0n) ? total - sumOf(exact.map(({ whole }) => whole)) : 0;
  const raised = new Set(
    exact
      .filter(({ fraction }) => fraction > 0n)
      .toSorted(byPriority)
      .slice(0, leftOver)
      .map(({ claim }) => claim.name),
  );
  return new Map(exact.map(({ claim: { name }, whole }) => [name, whole + (raised.has(name) ? 1 : 0)]));
}

/** A share before it is rounded: whole replicas and a fraction, counted in a unit that is the same for all. */
type ExactShare = Readonly<{ claim: Claim; whole: number; fraction: bigint }>;

function byPriority(one: ExactShare, other: ExactShare): number {
  // More than it can get is no better than all of it: otherwise a copy that shrinks would lose its turn half-way.
  const useful = ({ claim, whole }: ExactShare) => Math.min(claim.has, whole + 1);
  const hasIt = (share: ExactShare) => (useful(share) === share.whole + 1 ? 0 : 1);
  if (hasIt(one) !== hasIt(other)) return hasIt(one) - hasIt(other);
  if (one.fraction !== other.fraction) return one.fraction > other.fraction ? -1 : 1;
  return useful(other) - useful(one) || compareStrings(one.claim.name, other.claim.name);
}

/**
 * The shares that are proportional to the weights, save where min or max forbids it. Each round gives those their bound
 * for whom it is certain by now that they will need it, and divides the rest anew among the others.
 */
function exactShares(total: number, claims: readonly Claim[]): readonly ExactShare[] {
  // Without a weight there is nothing beyond the min.
  const bound = new Map(claims.filter(({ weight }) => weight === 0n).map((claim) => [claim, claim.min]));
  for (;;) {
    const free = claims.filter((claim) => !bound.has(claim));
    const rest = BigInt(total - sumOf([...bound.values()]));
    const weights = free.reduce((sum, { weight }) => sum + weight, 0n);
    // Everything is multiplied by the sum of the weights, so that nothing is ever rounded here.
    const over = (claim: Claim) => rest * claim.weight - BigInt(claim.max) * weights;
    const under = (claim: Claim) => BigInt(claim.min) * weights - rest * claim.weight;
    const tooMuch = free.filter((claim) => over(claim) > 0n);
    const tooLittle = free.filter((claim) => under(claim) > 0n);
    if (tooMuch.length === 0 && tooLittle.length === 0) {
      return claims.map((claim) => {
        const whole = bound.get(claim);
        if (whole !== undefined) return { claim, whole, fraction: 0n };
        const share = rest * claim.weight;
        return { claim, whole: Number(share / weights), fraction: share % weights };
      });
    }
    const excess = tooMuch.reduce((sum, claim) => sum + over(claim), 0n);
    const shortage = tooLittle.reduce((sum, claim) => sum + under(claim), 0n);
    // More is missing than left over: the others will get less yet, so whoever is below the min stays below it.
    if (shortage >= excess) for (const claim of tooLittle) bound.set(claim, claim.min);
    else for (const claim of tooMuch) bound.set(claim, claim.max);
  }
}

/** Adds numbers. */
export function sumOf(numbers: Iterable<number>): number {
  let sum = 0;
  for (const number of numbers) sum += number;
  return sum;
}

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
