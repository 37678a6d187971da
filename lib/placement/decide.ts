import type { WorkloadPlacement } from "../api/workload-placement.ts";
import { checkAgain, type Next, settled, soonest } from "../model/next.ts";
import { type Candidate, type Choice, choose } from "./choose.ts";
import { type Group, listBounds, listDecisions, type PlacementStatus, type Statement } from "./explain.ts";
import { byText, type ClusterFacts, type Observed } from "./facts.ts";
import { type Filter, filtersFor, rejection } from "./filters.ts";
import { type Borne, type HeldVerdict, judgeHeld } from "./held.ts";
import { type DecisionReason, reasonsByNearness } from "./reasons.ts";
import { partsOf, type Scorer, scoreOf, scorersOf } from "./scores.ts";
import { type Outcome, readyCondition, statusOf, unreadableCondition } from "./status.ts";
import { InvalidWish, tryReadWish, type Wish } from "./wish.ts";

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
    return { status: placement.status ?? {}, next: settled, dealt: false };
  }
  const clusters = inNameOrder(observed.clusters);
  const wish = tryReadWish(placement);
  if (wish instanceof InvalidWish) return undecided(placement, clusters, wish, { nowMs, bounds });

  const scorers = scorersOf(wish);
  const held = heldOf(wish, placement, clusters, nowMs);
  const { newcomers, rejected } = judge(wish, scorers, clusters, held);
  const choice = choose(wish, {
    held: [...held.values()].map(({ cluster, verdict }) => ({
      cluster,
      score: scoreOf(scorers, cluster),
      limited: verdict.reason !== "Chosen",
    })),
    newcomers,
    load: observed.load,
  });
  for (const cluster of choice.dropped) addRejected(rejected, rejection(wish, cluster), cluster);

  const { chosen, others } = groupsOf(wish, { scorers, clusters, held, choice, rejected });
  const { decisions, omitted } = listDecisions([chosen, ...others], bounds);
  const outcome: Outcome = {
    strategy: wish.strategy,
    selected: choice.selected.map(({ name }) => name),
    decisions,
    omitted,
    ready: readyCondition(wish, { clusters, choice, others }),
    nowMs,
  };
  return { status: statusOf(placement, outcome), next: nextOf(held, choice, nowMs), dealt: choice.dealt };
}

type Staying = Extract<HeldVerdict, { stays: true }>;
type Held = ReadonlyMap<string, Readonly<{ cluster: ClusterFacts; verdict: Staying }>>;
type Rejected = Map<DecisionReason, { filter: Filter; members: ClusterFacts[] }>;

function inNameOrder(clusters: readonly ClusterFacts[]): readonly ClusterFacts[] {
  let last = "";
  for (const { name } of clusters) {
    if (name < last) return clusters.toSorted((a, b) => byText(a.name, b.name));
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
  scorers: readonly Scorer[],
  clusters: readonly ClusterFacts[],
  held: Held,
): { newcomers: readonly Candidate[]; rejected: Rejected } {
  const newcomers: Candidate[] = [];
  const rejected: Rejected = new Map();
  const inQuestion = filtersFor(wish);
  for (const cluster of clusters) {
    if (held.size > 0 && held.has(cluster.name)) continue;
    const filter = rejection(wish, cluster, inQuestion);
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
    rejected,
  }: Readonly<{
    scorers: readonly Scorer[];
    clusters: readonly ClusterFacts[];
    held: Held;
    choice: Choice;
    rejected: Rejected;
  }>,
): { chosen: Group; others: readonly Group[] } {
  const group = (
    reason: DecisionReason,
    members: readonly (ClusterFacts | string)[],
    say: (cluster: ClusterFacts) => Omit<Statement, "reason">,
  ): [DecisionReason, Group] => [
    reason,
    {
      reasonOf: reason,
      members,
      say: (member) => ({
        reason,
        ...(typeof member === "string" ? { detail: { rule: "clusterNames" } } : say(member)),
      }),
    },
  ];
  const fits = (cluster: ClusterFacts) => ({ detail: { rule: wish.strategy }, parts: partsOf(scorers, cluster) });
  const constraints = new Map(choice.refused.map(({ cluster, constraint }) => [cluster.name, constraint]));

  const groups = new Map([
    group("NotChosen", bestFirst(choice.notChosen), fits),
    group(
      "SkewTooLarge",
      choice.refused.map(({ cluster }) => cluster),
      (cluster) => {
        const { key, maxSkew } = constraints.get(cluster.name) ?? { key: "", maxSkew: 0 };
        return {
          ...fits(cluster),
          detail: {
            rule: `spreadConstraints[${key}]`,
            expected: `a skew of at most ${maxSkew}`,
            actual: `${key}=${cluster.labels.get(key) ?? ""}`,
          },
        };
      },
    ),
    group("NotFound", unknownNames(wish, clusters), () => ({ detail: {} })),
    ...[...rejected].map(([reason, { filter, members }]) =>
      // Those that were dropped came last.
      group(reason, choice.dropped.length === 0 ? members : inNameOrder(members), (cluster) => ({
        detail: filter.detail(wish, cluster),
      })),
    ),
  ]);
  return {
    chosen: chosenGroup(choice.selected, held, fits),
    others: reasonsByNearness.flatMap((reason) => groups.get(reason) ?? []),
  };
}

function chosenGroup(
  members: readonly ClusterFacts[],
  held: Held,
  fits: (cluster: ClusterFacts) => Omit<Statement, "reason">,
): Group {
  const reasonOf = (name: string): DecisionReason => held.get(name)?.verdict.reason ?? "Chosen";
  return {
    reasonOf,
    members,
    say: (member) => {
      if (typeof member === "string") return { reason: "NotFound", detail: {} };
      const verdict = held.get(member.name)?.verdict;
      if (verdict === undefined || verdict.reason === "Chosen") return { reason: "Chosen", ...fits(member) };
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
  return [...names].filter((name) => !known.has(name)).toSorted(byText);
}

/** By score, and between equals as they come. There are few different scores, so this needs no sorting of all of them. */
function bestFirst(candidates: readonly Candidate[]): readonly ClusterFacts[] {
  const byScore = new Map<number, ClusterFacts[]>();
  let last: Readonly<{ score: number; equals: ClusterFacts[] }> | undefined;
  for (const { cluster, score } of candidates) {
    if (last?.score !== score) {
      const equals = byScore.get(score) ?? [];
      byScore.set(score, equals);
      last = { score, equals };
    }
    last.equals.push(cluster);
  }
  return [...byScore].toSorted(([one], [other]) => other - one).flatMap(([, equals]) => equals);
}

/** A day: timers have an end to what they can count, and to look too early does no harm. */
const longestWaitSeconds = 86_400;

function nextOf(held: Held, { selected }: Choice, nowMs: number): Next {
  if (held.size === 0) return settled;
  return selected.reduce((next, { name }) => {
    const verdict = held.get(name)?.verdict;
    if (verdict?.reason !== "KeptTolerated" || verdict.untilMs === undefined) return next;
    const seconds = Math.ceil((verdict.untilMs - nowMs) / 1000);
    return soonest(next, checkAgain(Math.min(Math.max(1, seconds), longestWaitSeconds)));
  }, settled);
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
  const { decisions, omitted } = listDecisions([group("KeptUnjudged", true), group("NotJudged", false)], bounds);
  const ready = unreadableCondition(problem);
  const strategy = placement.spec.strategy ?? "";
  return {
    status: statusOf(placement, { strategy, selected, decisions, omitted, ready, nowMs }),
    next: settled,
    dealt: false,
  };
}
