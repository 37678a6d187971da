import { compareStrings } from "@tmc/kube/compare.ts";
import type { ClusterFacts } from "./observed.ts";
import { maxSelectedClusters, type ParsedSpec, type SpreadConstraint } from "./parsed-spec.ts";
import { SpreadCount, type TopologyDomains } from "./spread-count.ts";

export type ScoredCluster = Readonly<{ cluster: ClusterFacts; score: number }>;

/** The clusters to select from; all lists are sorted by name. */
export type SelectionInput = Readonly<{
  /** Selected before and retained. `isRestricted`: new workloads would not be placed there. */
  retained: readonly (ScoredCluster & Readonly<{ isRestricted: boolean }>)[];
  /** Clusters that fit and were not selected before. */
  newCandidates: readonly ScoredCluster[];
  load: ReadonlyMap<string, number> | undefined;
  /** Rank of a cluster among those with the same score, the lowest first; before the load. @default all are equal */
  rankOf?: ((cluster: ClusterFacts) => number) | undefined;
}>;

/** The result. Every input cluster is in exactly one of the lists; all lists are sorted by name. */
export type ClusterSelection = Readonly<{
  selected: readonly ClusterFacts[];
  notSelected: readonly ScoredCluster[];
  /** Restricted clusters that were retained, but exceed the number of clusters; `decide.ts` adds those that are full. */
  dropped: readonly ClusterFacts[];
  /** New candidates that would violate a strict spread constraint. */
  skewRejected: readonly Readonly<{ cluster: ClusterFacts; constraint: SpreadConstraint }>[];
  exceededSkews: readonly Readonly<{ key: string; skew: number; maxSkew: number }>[];
  /** Whether the load has influenced the selection, or would have if it had been given. */
  dependsOnLoad: boolean;
}>;

/**
 * Selects among the clusters that fit. Retained clusters stay: a better cluster alone moves nothing. If there are more
 * retained clusters than requested, the worst are dropped; if there are fewer, the best new candidates are added.
 */
export function selectClusters(
  spec: ParsedSpec,
  { retained, newCandidates, load, rankOf }: SelectionInput,
): ClusterSelection {
  const count = spec.numberOfClusters ?? maxSelectedClusters;
  const spread = new SpreadCount(spec.spreadConstraints);
  const ranks =
    rankOf && new Map([...retained, ...newCandidates].map(({ cluster }) => [cluster, rankOf(cluster)] as const));
  const ranking: Ranking = {
    strategy: spec.strategy,
    ranks,
    load: spec.strategy === "RoundRobin" ? load : undefined,
    spread,
  };
  return retained.length > count
    ? dropWorst(ranking, { retained, newCandidates, count })
    : addBest(ranking, { retained, newCandidates, count });
}

type SelectionTask = Omit<SelectionInput, "load" | "rankOf"> & Readonly<{ count: number }>;

function dropWorst(ranking: Ranking, { retained, newCandidates, count }: SelectionTask): ClusterSelection {
  const { spread } = ranking;
  const unrestricted = retained.filter(({ isRestricted }) => !isRestricted);
  const restricted = retained.filter(({ isRestricted }) => isRestricted);
  const pools = {
    unrestricted: createPool(ranking, unrestricted),
    restricted: createPool(ranking, restricted),
    newCandidates: createPool(ranking, newCandidates),
  };
  const kept = pickBest(ranking, pools.unrestricted, count, { isStrict: false });
  const alsoKept = pickBest(ranking, pools.restricted, count - kept.length, { isStrict: false });
  const selected = clustersOf([...kept, ...alsoKept]);
  const names = new Set(selected.map(({ name }) => name));
  const isUnselected = ({ cluster }: ScoredCluster) => !names.has(cluster.name);
  return {
    selected,
    notSelected: sortByName([...unrestricted.filter(isUnselected), ...newCandidates]),
    dropped: restricted.filter(isUnselected).map(({ cluster }) => cluster),
    skewRejected: [],
    exceededSkews: spread.exceededConstraints(),
    dependsOnLoad: false,
  };
}

