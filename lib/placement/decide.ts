import { byKey, compareStrings } from "@tmc/kube/compare.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import { done, earliest, type Next, requeueAfter } from "../model/next.ts";
import { type Candidate, type Choice, choose } from "./choose.ts";
import { leftAfter } from "./evictions.ts";
import { type Group, listBounds, listDecisions, type PlacementStatus, type Statement } from "./explain.ts";
import { brokenBy, formatHomes, type Home, homesAfter, homesDue, homesOf, returnMs } from "./failback.ts";
import { type Filter, rejection, rejectionsFor } from "./filters.ts";
import type { ClusterFacts, Observed } from "./observed.ts";
import { InvalidWish, type SpreadWish, tryReadWish, type Wish } from "./parsed-spec.ts";
import { type DecisionReason, reasonsByNearness } from "./reasons.ts";
import { type Borne, type HeldVerdict, judgeHeld } from "./retention.ts";
import { partsOf, type Scorers, scoreOf, scorersOf } from "./scores.ts";
import { type Outcome, readyCondition, statusOf, unreadableCondition } from "./status.ts";

export type Plan = Readonly<{
  /** The whole status, as it should be. */
  status: PlacementStatus;
  next: Next;
  /** Clusters were dealt out: the load has, or would have had, a say. */
  dealt: boolean;
}>;

/** How many decisions are listed; a person who asks for an explanation gets them all. */
export type Bounds = Readonly<{ entries: number; bytes: number }>;

/**
 * Decides on which clusters a placement runs, and says of every cluster why or why not.
 *
 * The same facts, in any order, give the same bytes. What was chosen and still fits is kept: moving work costs its users
 * more than an uneven choice does. Run again on its own answer it changes nothing.
 */
export function decide(observed: Observed, bounds: Bounds = listBounds): Plan {
  const { placement, nowMs } = observed;
  if (placement.metadata.deletionTimestamp !== undefined) {
    return { status: placement.status ?? {}, next: done, dealt: false };
  }
  const clusters = inNameOrder(observed.clusters);
  const wish = tryReadWish(placement);
  if (wish instanceof InvalidWish) return undecided(placement, clusters, wish, { nowMs, bounds });

  const scorers = scorersOf(wish);
  const stayed = heldOf(wish, placement, clusters, nowMs);
  const homes = homesOf(wish, placement, clusters, nowMs);
  const { held, choice, rejected, barred } = chooseHome(wish, { scorers, clusters, stayed, homes, observed });
  for (const cluster of choice.dropped) addRejected(rejected, rejection(wish, cluster), cluster);

  const awaited = homesAfter(wish, { placement, homes, choice, clusters, nowMs });
  const { chosen, others } = groupsOf(wish, {
    scorers,
    clusters,
    held,
    choice,
    awaited,
    barred,
    rejected,
    most: bounds.entries,
  });
  const { decisions, omitted } = listDecisions([chosen, ...others], bounds);
  const outcome: Outcome = {
    strategy: wish.strategy,
    selected: choice.selected.map(({ name }) => name),
    decisions,
    omitted,
    failback: formatHomes(awaited),
    left: leftAfter(wish, { placement, homes, selected: choice.selected, clusters, nowMs }),
    ready: readyCondition(wish, { clusters, choice, others }),
    nowMs,
  };
  return {
    status: statusOf(placement, outcome),
    next: nextOf(wish, { held, choice, awaited, nowMs }),
    dealt: choice.dealt,
  };
}

type Staying = Extract<HeldVerdict, { stays: true }>;
type Held = ReadonlyMap<string, Readonly<{ cluster: ClusterFacts; verdict: Staying }>>;
type Rejected = Map<DecisionReason, { filter: Filter; members: ClusterFacts[] }>;

/** Homes to which the placement does not return although it is time, and the constraint that forbids it. */
type Barred = Readonly<{ constraint: SpreadWish; names: ReadonlySet<string> }>;
type Made = Readonly<{ held: Held; choice: Choice; rejected: Rejected; barred?: Barred }>;

