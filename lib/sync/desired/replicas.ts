import { compareStrings } from "@tmc/kube/compare.ts";
import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import type { TargetCluster } from "../sync-objects.ts";

export type ShareFacts = Readonly<{
  /** `spec.replicas` of the placement; without it every cluster gets all replicas. */
  rule: ReplicaRule | undefined;
  /** The number of replicas that the workload asks for. */
  total: number;
  /** The target clusters, in any order. */
  targetClusters: readonly TargetCluster[];
  /** The replicas that were last written to each cluster. */
  current: ReadonlyMap<string, number>;
}>;

export type Shares = Readonly<{
  /** Replicas by cluster, sorted by name. */
  shares: ReadonlyMap<string, number>;
  /** Replicas that no cluster can get. */
  unplaced: number;
  /** Explains to users which part of the rule could not be satisfied. */
  message?: string;
}>;

/**
 * Decides how many replicas of a workload each cluster should finally have; `stepShares` decides the steps to get there.
 *
 * Divided shares add up to the total, unless max or weights leave replicas unplaced. The result does not depend on the order
 * of the clusters. The current replicas only decide which cluster gets a rounded-up share (see `divide`), so the result stays
 * the same during all steps.
 */
export function desiredShares({ rule = {}, total, targetClusters, current }: ShareFacts): Shares {
  if (targetClusters.length === 0)
    return withMessages(new Map(), total, total > 0 ? ["the placement selects no cluster"] : []);
  const claims = claimsOf({ rule, total, targetClusters, current });
  return rule.mode === "Divided" ? divideTotal(total, claims) : duplicateTotal(total, claims);
}

function duplicateTotal(total: number, claims: readonly ReplicaClaim[]): Shares {
  const short = claims.filter(({ max }) => max < total);
  const unplaced = sumReplicas(short.map(({ max }) => total - max));
  const messages = short.length === 0 ? [] : [`max allows fewer than ${total} replicas on ${formatClusters(short)}`];
  return withMessages(new Map(claims.map(({ name, max }) => [name, max])), unplaced, messages);
}

function divideTotal(total: number, claims: readonly ReplicaClaim[]): Shares {
  const conflicting = claims.filter(({ isMinAboveMax }) => isMinAboveMax);
  const conflicts = conflicting.length === 0 ? [] : [`min is above max on ${formatClusters(conflicting)}: max applies`];
  if (sumReplicas(claims.map(({ min }) => min)) > total) {
    const { shares, short } = fillMinimums(total, claims);
    const replicas = total === 1 ? "1 replica is" : `${total} replicas are`;
    // A workload that is scaled to zero does not violate the min.
    const shortages = total === 0 ? [] : [`${replicas} too few for the min of ${formatClusters(short)}`];
    return withMessages(shares, 0, [...conflicts, ...shortages]);
  }
  const shares = divide(total, claims);
  const unplaced = total - sumReplicas(shares.values());
  const message = `${unplaced} of ${total} replicas are not placed: every cluster is at its max or has weight 0`;
  return withMessages(shares, unplaced, [...conflicts, ...(unplaced > 0 ? [message] : [])]);
}

/** Gives clusters their min, in the order of their names, as long as replicas are left. */
function fillMinimums(total: number, claims: readonly ReplicaClaim[]) {
  const shares = new Map<string, number>();
  const short: ReplicaClaim[] = [];
  let rest = total;
  for (const claim of claims) {
    const share = Math.min(claim.min, rest);
    rest -= share;
    shares.set(claim.name, share);
    if (share < claim.min) short.push(claim);
  }
  return { shares, short };
}

const withMessages = (shares: ReadonlyMap<string, number>, unplaced: number, messages: readonly string[]): Shares =>
  messages.length === 0 ? { shares, unplaced } : { shares, unplaced, message: messages.join("; ") };

/** Clusters that a message lists, so that it stays readable. */
const maxListedClusters = 5;

function formatClusters(claims: readonly ReplicaClaim[]): string {
  const names = claims.slice(0, maxListedClusters).map(({ name }) => name);
  const rest = claims.length - maxListedClusters;
  return names.join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}

/** How a placement distributes replicas. */
export type ReplicaRule = NonNullable<WorkloadPlacement["spec"]["replicas"]>;

/** The limits and the weight of one cluster. */
export type ReplicaClaim = Readonly<{
  name: string;
  /** The share is proportional to it; a cluster with weight 0 gets only its `min`. */
  weight: bigint;
  /** Never above the rule's max. The sum over all clusters may exceed the total. */
  min: number;
  /** Never above the total. */
  max: number;
  /** Whether the rule has a min above the max. */
  isMinAboveMax: boolean;
  /** The replicas that were last written. */
  current: number;
}>;

