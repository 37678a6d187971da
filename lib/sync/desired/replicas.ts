import type { SyncCluster } from "../sync-objects.ts";
import { divide, sumOf } from "./divide.ts";
import { type Claim, claimsOf, type ReplicaRule } from "./replica-claims.ts";

export type ShareFacts = Readonly<{
  /** `spec.replicas` of the placement; without it every cluster gets all. */
  rule: ReplicaRule | undefined;
  /** How many replicas the workload asks for. */
  total: number;
  /** The clusters that it belongs on, in any order. */
  clusters: readonly SyncCluster[];
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
