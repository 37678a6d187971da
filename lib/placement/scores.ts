import { offers } from "./filters.ts";
import { type ClusterFacts, isSound } from "./observed.ts";
import { matches, type Wish } from "./parsed-spec.ts";
import { toleratedSeconds } from "./taints.ts";

export type ScorePart = Readonly<{ name: string; value: number }>;

/** One thing that makes a fitting cluster better or worse; undefined where it says nothing about a cluster. */
export type Scorer = Readonly<{ name: string; value: (cluster: ClusterFacts) => number | undefined }>;

/**
 * What a wish that is not a weight of the user's own is worth. Such weights go from 1 to 100: a named cluster counts like a
 * middling one of them, room and health less, so that they decide only between clusters that are wished for alike.
 */
export const worth = {
  preferredCluster: 50,
  preferNoSchedule: -50,
  optionalCapability: 10,
  degraded: -25,
  apisUnknown: -10,
  clusterHint: { match: 100, other: 25, avoid: 0, none: 50 },
  locationHint: { match: 100, other: 30 },
} as const;

/** The scorers that matter to a wish: all of them, and those that can say anything about a sound cluster. */
export type Scorers = Readonly<{ all: readonly Scorer[]; ofSound: readonly Scorer[] }>;

/**
 * The scorers that matter to a wish, in the order in which their parts are shown. They rest on lasting facts alone (room is
 * counted in steps), so that a score, and with it the status, does not change each time a number moves somewhere.
 */
export function scorersOf(wish: Wish): Scorers {
  const scorers: Scorer[] = wish.preferred.map(({ name, weight, term }) => ({
    name,
    value: ({ labels }) => (matches(labels, term) ? weight : undefined),
  }));
  if (wish.preferredClusters.size > 0) {
    scorers.push({
      name: "preferredClusters",
      value: ({ name }) => (wish.preferredClusters.has(name) ? worth.preferredCluster : undefined),
    });
  }
  if (wish.hintedClusters.size > 0 || wish.avoidedClusters.size > 0) {
    scorers.push({ name: "clusterHint", value: (cluster) => clusterHint(wish, cluster) });
  }
  if (wish.hintedLocations.size > 0) {
    scorers.push({ name: "locationHint", value: (cluster) => locationHint(wish, cluster) });
  }
  for (const capability of wish.optionalCapabilities) {
    scorers.push({
      name: `capability ${capability.type}`,
      value: (cluster) => (offers(capability, cluster) ? worth.optionalCapability : undefined),
    });
  }
  const troubles: readonly Scorer[] = [
    { name: "preferNoSchedule", value: (cluster) => preferNoSchedule(wish, cluster) },
    { name: "degraded", value: ({ degraded }) => (degraded ? worth.degraded : undefined) },
  ];
  scorers.push(...troubles);
  if (wish.apis.length > 0) {
    scorers.push({ name: "apisUnknown", value: ({ apis }) => (apis === undefined ? worth.apisUnknown : undefined) });
  }
  // RoundRobin deals evenly, also between large clusters and small ones that fit.
  if (wish.resources.length > 0 && wish.strategy !== "RoundRobin") {
    scorers.push({ name: "headroom", value: (cluster) => headroom(wish, cluster) });
  }
  return { all: scorers, ofSound: scorers.filter((scorer) => !troubles.includes(scorer)) };
}

/** How much the user prefers a cluster, whatever its state: the weights of affinity, preferred clusters and hints. */
export function preferenceOf(wish: Wish, cluster: ClusterFacts): number {
  let sum = wish.preferredClusters.has(cluster.name) ? worth.preferredCluster : 0;
  for (const { weight, term } of wish.preferred) if (matches(cluster.labels, term)) sum += weight;
  if (wish.hintedClusters.size > 0 || wish.avoidedClusters.size > 0) sum += clusterHint(wish, cluster);
  if (wish.hintedLocations.size > 0) sum += locationHint(wish, cluster);
  return sum;
}

/** How well a fitting cluster fits: the sum of its parts. */
export function scoreOf({ all, ofSound }: Scorers, cluster: ClusterFacts): number {
  let score = 0;
  for (const { value } of isSound(cluster) ? ofSound : all) score += value(cluster) ?? 0;
  return score;
}

/** The parts of a cluster's score; those that say nothing about it are left out. */
export function partsOf({ all, ofSound }: Scorers, cluster: ClusterFacts): readonly ScorePart[] {
  const parts: ScorePart[] = [];
  for (const { name, value: valueFor } of isSound(cluster) ? ofSound : all) {
    const value = valueFor(cluster);
    if (value !== undefined) parts.push({ name, value });
  }
  return parts;
}

function clusterHint({ hintedClusters, avoidedClusters }: Wish, { name }: ClusterFacts): number {
  if (avoidedClusters.has(name)) return worth.clusterHint.avoid;
  if (hintedClusters.has(name)) return worth.clusterHint.match;
  return hintedClusters.size > 0 ? worth.clusterHint.other : worth.clusterHint.none;
}

function locationHint({ hintedLocations }: Wish, { labels }: ClusterFacts): number {
  const isThere = ["location", "region", "zone"].some((key) => hintedLocations.has(labels.get(key) ?? ""));
  return isThere ? worth.locationHint.match : worth.locationHint.other;
}

function preferNoSchedule({ tolerations }: Wish, { taints }: ClusterFacts): number | undefined {
  if (taints.length === 0) return undefined;
  const minded = taints.filter(
    (taint) => taint.effect === "PreferNoSchedule" && toleratedSeconds(tolerations, taint) === undefined,
  );
  return minded.length === 0 ? undefined : minded.length * worth.preferNoSchedule;
}

/** How often the work would fit, in steps; the scarcest resource counts, and an unknown size is worth the middle. */
function headroom({ resources }: Wish, { allocatable }: ClusterFacts): number {
  let least = 10;
  for (const { resource, units } of resources) {
    const has = allocatable[resource];
    const times = has === undefined || units <= 0 ? undefined : has.units / units;
    const points = times === undefined ? 5 : times >= 10 ? 10 : times >= 5 ? 8 : times >= 2 ? 6 : 4;
    least = Math.min(least, points);
  }
  return least;
}