/** Chooses, and has the placement return where its time has come, unless that made the choice more uneven than is allowed. */
function chooseHome(
  wish: Wish,
  {
    scorers,
    clusters,
    stayed,
    homes,
    observed,
  }: Readonly<{
    scorers: Scorers;
    clusters: readonly ClusterFacts[];
    stayed: Held;
    homes: readonly Home[];
    observed: Observed;
  }>,
): Made {
  const { load, nowMs } = observed;
  const make = (held: Held): Made => {
    const { newcomers, rejected } = judge(wish, scorers, clusters, held);
    const candidates = [...held.values()].map(({ cluster, verdict }) => ({
      cluster,
      score: scoreOf(scorers, cluster),
      limited: verdict.reason !== "Selected",
    }));
    return { held, choice: choose(wish, { held: candidates, newcomers, load }), rejected };
  };
  const back = homesDue(wish, homes, { isHeld: (name) => stayed.has(name), held: stayed.size, nowMs });
  if (back.length === 0) return make(stayed);
  const made = make(heldWith(stayed, back));
  if (wish.spread.length === 0) return made;
  const plain = make(stayed);
  const constraint = brokenBy(wish, made.choice, plain.choice);
  if (constraint === undefined) return made;
  return { ...plain, barred: { constraint, names: new Set(back.map(({ cluster }) => cluster.name)) } };
}

/** What is held once homes have taken the places of those who stand in for them, in the order of names. */
function heldWith(held: Held, homes: readonly Home[]): Held {
  const standIns = new Set(homes.map(({ standIn }) => standIn));
  const verdict: Staying = { stays: true, reason: "Selected" };
  const back = homes.map(({ cluster }) => [cluster.name, { cluster, verdict }] as const);
  const stay = [...held].filter(([name]) => !standIns.has(name));
  return new Map([...stay, ...back].toSorted(byKey));
}

function partition<T>(all: readonly T[], isFirst: (one: T) => boolean): readonly [readonly T[], readonly T[]] {
  return [all.filter(isFirst), all.filter((one) => !isFirst(one))];
}

function inNameOrder(clusters: readonly ClusterFacts[]): readonly ClusterFacts[] {
  let last = "";
  for (const { name } of clusters) {
    if (name < last) return clusters.toSorted((a, b) => compareStrings(a.name, b.name));
    last = name;
  }
  return clusters;
}

/** Of the clusters that were chosen before, those that stay. */
function heldOf(wish: Wish, placement: WorkloadPlacement, clusters: readonly ClusterFacts[], nowMs: number): Held {
  const held = new Map<string, Readonly<{ cluster: ClusterFacts; verdict: Staying }>>();
  const current = new Set(placement.status?.selectedClusters);
  if (current.size === 0) return held;
  for (const cluster of clusters) {
    if (!current.has(cluster.name)) continue;
    const verdict = judgeHeld(wish, cluster, { nowMs, before: borneBefore(placement, cluster.name) });
    if (verdict.stays) held.set(cluster.name, { cluster, verdict });
  }
  return held;
}

/** What an earlier run said about the cluster, if the placement has not been changed since. */
function borneBefore({ metadata, status }: WorkloadPlacement, name: string): Borne | undefined {
  if (status?.observedGeneration !== metadata.generation) return undefined;
  const before = status?.decisions?.find(({ cluster }) => cluster === name);
  const untilMs = before?.until === undefined ? Number.NaN : Date.parse(before.until);
  return Number.isNaN(untilMs) ? undefined : { actual: before?.actual, untilMs };
}

function judge(
  wish: Wish,
  scorers: Scorers,
  clusters: readonly ClusterFacts[],
  held: Held,
): { newcomers: readonly Candidate[]; rejected: Rejected } {
  const newcomers: Candidate[] = [];
  const rejected: Rejected = new Map();
  const rejectionOf = rejectionsFor(wish);
  // They come in the order in which the clusters do.
  const staying = held.values();
  let skipped = staying.next().value?.cluster;
  for (const cluster of clusters) {
    if (cluster === skipped) {
      skipped = staying.next().value?.cluster;
      continue;
    }
    const filter = rejectionOf(cluster);
    if (filter === undefined) newcomers.push({ cluster, score: scoreOf(scorers, cluster) });
    else addRejected(rejected, filter, cluster);
  }
  return { newcomers, rejected };
}

