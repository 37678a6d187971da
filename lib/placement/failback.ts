import { compareStrings } from "@tmc/kube/compare.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import type { Choice } from "./choose.ts";
import { formatEnd, type PlacementStatus } from "./explain.ts";
import { rejection } from "./filters.ts";
import type { ClusterFacts } from "./observed.ts";
import type { SpreadWish, Wish } from "./parsed-spec.ts";
import { passingReasons } from "./reasons.ts";
import { leavingReasons } from "./retention.ts";
import { preferenceOf } from "./scores.ts";

/** A cluster that a placement returns to: it was there before and left because of the cluster's state, or likes it better. */
export type Home = Readonly<{
  cluster: ClusterFacts;
  reason: string;
  since: string;
  /** The cluster that is used in its place. */
  standIn: string | undefined;
  /** Since when it has been Ready and fitting; undefined while it is not. */
  fittingMs: number | undefined;
}>;

/** The reason of a home that was never left. */
const preferred = "Preferred";

/**
 * What the status of a placement says of its homes, held against the clusters as they are now; none where the placement
 * does not ask for failback. One that is gone, or that the placement no longer wants, is no home any more.
 *
 * The time for which a home has fitted begins anew when it has not, however short that was: what the status remembers is
 * held against the time since which the cluster itself says that it is Ready.
 */
export function homesOf(
  wish: Wish,
  { status }: WorkloadPlacement,
  clusters: readonly ClusterFacts[],
  nowMs: number,
): readonly Home[] {
  if (wish.failbackSeconds === undefined || wish.wanted === undefined) return [];
  return (status?.failback ?? [])
    .flatMap(({ cluster: name, reason, since, standIn, fittingSince }): Home[] => {
      const cluster = clusters.find((each) => each.name === name);
      const failed = cluster === undefined ? undefined : rejection(wish, cluster);
      if (cluster === undefined || (failed !== undefined && leavingReasons.has(failed.reason))) return [];
      const seenMs = Date.parse(fittingSince ?? "");
      const fittingMs = failed === undefined ? fittingFrom(cluster, Number.isNaN(seenMs) ? nowMs : seenMs) : undefined;
      return [{ cluster, reason, since, standIn, fittingMs }];
    })
    .toSorted((one, other) => compareStrings(one.cluster.name, other.cluster.name));
}

/** Until when a home is waited for; undefined while it does not fit. */
export function returnMs({ failbackSeconds }: Wish, { fittingMs }: Home): number | undefined {
  return fittingMs === undefined || failbackSeconds === undefined ? undefined : fittingMs + failbackSeconds * 1000;
}

/** The homes to which the placement returns now: those whose time has come, and those that fit while their place is empty. */
export function homesDue(
  wish: Wish,
  homes: readonly Home[],
  { isHeld, held, nowMs }: Readonly<{ isHeld: (name: string) => boolean; held: number; nowMs: number }>,
): readonly Home[] {
  let free = (wish.wanted ?? 0) - held;
  return homes.filter((home) => {
    const { cluster, standIn } = home;
    const dueMs = returnMs(wish, home);
    if (dueMs === undefined || isHeld(cluster.name)) return false;
    if (standIn !== undefined && isHeld(standIn)) return dueMs <= nowMs;
    free -= 1;
    return free >= 0;
  });
}

/** A strict constraint that a choice breaks by more than another does; undefined when there is none. */
export function brokenBy({ spread }: Wish, choice: Choice, other: Choice): SpreadWish | undefined {
  return spread.find(({ key, strict }) => {
    const skewIn = ({ excess }: Choice): number => excess.find((each) => each.key === key)?.skew ?? 0;
    return strict && skewIn(choice) > skewIn(other);
  });
}

export type ChosenFacts = Readonly<{
  placement: WorkloadPlacement;
  homes: readonly Home[];
  choice: Choice;
  clusters: readonly ClusterFacts[];
  nowMs: number;
}>;

