import { compareStrings } from "@tmc/kube/compare.ts";
import type { DecisionGroup, Verdict } from "./explain.ts";
import { type FailbackTarget, failbackDueMs } from "./failback.ts";
import type { Filter } from "./filters.ts";
import type { ClusterFacts } from "./observed.ts";
import type { ParsedSpec, SpreadConstraint } from "./parsed-spec.ts";
import { type DecisionReason, orderedReasons } from "./reasons.ts";
import type { RetentionVerdict } from "./retention.ts";
import { type Scorers, scoreParts } from "./scores.ts";
import type { ClusterSelection, ScoredCluster } from "./select-clusters.ts";

export type RetainedCluster = Readonly<{
  cluster: ClusterFacts;
  verdict: Extract<RetentionVerdict, { isRetained: true }>;
}>;
/** The retained clusters by name, sorted by name. */
export type Retained = ReadonlyMap<string, RetainedCluster>;
export type Rejected = Map<DecisionReason, { filter: Filter; members: ClusterFacts[] }>;
/** Failback targets that are due, and the spread constraint that prevents moving back to them. */
export type BlockedFailback = Readonly<{ constraint: SpreadConstraint; names: ReadonlySet<string> }>;

export type DecisionGroupsFacts = Readonly<{
  scorers: Scorers;
  clusters: readonly ClusterFacts[];
  retained: Retained;
  selection: ClusterSelection;
  pendingTargets: readonly FailbackTarget[];
  blockedFailback: BlockedFailback | undefined;
  rejected: Rejected;
  /** Upper bound of listed decisions; no group needs more sorted members. */
  maxListed: number;
}>;

/** Groups all clusters by the reason of their decision: the selected ones, then the others in the order of the reasons. */
export function decisionGroups(
  spec: ParsedSpec,
  facts: DecisionGroupsFacts,
): { selected: DecisionGroup; others: readonly DecisionGroup[] } {
  const { scorers, clusters, retained, selection, pendingTargets, blockedFailback, rejected, maxListed } = facts;
  const byStrategy = { rule: spec.strategy };
  const fits: VerdictFor = (cluster, reason) => ({ reason, detail: byStrategy, parts: scoreParts(scorers, cluster) });

  const targets = new Map(pendingTargets.map((target) => [target.cluster.name, target]));
  const [pending, notSelected] =
    targets.size === 0
      ? [[], selection.notSelected]
      : partition(selection.notSelected, ({ cluster }) => targets.has(cluster.name));
  const [blocked, returning] = partition(pending, ({ cluster }) => blockedFailback?.names.has(cluster.name) === true);
  const constraints = new Map(selection.skewRejected.map(({ cluster, constraint }) => [cluster, constraint]));
  for (const { cluster } of blocked) {
    if (blockedFailback !== undefined) constraints.set(cluster, blockedFailback.constraint);
  }
  const failback = { rule: "failback", expected: `${spec.failbackSeconds ?? 0} s` };

  const groups = new Map([
    group("FailingBack", {
      members: returning.map(({ cluster }) => cluster),
      verdictFor: (cluster, reason) => {
        const target = targets.get(cluster.name);
        const untilMs = target === undefined ? undefined : failbackDueMs(spec, target);
        return { reason, detail: failback, parts: scoreParts(scorers, cluster), untilMs };
      },
    }),
    group("NotSelected", {
      members: bestFirst(notSelected, maxListed),
      count: notSelected.length,
      verdictFor: fits,
    }),
    group("SkewTooLarge", {
      members: blocked.length === 0 ? [...constraints.keys()] : sortByName([...constraints.keys()]),
      verdictFor: (cluster, reason) => {
        const { topologyKey, maxSkew } = constraints.get(cluster) ?? { topologyKey: "", maxSkew: 0 };
        const detail = {
          rule: `spreadConstraints[${topologyKey}]`,
          expected: `a skew of at most ${maxSkew}`,
          actual: `${topologyKey}=${cluster.labels.get(topologyKey) ?? ""}`,
        };
        return { reason, detail, parts: scoreParts(scorers, cluster) };
      },
    }),
    ...[...rejected].map(([reason, { filter, members }]) =>
      group(reason, {
        // Dropped clusters were appended at the end.
        members: selection.dropped.length === 0 ? members : sortByName(members),
        verdictFor: (cluster) => ({ reason, detail: filter.detail(spec, cluster) }),
      }),
    ),
  ]);
  groups.set("NotFound", { reasonOf: "NotFound", members: unknownNames(spec, clusters), verdictFor: () => notFound });
  return {
    selected: selectedGroup(selection.selected, retained, fits),
    others: orderedReasons.flatMap((reason) => groups.get(reason) ?? []),
  };
}

