import { compareStrings } from "@tmc/kube/compare.ts";
import type { ClusterFacts } from "./observed.ts";
import { mostClusters, type SpreadWish, type Wish } from "./parsed-spec.ts";
import { type Place, SpreadCount } from "./spread-count.ts";

/** A cluster that may be chosen, with what it is worth. */
export type Candidate = Readonly<{ cluster: ClusterFacts; score: number }>;

/** The clusters among which the choice is made; all lists are in the order of names. */
export type Candidates = Readonly<{
  /** Chosen before, and allowed to stay. `limited` are those to which new work would not go. */
  held: readonly (Candidate & Readonly<{ limited: boolean }>)[];
  /** Fitting, not chosen before. */
  newcomers: readonly Candidate[];
  load: ReadonlyMap<string, number> | undefined;
}>;

/** Every candidate is in exactly one of the lists; all lists are in the order of names. */
export type Choice = Readonly<{
  selected: readonly ClusterFacts[];
  notChosen: readonly Candidate[];
  /** Held so far, but there are too many and new work would not go there. */
  dropped: readonly ClusterFacts[];
  /** Newcomers that a strict spread constraint keeps out. */
  refused: readonly Readonly<{ cluster: ClusterFacts; constraint: SpreadWish }>[];
  /** Where the choice is more uneven than wished for. */
  excess: readonly Readonly<{ key: string; skew: number; maxSkew: number }>[];
  /** The load has, or would have had, a say in this. */
  dealt: boolean;
}>;

/**
 * Chooses among the clusters that fit. What was chosen before and may stay is kept, a better cluster alone moves nothing;
 * only when too many are held do the worst go, and only when too few are held do the best newcomers join.
 */
export function choose(wish: Wish, { held, newcomers, load }: Candidates): Choice {
  const wanted = wish.wanted ?? mostClusters;
  const spread = new SpreadCount(wish.spread);
  const ranking: Ranking = { strategy: wish.strategy, load: wish.strategy === "RoundRobin" ? load : undefined, spread };
  return held.length > wanted
    ? dropWorst(ranking, { held, newcomers, wanted })
    : addBest(ranking, { held, newcomers, wanted });
}

type Task = Omit<Candidates, "load"> & Readonly<{ wanted: number }>;

function dropWorst(ranking: Ranking, { held, newcomers, wanted }: Task): Choice {
  const { spread } = ranking;
  const whole = held.filter(({ limited }) => !limited);
  const limited = held.filter((each) => each.limited);
  const pools = {
    whole: poolOf(ranking, whole),
    limited: poolOf(ranking, limited),
    newcomers: poolOf(ranking, newcomers),
  };
  const kept = take(ranking, pools.whole, wanted, { strict: false });
  const alsoKept = take(ranking, pools.limited, wanted - kept.length, { strict: false });
  const selected = clustersOf([...kept, ...alsoKept]);
  const names = new Set(selected.map(({ name }) => name));
  const isLeft = ({ cluster }: Candidate) => !names.has(cluster.name);
  return {
    selected,
    notChosen: inNameOrder([...whole.filter(isLeft), ...newcomers]),
    dropped: limited.filter(isLeft).map(({ cluster }) => cluster),
    refused: [],
    excess: spread.excess(),
    dealt: false,
  };
}

function addBest(ranking: Ranking, { held, newcomers, wanted }: Task): Choice {
  const { spread } = ranking;
  const pool = poolOf(ranking, newcomers);
  if (spread.isNeeded) for (const { cluster } of held) spread.add(spread.placeOf(cluster));
  const joined = take(ranking, pool, wanted - held.length, { strict: true });
  const [taken, left] = divide(newcomers, joined);
  const selected = held.length === 0 ? taken.map(({ cluster }) => cluster) : clustersOf([...held, ...taken]);

  const refused: { cluster: ClusterFacts; constraint: SpreadWish }[] = [];
  let notChosen = left;
  if (spread.isNeeded && selected.length < wanted) {
    notChosen = left.filter(({ cluster }) => {
      const constraint = spread.refusal(spread.placeOf(cluster));
      if (constraint !== undefined) refused.push({ cluster, constraint });
      return constraint === undefined;
    });
  }
  const dealt = ranking.strategy === "RoundRobin" && held.length < wanted && left.length > 0;
  return { selected, notChosen, dropped: [], refused, excess: spread.excess(), dealt };
}

type Ranking = Readonly<{
  strategy: Wish["strategy"];
  load: ReadonlyMap<string, number> | undefined;
  spread: SpreadCount;
}>;

/** Score, then load, then name. */
function compare({ load }: Ranking, one: Candidate, other: Candidate): number {
  const byScore = other.score - one.score;
  if (byScore !== 0) return byScore;
  const byLoad = load === undefined ? 0 : (load.get(one.cluster.name) ?? 0) - (load.get(other.cluster.name) ?? 0);
  return byLoad === 0 ? compareStrings(one.cluster.name, other.cluster.name) : byLoad;
}

/** Candidates in the same places, of which the best is asked for first. */
type PlacedGroup = { readonly place: Place; readonly members: Candidate[]; isSorted: boolean };
type Pool = Readonly<{
  candidates: readonly Candidate[];
  /** Empty where places do not matter. */
  groups: readonly PlacedGroup[];
}>;

/** Puts candidates together by their places, which count for the skew from here on. */
function poolOf({ spread, load }: Ranking, candidates: readonly Candidate[]): Pool {
  if (!spread.isNeeded) return { candidates, groups: [] };
  const groups = new Map<Place, PlacedGroup>();
  for (const candidate of candidates) {
    const place = spread.placeOf(candidate.cluster);
    const group = groups.get(place);
    if (group === undefined) {
      groups.set(place, { place, members: [candidate], isSorted: load === undefined });
      continue;
    }
    // They come in the order of names, so only a better score or the load can put them into another.
    if (group.isSorted && candidate.score > (group.members.at(-1)?.score ?? Infinity)) group.isSorted = false;
    group.members.push(candidate);
  }
  return { candidates, groups: [...groups.values()] };
}