function addRejected(rejected: Rejected, filter: Filter | undefined, cluster: ClusterFacts): void {
  if (filter === undefined) return;
  const group = rejected.get(filter.reason);
  if (group === undefined) rejected.set(filter.reason, { filter, members: [cluster] });
  else group.members.push(cluster);
}

function groupsOf(
  wish: Wish,
  {
    scorers,
    clusters,
    held,
    choice,
    awaited,
    barred,
    rejected,
    most,
  }: Readonly<{
    scorers: Scorers;
    clusters: readonly ClusterFacts[];
    held: Held;
    choice: Choice;
    awaited: readonly Home[];
    barred: Barred | undefined;
    rejected: Rejected;
    /** No more are ever listed. */
    most: number;
  }>,
): { chosen: Group; others: readonly Group[] } {
  const group = (
    reason: DecisionReason,
    { members, count, say }: Pick<Group, "count"> & Readonly<{ members: readonly ClusterFacts[]; say: Say }>,
  ): [DecisionReason, Group] => [
    reason,
    // None of these groups has members that are not registered.
    {
      reasonOf: reason,
      members,
      count,
      say: (member) => (typeof member === "string" ? notFound : say(member, reason)),
    },
  ];
  const byStrategy = { rule: wish.strategy };
  const fits: Say = (cluster, reason) => ({ reason, detail: byStrategy, parts: partsOf(scorers, cluster) });

  const homes = new Map(awaited.map((home) => [home.cluster.name, home]));
  const [waiting, notChosen] =
    homes.size === 0 ? [[], choice.notChosen] : partition(choice.notChosen, ({ cluster }) => homes.has(cluster.name));
  const [kept, returning] = partition(waiting, ({ cluster }) => barred?.names.has(cluster.name) === true);
  const constraints = new Map(choice.refused.map(({ cluster, constraint }) => [cluster, constraint]));
  for (const { cluster } of kept) if (barred !== undefined) constraints.set(cluster, barred.constraint);
  const failback = { rule: "failback", expected: `${wish.failbackSeconds ?? 0} s` };

  const groups = new Map([
    group("FailingBack", {
      members: returning.map(({ cluster }) => cluster),
      say: (cluster, reason) => {
        const home = homes.get(cluster.name);
        const untilMs = home === undefined ? undefined : returnMs(wish, home);
        return { reason, detail: failback, parts: partsOf(scorers, cluster), untilMs };
      },
    }),
    group("NotSelected", { members: bestFirst(notChosen, most), count: notChosen.length, say: fits }),
    group("SkewTooLarge", {
      members: kept.length === 0 ? [...constraints.keys()] : inNameOrder([...constraints.keys()]),
      say: (cluster, reason) => {
        const { key, maxSkew } = constraints.get(cluster) ?? { key: "", maxSkew: 0 };
        const detail = {
          rule: `spreadConstraints[${key}]`,
          expected: `a skew of at most ${maxSkew}`,
          actual: `${key}=${cluster.labels.get(key) ?? ""}`,
        };
        return { reason, detail, parts: partsOf(scorers, cluster) };
      },
    }),
    ...[...rejected].map(([reason, { filter, members }]) =>
      group(reason, {
        // Those that were dropped came last.
        members: choice.dropped.length === 0 ? members : inNameOrder(members),
        say: (cluster) => ({ reason, detail: filter.detail(wish, cluster) }),
      }),
    ),
  ]);
  groups.set("NotFound", { reasonOf: "NotFound", members: unknownNames(wish, clusters), say: () => notFound });
  return {
    chosen: chosenGroup(choice.selected, held, fits),
    others: reasonsByNearness.flatMap((reason) => groups.get(reason) ?? []),
  };
}