function addBest(ranking: Ranking, { retained, newCandidates, count }: SelectionTask): ClusterSelection {
  const { spread } = ranking;
  const pool = createPool(ranking, newCandidates);
  if (spread.isNeeded) for (const { cluster } of retained) spread.add(spread.domainsOf(cluster));
  const picked = pickBest(ranking, pool, count - retained.length, { isStrict: true });
  const [added, others] = partition(newCandidates, picked);
  const selected = retained.length === 0 ? added.map(({ cluster }) => cluster) : clustersOf([...retained, ...added]);

  const skewRejected: { cluster: ClusterFacts; constraint: SpreadConstraint }[] = [];
  let notSelected = others;
  if (spread.isNeeded && selected.length < count) {
    notSelected = others.filter(({ cluster }) => {
      const constraint = spread.violatedConstraint(spread.domainsOf(cluster));
      if (constraint !== undefined) skewRejected.push({ cluster, constraint });
      return constraint === undefined;
    });
  }
  const usesLoad = ranking.strategy === "RoundRobin" || ranking.ranks !== undefined;
  const dependsOnLoad = usesLoad && retained.length < count && others.length > 0;
  return {
    selected,
    notSelected,
    dropped: [],
    skewRejected,
    exceededSkews: spread.exceededConstraints(),
    dependsOnLoad,
  };
}

type Ranking = Readonly<{
  strategy: ParsedSpec["strategy"];
  /** Undefined if all clusters have the same rank. */
  ranks: ReadonlyMap<ClusterFacts, number> | undefined;
  load: ReadonlyMap<string, number> | undefined;
  spread: SpreadCount;
}>;

/** Highest score first, then lowest rank, then lowest load, then name. */
function compare({ ranks, load }: Ranking, one: ScoredCluster, other: ScoredCluster): number {
  const byScore = other.score - one.score;
  if (byScore !== 0) return byScore;
  if (ranks !== undefined) {
    const [rank = Infinity, otherRank = Infinity] = [ranks.get(one.cluster), ranks.get(other.cluster)];
    if (rank !== otherRank) return rank < otherRank ? -1 : 1;
  }
  const byLoad = load === undefined ? 0 : (load.get(one.cluster.name) ?? 0) - (load.get(other.cluster.name) ?? 0);
  return byLoad === 0 ? compareStrings(one.cluster.name, other.cluster.name) : byLoad;
}

/** Candidates in the same topology domains. */
type DomainGroup = { readonly domains: TopologyDomains; readonly members: ScoredCluster[]; isSorted: boolean };
type Pool = Readonly<{
  candidates: readonly ScoredCluster[];
  /** Empty without spread constraints. */
  groups: readonly DomainGroup[];
}>;

/** Groups candidates by their topology domains, which take part in the skew from here on. */
function createPool({ spread, load, ranks }: Ranking, candidates: readonly ScoredCluster[]): Pool {
  if (!spread.isNeeded) return { candidates, groups: [] };
  const groups = new Map<TopologyDomains, DomainGroup>();
  for (const candidate of candidates) {
    const domains = spread.domainsOf(candidate.cluster);
    const group = groups.get(domains);
    if (group === undefined) {
      groups.set(domains, { domains, members: [candidate], isSorted: load === undefined && ranks === undefined });
      continue;
    }
    // Candidates are sorted by name, so only a better score, or the load, can break the order.
    if (group.isSorted && candidate.score > (group.members.at(-1)?.score ?? Infinity)) group.isSorted = false;
    group.members.push(candidate);
  }
  return { candidates, groups: [...groups.values()] };
}

function pickBest(
  ranking: Ranking,
  { candidates, groups }: Pool,
  count: number,
  { isStrict }: Readonly<{ isStrict: boolean }>,
): readonly ScoredCluster[] {
  if (count <= 0 || candidates.length === 0) return [];
  if (ranking.spread.isNeeded) return pickEvenly(ranking, groups, count, isStrict);
  if (count >= candidates.length) return candidates;
  if (count === 1 && ranking.ranks === undefined) return [findBest(ranking, candidates)];
  return candidates.toSorted((one, other) => compare(ranking, one, other)).slice(0, count);
}

/** Most placements select one cluster, so this case avoids sorting. */
function findBest({ load }: Ranking, candidates: readonly ScoredCluster[]): ScoredCluster {
  let best: ScoredCluster | undefined;
  let lowestLoad = Infinity;
  for (const candidate of candidates) {
    if (best !== undefined && candidate.score < best.score) continue;
    const candidateLoad = load?.get(candidate.cluster.name) ?? 0;
    // Candidates are sorted by name, so the first of several equal ones wins.
    if (best !== undefined && candidate.score === best.score && candidateLoad >= lowestLoad) continue;
    best = candidate;
    lowestLoad = candidateLoad;
  }
  if (best === undefined) throw new RangeError("placement: findBest was called without candidates");
  return best;
}

type CandidateInDomain = Readonly<{ candidate: ScoredCluster; selectedInDomains: number }>;