/** Returns the clusters sorted by name; an array that is sorted already is returned as it is. */
export function sortByName(clusters: readonly ClusterFacts[]): readonly ClusterFacts[] {
  let last = "";
  for (const { name } of clusters) {
    if (name < last) return clusters.toSorted((a, b) => compareStrings(a.name, b.name));
    last = name;
  }
  return clusters;
}

type VerdictFor = (cluster: ClusterFacts, reason: DecisionReason) => Verdict;

const notFound: Verdict = { reason: "NotFound", detail: { rule: "clusterNames" } };

function group(
  reason: DecisionReason,
  {
    members,
    count,
    verdictFor,
  }: Pick<DecisionGroup, "count"> & Readonly<{ members: readonly ClusterFacts[]; verdictFor: VerdictFor }>,
): [DecisionReason, DecisionGroup] {
  return [
    reason,
    {
      reasonOf: reason,
      members,
      count,
      // All members are registered clusters; the type also allows names.
      verdictFor: (member) => (typeof member === "string" ? notFound : verdictFor(member, reason)),
    },
  ];
}

function selectedGroup(members: readonly ClusterFacts[], retained: Retained, fits: VerdictFor): DecisionGroup {
  return {
    reasonOf: (name) => retained.get(name)?.verdict.reason ?? "Selected",
    members,
    verdictFor: (member) => {
      if (typeof member === "string") return notFound;
      const verdict = retained.get(member.name)?.verdict;
      if (verdict === undefined || verdict.reason === "Selected") return fits(member, "Selected");
      return {
        reason: verdict.reason,
        detail: verdict.detail,
        untilMs: verdict.reason === "KeptTolerated" ? verdict.untilMs : undefined,
      };
    },
  };
}

function unknownNames({ clusterNames }: ParsedSpec, clusters: readonly ClusterFacts[]): readonly string[] {
  if (clusterNames === undefined) return [];
  const known = new Set(clusters.map(({ name }) => name));
  return [...clusterNames].filter((name) => !known.has(name)).toSorted(compareStrings);
}

/** The candidates by descending score, equal ones in their order. There are few distinct scores, so it groups by score. */
function bestFirst(candidates: readonly ScoredCluster[], limit: number): readonly ClusterFacts[] {
  const byScore = new Map<number, ClusterFacts[]>();
  let lastScore: number | undefined;
  let equals: ClusterFacts[] = [];
  for (const { cluster, score } of candidates) {
    if (score !== lastScore) {
      lastScore = score;
      equals = byScore.get(score) ?? [];
      byScore.set(score, equals);
    }
    if (equals.length < limit) equals.push(cluster);
  }
  const ordered = [...byScore].toSorted(([one], [other]) => other - one).flatMap(([, members]) => members);
  return ordered.length > limit ? ordered.slice(0, limit) : ordered;
}

function partition<T>(items: readonly T[], isFirst: (item: T) => boolean): readonly [readonly T[], readonly T[]] {
  return [items.filter(isFirst), items.filter((item) => !isFirst(item))];
}