/** The homes of a placement after a choice. */
export function homesAfter(wish: Wish, facts: ChosenFacts): readonly Home[] {
  const { placement, homes, choice, clusters, nowMs } = facts;
  if (wish.failbackSeconds === undefined || wish.wanted === undefined) return [];
  const selected = new Map(choice.selected.map((cluster) => [cluster.name, cluster]));
  const before = new Set(placement.status?.selectedClusters);
  const left = homes.filter(({ cluster }) => !selected.has(cluster.name));
  const known = [...left, ...leftBehind(wish, { before, selected, homes, clusters, nowMs })].toSorted((one, other) =>
    compareStrings(one.cluster.name, other.cluster.name),
  );
  const taken = new Set(
    known.flatMap(({ standIn }) => (standIn !== undefined && selected.has(standIn) ? standIn : [])),
  );
  const returned = new Set(homes.map(({ cluster }) => cluster.name));
  const joined = [...selected.keys()].filter((name) => !before.has(name) && !taken.has(name) && !returned.has(name));
  const isFull = selected.size >= wish.wanted;
  const settled = known
    .map((home) =>
      home.standIn !== undefined && selected.has(home.standIn) ? home : { ...home, standIn: joined.shift() },
    )
    .filter(({ cluster, reason, standIn }) => {
      const other = standIn === undefined ? undefined : selected.get(standIn);
      // Nobody holds its place: it was given up, not taken.
      if (other === undefined) return !isFull && reason !== preferred;
      const gain = preferenceOf(wish, cluster) - preferenceOf(wish, other);
      return reason === preferred ? gain > 0 : gain >= 0;
    });
  const liked = isFull && settled.every(({ reason }) => reason !== preferred) && hasPreferences(wish);
  const better = liked ? likedBetter(wish, { choice, homes: settled, nowMs }) : undefined;
  return better === undefined
    ? settled
    : [...settled, better].toSorted((one, other) => compareStrings(one.cluster.name, other.cluster.name));
}

/** Homes as a status has them. */
export function formatHomes(homes: readonly Home[]): PlacementStatus["failback"] | undefined {
  if (homes.length === 0) return undefined;
  return homes.map(({ cluster, reason, since, standIn, fittingMs }) => ({
    cluster: cluster.name,
    reason,
    since,
    ...(standIn === undefined ? {} : { standIn }),
    ...(fittingMs === undefined ? {} : { fittingSince: formatEnd(fittingMs) }),
  }));
}

/** Whole seconds, as a status has room for no others: no sooner than it was. */
function fittingFrom({ readySinceMs }: ClusterFacts, seenMs: number): number {
  return Math.ceil(Math.max(seenMs, readySinceMs ?? seenMs) / 1000) * 1000;
}

type LeftFacts = Readonly<{
  before: ReadonlySet<string>;
  selected: ReadonlyMap<string, ClusterFacts>;
  homes: readonly Home[];
  clusters: readonly ClusterFacts[];
  nowMs: number;
}>;

/** Clusters that the choice has just left because of their state. A stand-in that is left was nobody's home. */
function leftBehind(wish: Wish, { before, selected, homes, clusters, nowMs }: LeftFacts): readonly Home[] {
  const gone = [...before].filter((name) => !selected.has(name));
  if (gone.length === 0) return [];
  const others = new Set(
    homes.flatMap(({ cluster, standIn }) => (standIn === undefined ? [cluster.name] : [cluster.name, standIn])),
  );
  return clusters.flatMap((cluster): Home[] => {
    if (!gone.includes(cluster.name) || others.has(cluster.name)) return [];
    const reason = rejection(wish, cluster)?.reason;
    if (reason === undefined || !passingReasons.has(reason)) return [];
    return [{ cluster, reason, since: formatEnd(nowMs), standIn: undefined, fittingMs: undefined }];
  });
}

function hasPreferences({
  preferred: terms,
  preferredClusters,
  hintedClusters,
  avoidedClusters,
  hintedLocations,
}: Wish) {
  return (
    terms.length > 0 ||
    preferredClusters.size > 0 ||
    hintedClusters.size > 0 ||
    avoidedClusters.size > 0 ||
    hintedLocations.size > 0
  );
}

/** The cluster that is liked best of those not chosen, where it is liked better than the least liked of the chosen. */
function likedBetter(
  wish: Wish,
  { choice, homes, nowMs }: Readonly<{ choice: Choice; homes: readonly Home[]; nowMs: number }>,
): Home | undefined {
  const busy = new Set(
    homes.flatMap(({ cluster, standIn }) => (standIn === undefined ? [cluster.name] : [cluster.name, standIn])),
  );
  const least = extreme(
    choice.selected.filter(({ name }) => !busy.has(name)),
    (one) => -preferenceOf(wish, one),
  );
  const fitting = choice.notChosen.map(({ cluster }) => cluster).filter(({ name }) => !busy.has(name));
  const best = extreme(fitting, (one) => preferenceOf(wish, one));
  if (least === undefined || best === undefined) return undefined;
  if (preferenceOf(wish, best) <= preferenceOf(wish, least)) return undefined;
  const since = formatEnd(nowMs);
  return { cluster: best, reason: preferred, since, standIn: least.name, fittingMs: fittingFrom(best, nowMs) };
}

/** The one with the highest value; of equals the first. */
function extreme<T>(all: readonly T[], value: (one: T) => number): T | undefined {
  let lead: Readonly<{ one: T; value: number }> | undefined;
  for (const one of all) {
    const own = value(one);
    if (lead === undefined || own > lead.value) lead = { one, value: own };
  }
  return lead?.one;
}
