import { hasCapability } from "./filters.ts";
import { type ClusterFacts, isUnrestricted } from "./observed.ts";
import { matchesTerm, type ParsedSpec } from "./parsed-spec.ts";
import { toleratedSeconds } from "./taints.ts";

export type ScorePart = Readonly<{ name: string; value: number }>;

/** One part of a score; `value` returns undefined if the part does not apply to the cluster. */
export type Scorer = Readonly<{ name: string; value: (cluster: ClusterFacts) => number | undefined }>;

/**
 * Weights of the parts for which the user gives none. User weights range from 1 to 100: a preferred cluster counts like a
 * medium user weight; resources and health count less, so they decide only between clusters with equal preference.
 */
export const scoreWeights = {
  preferredCluster: 50,
  preferNoSchedule: -50,
  optionalCapability: 10,
  degraded: -25,
  apisUnknown: -10,
  clusterHint: { match: 100, other: 25, avoid: 0, none: 50 },
  locationHint: { match: 100, other: 30 },
} as const;

/** The scorers of a spec: all of them, and the subset that can apply to an unrestricted cluster. */
export type Scorers = Readonly<{ all: readonly Scorer[]; forUnrestricted: readonly Scorer[] }>;

/**
 * Returns the scorers of a spec, in the order in which their parts are shown. They use slowly changing facts only (free
 * resources count in steps), so that small changes do not rewrite the score and with it the status.
 */
export function createScorers(spec: ParsedSpec): Scorers {
  const scorers: Scorer[] = spec.preferred.map(({ name, weight, term }) => ({
    name,
    value: ({ labels }) => (matchesTerm(labels, term) ? weight : undefined),
  }));
  if (spec.preferredClusters.size > 0) {
    scorers.push({
      name: "preferredClusters",
      value: ({ name }) => (spec.preferredClusters.has(name) ? scoreWeights.preferredCluster : undefined),
    });
  }
  if (spec.hintedClusters.size > 0 || spec.avoidedClusters.size > 0) {
    scorers.push({ name: "clusterHint", value: (cluster) => clusterHintScore(spec, cluster) });
  }
  if (spec.hintedLocations.size > 0) {
    scorers.push({ name: "locationHint", value: (cluster) => locationHintScore(spec, cluster) });
  }
  for (const capability of spec.optionalCapabilities) {
    scorers.push({
      name: `capability ${capability.type}`,
      value: (cluster) => (hasCapability(capability, cluster) ? scoreWeights.optionalCapability : undefined),
    });
  }
  const stateScorers: readonly Scorer[] = [
    { name: "preferNoSchedule", value: (cluster) => preferNoSchedulePenalty(spec, cluster) },
    { name: "degraded", value: ({ degraded }) => (degraded ? scoreWeights.degraded : undefined) },
  ];
  scorers.push(...stateScorers);
  if (spec.workloadApis.length > 0) {
    scorers.push({
      name: "apisUnknown",
      value: ({ apis }) => (apis === undefined ? scoreWeights.apisUnknown : undefined),
    });
  }
  // RoundRobin distributes evenly, also between large and small clusters that fit.
  // With `scoring`, what is reserved decides between clusters of different size.
  if (spec.resources.length > 0 && spec.strategy !== "RoundRobin" && spec.scoring === undefined) {
    scorers.push({ name: "headroom", value: (cluster) => headroomScore(spec, cluster) });
  }
  return { all: scorers, forUnrestricted: scorers.filter((scorer) => !stateScorers.includes(scorer)) };
}

/** The user's preference for a cluster, independent of its state: the weights of affinity, preferred clusters and hints. */
export function preferenceOf(spec: ParsedSpec, cluster: ClusterFacts): number {
  let sum = spec.preferredClusters.has(cluster.name) ? scoreWeights.preferredCluster : 0;
  for (const { weight, term } of spec.preferred) if (matchesTerm(cluster.labels, term)) sum += weight;
  if (spec.hintedClusters.size > 0 || spec.avoidedClusters.size > 0) sum += clusterHintScore(spec, cluster);
  if (spec.hintedLocations.size > 0) sum += locationHintScore(spec, cluster);
  return sum;
}

/** The score of a cluster that fits: the sum of its parts. */
export function totalScore({ all, forUnrestricted }: Scorers, cluster: ClusterFacts): number {
  let score = 0;
  for (const { value } of isUnrestricted(cluster) ? forUnrestricted : all) score += value(cluster) ?? 0;
  return score;
}

/** The parts of a cluster's score that apply to it. */
export function scoreParts({ all, forUnrestricted }: Scorers, cluster: ClusterFacts): readonly ScorePart[] {
  const parts: ScorePart[] = [];
  for (const { name, value: valueFor } of isUnrestricted(cluster) ? forUnrestricted : all) {
    const value = valueFor(cluster);
    if (value !== undefined) parts.push({ name, value });
  }
  return parts;
}

function clusterHintScore({ hintedClusters, avoidedClusters }: ParsedSpec, { name }: ClusterFacts): number {
  if (avoidedClusters.has(name)) return scoreWeights.clusterHint.avoid;
  if (hintedClusters.has(name)) return scoreWeights.clusterHint.match;
  return hintedClusters.size > 0 ? scoreWeights.clusterHint.other : scoreWeights.clusterHint.none;
}

function locationHintScore({ hintedLocations }: ParsedSpec, { labels }: ClusterFacts): number {
  const isThere = ["location", "region", "zone"].some((key) => hintedLocations.has(labels.get(key) ?? ""));
  return isThere ? scoreWeights.locationHint.match : scoreWeights.locationHint.other;
}

function preferNoSchedulePenalty({ tolerations }: ParsedSpec, { taints }: ClusterFacts): number | undefined {
  if (taints.length === 0) return undefined;
  const untolerated = taints.filter(
    (taint) => taint.effect === "PreferNoSchedule" && toleratedSeconds(tolerations, taint) === undefined,
  );
  return untolerated.length === 0 ? undefined : untolerated.length * scoreWeights.preferNoSchedule;
}

/** How many times the requested resources fit, in steps. The scarcest resource counts; unknown resources score 5. */
function headroomScore({ resources }: ParsedSpec, { allocatable }: ClusterFacts): number {
  let least = 10;
  for (const { resource, units } of resources) {
    const has = allocatable[resource];
    const times = has === undefined || units <= 0 ? undefined : has.units / units;
    const points = times === undefined ? 5 : times >= 10 ? 10 : times >= 5 ? 8 : times >= 2 ? 6 : 4;
    least = Math.min(least, points);
  }
  return least;
}