type ClaimFacts = Readonly<{
  rule: ReplicaRule;
  total: number;
  targetClusters: readonly TargetCluster[];
  current: ReadonlyMap<string, number>;
}>;

/** The limits and weights of all clusters, sorted by name; where min is above max, max applies. */
function claimsOf({ rule, total, targetClusters, current }: ClaimFacts): readonly ReplicaClaim[] {
  const limits = limitsOf(rule);
  const weightOf = rule.divideBy === "Capacity" ? weightByCapacity(targetClusters) : weightByRule(rule);
  return targetClusters
    .map((targetCluster) => {
      const { name } = targetCluster;
      const { min, max } = limits(name);
      return {
        name,
        weight: weightOf(targetCluster),
        min: Math.min(min, max),
        max: Math.min(max, total),
        isMinAboveMax: min > max,
        current: current.get(name) ?? 0,
      };
    })
    .toSorted((one, other) => compareStrings(one.name, other.name));
}

/** The min and max of a cluster: its own entry precedes the limits for all clusters. */
function limitsOf(rule: ReplicaRule): (targetCluster: string) => Readonly<{ min: number; max: number }> {
  const entries = new Map(rule.clusters?.map((each) => [each.name, each]));
  return (targetCluster) => {
    const own = entries.get(targetCluster);
    return { min: own?.min ?? rule.min ?? 0, max: own?.max ?? rule.max ?? Number.POSITIVE_INFINITY };
  };
}

function weightByRule(rule: ReplicaRule): (targetCluster: TargetCluster) => bigint {
  const weights = new Map(rule.clusters?.map(({ name, weight }) => [name, BigInt(weight ?? 1)]));
  return ({ name }) => weights.get(name) ?? 1n;
}