function take(
  ranking: Ranking,
  pool: Pool,
  count: number,
  { strict }: Readonly<{ strict: boolean }>,
): readonly Candidate[] {
  const from = pool.candidates;
  if (count <= 0 || from.length === 0) return [];
  if (ranking.spread.isNeeded) return takeEvenly(ranking, pool.groups, count, strict);
  if (count >= from.length) return from;
  if (count === 1) return [best(ranking, from)];
  return from.toSorted((one, other) => compare(ranking, one, other)).slice(0, count);
}

/** By far the most frequent question, answered without sorting. */
function best({ load }: Ranking, from: readonly Candidate[]): Candidate {
  let lead: Candidate | undefined;
  let least = Infinity;
  for (const candidate of from) {
    if (lead !== undefined && candidate.score < lead.score) continue;
    const own = load?.get(candidate.cluster.name) ?? 0;
    // They come in the order of names, so of equals the first is the one.
    if (lead !== undefined && candidate.score === lead.score && own >= least) continue;
    lead = candidate;
    least = own;
  }
  if (lead === undefined) throw new RangeError("placement: the best of no clusters was asked for");
  return lead;
}

type Placed = Readonly<{ candidate: Candidate; crowd: number }>;

/** How full a place is counts for Spread before the score, for the others after it. */
function comparePlaced(ranking: Ranking, one: Placed, other: Placed): number {
  const byCrowd = one.crowd - other.crowd;
  const byScore = other.candidate.score - one.candidate.score;
  const first = ranking.strategy === "Spread" ? byCrowd : byScore || byCrowd;
  return first === 0 ? compare(ranking, one.candidate, other.candidate) : first;
}

/** One at a time, always from where there are fewest. Clusters in the same places are asked for as one, best first. */
function takeEvenly(ranking: Ranking, pool: readonly PlacedGroup[], count: number, strict: boolean): Candidate[] {
  const { spread } = ranking;
  const lines = pool.map((group) => lineOf(ranking, group, count));
  const taken: Candidate[] = [];
  while (taken.length < count) {
    let lead: Placed | undefined;
    let leader: Line | undefined;
    for (const line of lines) {
      const candidate = line.members[line.next];
      if (candidate === undefined || (strict && spread.refusal(line.place) !== undefined)) continue;
      const placed = { candidate, crowd: spread.crowd(line.place) };
      if (lead === undefined || comparePlaced(ranking, placed, lead) < 0) {
        lead = placed;
        leader = line;
      }
    }
    if (lead === undefined || leader === undefined) break;
    leader.next += 1;
    if (!leader.isSorted) bringBestForward(ranking, leader);
    spread.add(leader.place);
    taken.push(lead.candidate);
  }
  return taken;
}

/** The members of a group; the next of them is the best of those left, and all the others too where they are sorted. */
type Line = { readonly place: Place; readonly members: Candidate[]; readonly isSorted: boolean; next: number };

/** Looking for the best each time is quicker than sorting as long as few are asked for, which is the rule. */
const fewAskedFor = 16;

function lineOf(ranking: Ranking, { place, members, isSorted }: PlacedGroup, count: number): Line {
  if (isSorted) return { place, members, isSorted, next: 0 };
  if (count > fewAskedFor) {
    return { place, members: members.toSorted((a, b) => compare(ranking, a, b)), isSorted: true, next: 0 };
  }
  const line: Line = { place, members: [...members], isSorted: false, next: 0 };
  bringBestForward(ranking, line);
  return line;
}

function bringBestForward({ load }: Ranking, { members, next }: Line): void {
  let at = next;
  let lead = members[next];
  if (lead === undefined) return;
  let least = load?.get(lead.cluster.name) ?? 0;
  for (let index = next + 1; index < members.length; index++) {
    const candidate = members[index];
    if (candidate === undefined || candidate.score < lead.score) continue;
    const own = load?.get(candidate.cluster.name) ?? 0;
    if (candidate.score === lead.score) {
      // Not in the order of names any more: an earlier best was put where this one was.
      if (own > least || (own === least && candidate.cluster.name > lead.cluster.name)) continue;
    }
    at = index;
    lead = candidate;
    least = own;
  }
  const first = members[next];
  if (at === next || first === undefined) return;
  members[next] = lead;
  members[at] = first;
}

/** Those taken and those left, both in the order in which they came. */
function divide(
  all: readonly Candidate[],
  taken: readonly Candidate[],
): [taken: readonly Candidate[], left: readonly Candidate[]] {
  const [only, ...more] = taken;
  if (only === undefined) return [[], all];
  if (taken.length === all.length) return [all, []];
  if (more.length === 0) return [taken, all.toSpliced(all.indexOf(only), 1)];
  const chosen = new Set(taken);
  const inOrder: Candidate[] = [];
  const left: Candidate[] = [];
  for (const candidate of all) (chosen.has(candidate) ? inOrder : left).push(candidate);
  return [inOrder, left];
}

function inNameOrder(candidates: readonly Candidate[]): readonly Candidate[] {
  return candidates.toSorted((one, other) => compareStrings(one.cluster.name, other.cluster.name));
}

function clustersOf(candidates: readonly Candidate[]): readonly ClusterFacts[] {
  const clusters = candidates.map(({ cluster }) => cluster);
  return clusters.toSorted((one, other) => compareStrings(one.name, other.name));
}