type Say = (cluster: ClusterFacts, reason: DecisionReason) => Statement;

const notFound: Statement = { reason: "NotFound", detail: { rule: "clusterNames" } };

function chosenGroup(members: readonly ClusterFacts[], held: Held, fits: Say): Group {
  const reasonOf = (name: string): DecisionReason => held.get(name)?.verdict.reason ?? "Selected";
  return {
    reasonOf,
    members,
    say: (member) => {
      if (typeof member === "string") return notFound;
      const verdict = held.get(member.name)?.verdict;
      if (verdict === undefined || verdict.reason === "Selected") return fits(member, "Selected");
      return {
        reason: verdict.reason,
        detail: verdict.detail,
        untilMs: verdict.reason === "KeptTolerated" ? verdict.untilMs : undefined,
      };
    },
  };
}

function unknownNames({ names }: Wish, clusters: readonly ClusterFacts[]): readonly string[] {
  if (names === undefined) return [];
  const known = new Set(clusters.map(({ name }) => name));
  return [...names].filter((name) => !known.has(name)).toSorted(compareStrings);
}

/** The best of them, by score, and between equals as they come. There are few different scores, so nothing is sorted. */
function bestFirst(candidates: readonly Candidate[], most: number): readonly ClusterFacts[] {
  const byScore = new Map<number, ClusterFacts[]>();
  let last: number | undefined;
  let equals: ClusterFacts[] = [];
  for (const { cluster, score } of candidates) {
    if (score !== last) {
      last = score;
      equals = byScore.get(score) ?? [];
      byScore.set(score, equals);
    }
    if (equals.length < most) equals.push(cluster);
  }
  const ordered = [...byScore].toSorted(([one], [other]) => other - one).flatMap(([, members]) => members);
  return ordered.length > most ? ordered.slice(0, most) : ordered;
}

/** A day: timers have an end to what they can count, and to look too early does no harm. */
const longestWaitSeconds = 86_400;

function nextOf(
  wish: Wish,
  { held, choice, awaited, nowMs }: Readonly<{ held: Held; choice: Choice; awaited: readonly Home[]; nowMs: number }>,
): Next {
  if (held.size === 0 && awaited.length === 0) return done;
  const ends = [
    ...choice.selected.map(({ name }) => {
      const verdict = held.get(name)?.verdict;
      return verdict?.reason === "KeptTolerated" ? verdict.untilMs : undefined;
    }),
    // One that may not return although its time has come waits for another change.
    ...awaited.map((home) => returnMs(wish, home)).filter((untilMs) => untilMs !== undefined && untilMs > nowMs),
  ];
  return ends.reduce<Next>((next, untilMs) => {
    if (untilMs === undefined) return next;
    const seconds = Math.ceil((untilMs - nowMs) / 1000);
    return earliest(next, requeueAfter(Math.min(Math.max(1, seconds), longestWaitSeconds)));
  }, done);
}

/** A placement that cannot be read keeps what it has: a slip of the pen must not move work. */
function undecided(
  placement: WorkloadPlacement,
  clusters: readonly ClusterFacts[],
  problem: InvalidWish,
  { nowMs, bounds }: Readonly<{ nowMs: number; bounds: Bounds }>,
): Plan {
  const selected = placement.status?.selectedClusters ?? [];
  const current = new Set(selected);
  const group = (reason: DecisionReason, isHeld: boolean): Group => ({
    reasonOf: reason,
    members: clusters.filter(({ name }) => current.has(name) === isHeld),
    say: () => ({ reason, detail: {} }),
  });
  const { decisions, omitted } = listDecisions(
    [group("KeptInvalidPlacement", true), group("InvalidPlacement", false)],
    bounds,
  );
  const ready = unreadableCondition(problem);
  const strategy = placement.spec.strategy ?? "";
  const { failback, evictedClusters: left } = placement.status ?? {};
  return {
    status: statusOf(placement, { strategy, selected, decisions, omitted, failback, left, ready, nowMs }),
    next: done,
    dealt: false,
  };
}