/** A cluster of unknown capacity gets the median; if no cluster has capacity, all have the same weight. */
function weightByCapacity(targetClusters: readonly TargetCluster[]): (targetCluster: TargetCluster) => bigint {
  const known = targetClusters.map(({ milliCpu }) => milliCpu).filter((milliCpu) => milliCpu !== undefined);
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
 * Divides replicas by weight within the min and max of each cluster.
 *
 * The exact shares are computed first, and no cluster is ever a whole replica or more away from its own: shares are rounded
 * down, and the remaining replicas go, one each, to clusters that have them already, then to the largest fractions, then to
 * the clusters with more current replicas, then by name. Among all such divisions this one moves the fewest replicas, and a
 * fraction that grew a little moves none.
 *
 * The total must cover every min. The sum is below the total only where no cluster may get more.
 */
function divide(total: number, claims: readonly ReplicaClaim[]): ReadonlyMap<string, number> {
  const exact = exactShares(total, claims);
  const rest = exact.some(({ fraction }) => fraction > 0n) ? total - sumReplicas(exact.map(({ whole }) => whole)) : 0;
  const roundedUp = new Set(
    exact
      .filter(({ fraction }) => fraction > 0n)
      .toSorted(byPriority)
      .slice(0, rest)
      .map(({ claim }) => claim.name),
  );
  return new Map(exact.map(({ claim: { name }, whole }) => [name, whole + (roundedUp.has(name) ? 1 : 0)]));
}

/** A share before rounding: whole replicas, and a fraction in a unit that is the same for all clusters. */
type ExactShare = Readonly<{ claim: ReplicaClaim; whole: number; fraction: bigint }>;

function byPriority(one: ExactShare, other: ExactShare): number {
  // More current replicas than the rounded-up share count as exactly that share: otherwise a copy that shrinks would lose its
  // priority between two steps.
  const useful = ({ claim, whole }: ExactShare) => Math.min(claim.current, whole + 1);
  const lacksShare = (share: ExactShare) => (useful(share) === share.whole + 1 ? 0 : 1);
  if (lacksShare(one) !== lacksShare(other)) return lacksShare(one) - lacksShare(other);
  if (one.fraction !== other.fraction) return one.fraction > other.fraction ? -1 : 1;
  return useful(other) - useful(one) || compareStrings(one.claim.name, other.claim.name);
}

/**
 * The shares that are proportional to the weights, except where min or max prevents it. Each round fixes the clusters that are
 * certain to end at their min or max, and divides the rest among the others again.
 */
function exactShares(total: number, claims: readonly ReplicaClaim[]): readonly ExactShare[] {
  // A cluster with weight 0 gets its min.
  const fixed = new Map(claims.filter(({ weight }) => weight === 0n).map((claim) => [claim, claim.min]));
  for (;;) {
    const free = claims.filter((claim) => !fixed.has(claim));
    const rest = BigInt(total - sumReplicas([...fixed.values()]));
    const weights = free.reduce((sum, { weight }) => sum + weight, 0n);
    // All values are multiplied by the sum of the weights, so that nothing is rounded here.
    const excessOf = (claim: ReplicaClaim) => rest * claim.weight - BigInt(claim.max) * weights;
    const shortageOf = (claim: ReplicaClaim) => BigInt(claim.min) * weights - rest * claim.weight;
    const aboveMax = free.filter((claim) => excessOf(claim) > 0n);
    const belowMin = free.filter((claim) => shortageOf(claim) > 0n);
    if (aboveMax.length === 0 && belowMin.length === 0) {
      return claims.map((claim) => {
        const whole = fixed.get(claim);
        if (whole !== undefined) return { claim, whole, fraction: 0n };
        const share = rest * claim.weight;
        return { claim, whole: Number(share / weights), fraction: share % weights };
      });
    }
    const excess = aboveMax.reduce((sum, claim) => sum + excessOf(claim), 0n);
    const shortage = belowMin.reduce((sum, claim) => sum + shortageOf(claim), 0n);
    // If more is missing than left over, the other clusters will get even less, so a cluster below its min stays below it.
    if (shortage >= excess) for (const claim of belowMin) fixed.set(claim, claim.min);
    else for (const claim of aboveMax) fixed.set(claim, claim.max);
  }
}

export function sumReplicas(counts: Iterable<number>): number {
  let sum = 0;
  for (const count of counts) sum += count;
  return sum;
}

export type StepFacts = Readonly<{
  /** The final replicas of each cluster; a cluster that is not listed should have none. */
  desired: ReadonlyMap<string, number>;
  /** The replicas that were last written to each cluster. */
  applied: ReadonlyMap<string, number>;
  /** The ready replicas of each cluster that was read; on all other clusters none count as ready. */
  ready: ReadonlyMap<string, number>;
}>;

/**
 * Decides how many replicas to write to each cluster now, on the way to the desired shares of a divided workload.
 *
 * Growth is written at once. A replica is removed from a cluster only when its replacement elsewhere is ready, or when there
 * are more than the total anyway, for example after the total was lowered:
 *
 * - the replicas that remain where a cluster shrinks, plus the ready ones on the others, never add up to less than the total;
 * - a step never lowers the ready replicas below the total, or below what they were if that was less.
 *
 * A target cluster with too few ready replicas, or that is not Ready, therefore makes the others keep theirs, which its users
 * then need. It does so only as long as it is a target: once the placement has evicted it, other clusters grow instead, and
 * nothing waits once they are ready.
 */
export function stepShares({ desired, applied, ready }: StepFacts): ReadonlyMap<string, number> {
  const names = [...new Set([...desired.keys(), ...applied.keys()])].toSorted();
  const counts = names.map((name) => countsOf(name, { desired, applied, ready }));
  const total = sumReplicas(desired.values());

  const shrinking = counts.filter((each) => each.applied > each.desired);
  // Replicas that are starting count where a cluster shrinks, but not where it grows.
  const secured = sumReplicas(counts.map((each) => (each.applied > each.desired ? each.applied : each.ready)));
  const allReady = sumReplicas(counts.map((each) => each.ready));
  let spare = Math.max(0, secured - total);
  let spareReady = Math.max(0, allReady - total);

  const next = new Map(counts.map((each) => [each.name, Math.max(each.applied, each.desired)]));
  const remove = ({ name, applied: before }: ClusterCounts, count: number) => {
    spare -= count;
    next.set(name, (next.get(name) ?? before) - count);
  };
  // Replicas that are not ready serve no requests, so they are removed first.
  for (const each of shrinking) remove(each, Math.min(each.applied - Math.max(each.desired, each.ready), spare));
  for (const each of shrinking) {
    const count = Math.min(Math.max(0, each.ready - each.desired), spare, spareReady);
    spareReady -= count;
    remove(each, count);
  }
  return next;
}

type ClusterCounts = Readonly<{ name: string; desired: number; applied: number; ready: number }>;

function countsOf(name: string, { desired, applied, ready }: StepFacts): ClusterCounts {
  const written = applied.get(name) ?? 0;
  // A replica that is terminating may still be ready, but must not be counted on.
  return { name, desired: desired.get(name) ?? 0, applied: written, ready: Math.min(ready.get(name) ?? 0, written) };
}