/** For Spread, the number of clusters in the domain counts before the score; for the other strategies after it. */
function compareInDomains(ranking: Ranking, one: CandidateInDomain, other: CandidateInDomain): number {
  const byCount = one.selectedInDomains - other.selectedInDomains;
  const byScore = other.candidate.score - one.candidate.score;
  const first = ranking.strategy === "Spread" ? byCount : byScore || byCount;
  return first === 0 ? compare(ranking, one.candidate, other.candidate) : first;
}

/** Picks one cluster at a time from the domains with the fewest selected ones. Compares only the best of each group. */
function pickEvenly(
  ranking: Ranking,
  groups: readonly DomainGroup[],
  count: number,
  isStrict: boolean,
): ScoredCluster[] {
  const { spread } = ranking;
  const queues = groups.map((group) => createQueue(ranking, group, count));
  const picked: ScoredCluster[] = [];
  while (picked.length < count) {
    let best: CandidateInDomain | undefined;
    let bestQueue: GroupQueue | undefined;
    for (const queue of queues) {
      const candidate = queue.members[queue.next];
      if (candidate === undefined || (isStrict && spread.violatedConstraint(queue.domains) !== undefined)) continue;
      const inDomain = { candidate, selectedInDomains: spread.selectedIn(queue.domains) };
      if (best === undefined || compareInDomains(ranking, inDomain, best) < 0) {
        best = inDomain;
        bestQueue = queue;
      }
    }
    if (best === undefined || bestQueue === undefined) break;
    bestQueue.next += 1;
    if (!bestQueue.isSorted) moveBestToNext(ranking, bestQueue);
    spread.add(bestQueue.domains);
    picked.push(best.candidate);
  }
  return picked;
}

/** The members of a group. `members[next]` is the best of the remaining ones; the rest is ordered only if `isSorted`. */
type GroupQueue = {
  readonly domains: TopologyDomains;
  readonly members: ScoredCluster[];
  readonly isSorted: boolean;
  next: number;
};

/** Up to this count, which is the usual case, a linear search for each pick is faster than sorting the group. */
const maxCountWithoutSorting = 16;

function createQueue(ranking: Ranking, { domains, members, isSorted }: DomainGroup, count: number): GroupQueue {
  if (isSorted) return { domains, members, isSorted, next: 0 };
  if (count > maxCountWithoutSorting || ranking.ranks !== undefined) {
    return { domains, members: members.toSorted((a, b) => compare(ranking, a, b)), isSorted: true, next: 0 };
  }
  const queue: GroupQueue = { domains, members: [...members], isSorted: false, next: 0 };
  moveBestToNext(ranking, queue);
  return queue;
}

function moveBestToNext({ load }: Ranking, { members, next }: GroupQueue): void {
  let bestIndex = next;
  let best = members[next];
  if (best === undefined) return;
  let lowestLoad = load?.get(best.cluster.name) ?? 0;
  for (let index = next + 1; index < members.length; index++) {
    const candidate = members[index];
    if (candidate === undefined || candidate.score < best.score) continue;
    const candidateLoad = load?.get(candidate.cluster.name) ?? 0;
    if (candidate.score === best.score) {
      // Earlier swaps have broken the order of names, so equal candidates are compared by name.
      if (candidateLoad > lowestLoad) continue;
      if (candidateLoad === lowestLoad && candidate.cluster.name > best.cluster.name) continue;
    }
    bestIndex = index;
    best = candidate;
    lowestLoad = candidateLoad;
  }
  const first = members[next];
  if (bestIndex === next || first === undefined) return;
  members[next] = best;
  members[bestIndex] = first;
}

/** Splits the candidates into picked and others; both keep their order. */
function partition(
  candidates: readonly ScoredCluster[],
  picked: readonly ScoredCluster[],
): [picked: readonly ScoredCluster[], others: readonly ScoredCluster[]] {
  const [only, ...more] = picked;
  if (only === undefined) return [[], candidates];
  if (picked.length === candidates.length) return [candidates, []];
  if (more.length === 0) return [picked, candidates.toSpliced(candidates.indexOf(only), 1)];
  const isPicked = new Set(picked);
  const inOrder: ScoredCluster[] = [];
  const others: ScoredCluster[] = [];
  for (const candidate of candidates) (isPicked.has(candidate) ? inOrder : others).push(candidate);
  return [inOrder, others];
}

function sortByName(candidates: readonly ScoredCluster[]): readonly ScoredCluster[] {
  return candidates.toSorted((one, other) => compareStrings(one.cluster.name, other.cluster.name));
}

function clustersOf(candidates: readonly ScoredCluster[]): readonly ClusterFacts[] {
  const clusters = candidates.map(({ cluster }) => cluster);
  return clusters.toSorted((one, other) => compareStrings(one.name, other.name));
}
