import { byText, type ClusterFacts } from "./facts.ts";
import { SpreadCount } from "./spread-count.ts";
import { mostClusters, type SpreadWish, type Wish } from "./wish.ts";

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
  const spread = new SpreadCount(wish.spread, [...held, ...newcomers]);
  const ranking: Ranking = { strategy: wish.strategy, load: wish.strategy === "RoundRobin" ? load : undefined, spread };
  return held.length > wanted
    ? dropWorst(ranking, { held, newcomers, wanted })
    : addBest(ranking, { held, newcomers, wanted });
}

type Task = Omit<Candidates, "load"> & Readonly<{ wanted: number }>;

function dropWorst(ranking: Ranking, { held, newcomers, wanted }: Task): Choice {
  const whole = held.filter(({ limited }) => !limited);
  const limited = held.filter((each) => each.limited);
  const kept = take(ranking, whole, wanted, { strict: false });
  const alsoKept = take(ranking, limited, wanted - kept.length, { strict: false });
  const selected = clustersOf([...kept, ...alsoKept]);
  const names = new Set(selected.map(({ name }) => name));
  const isLeft = ({ cluster }: Candidate) => !names.has(cluster.name);
  return {
    selected,
    notChosen: inNameOrder([...whole.filter(isLeft), ...newcomers]),
    dropped: limited.filter(isLeft).map(({ cluster }) => cluster),
    refused: [],
    excess: ranking.spread.excess(),
    dealt: false,
  };
}

function addBest(ranking: Ranking, { held, newcomers, wanted }: Task): Choice {
  const { spread } = ranking;
  for (const { cluster } of held) spread.add(cluster);
  const joined = take(ranking, newcomers, wanted - held.length, { strict: true });
  const [taken, left] = divide(newcomers, joined);
  const selected = held.length === 0 ? taken.map(({ cluster }) => cluster) : clustersOf([...held, ...taken]);

  const refused: { cluster: ClusterFacts; constraint: SpreadWish }[] = [];
  let notChosen = left;
  if (spread.isNeeded && selected.length < wanted) {
    notChosen = left.filter(({ cluster }) => {
      const constraint = spread.refusal(cluster);
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
  return byLoad === 0 ? byText(one.cluster.name, other.cluster.name) : byLoad;
}

function take(
  ranking: Ranking,
  from: readonly Candidate[],
  count: number,
  { strict }: Readonly<{ strict: boolean }>,
): readonly Candidate[] {
  if (count <= 0 || from.length === 0) return [];
  if (ranking.spread.isNeeded) return takeEvenly(ranking, from, count, strict);
  if (count >= from.length) return from;
  if (count === 1) return [best(ranking, from)];
  return from.toSorted((one, other) => compare(ranking, one, other)).slice(0, count);
}

/** By far the most frequent question, answered without sorting. */
function best({ load }: Ranking, from: readonly Candidate[]): Candidate {
  const loadOf = ({ cluster }: Candidate): number => load?.get(cluster.name) ?? 0;
  let lead: Readonly<{ candidate: Candidate; load: number }> | undefined;
  for (const candidate of from) {
    if (lead !== undefined && candidate.score < lead.candidate.score) continue;
    const own = loadOf(candidate);
    // They come in the order of names, so of equals the first is the one.
    if (lead === undefined || candidate.score > lead.candidate.score || own < lead.load)
      lead = { candidate, load: own };
  }
  if (lead === undefined) throw new RangeError("placement: the best of no clusters was asked for");
  return lead.candidate;
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
function takeEvenly(ranking: Ranking, from: readonly Candidate[], count: number, strict: boolean): Candidate[] {
  const { spread } = ranking;
  const groups = [...Map.groupBy(from, ({ cluster }) => spread.placeOf(cluster)).values()].map((members) =>
    members.toSorted((one, other) => compare(ranking, other, one)),
  );
  const taken: Candidate[] = [];
  while (taken.length < count) {
    let next: Placed | undefined;
    let nextGroup: Candidate[] | undefined;
    for (const group of groups) {
      const candidate = group.at(-1);
      if (candidate === undefined || (strict && spread.refusal(candidate.cluster) !== undefined)) continue;
      const placed = { candidate, crowd: spread.crowd(candidate.cluster) };
      if (next === undefined || comparePlaced(ranking, placed, next) < 0) {
        next = placed;
        nextGroup = group;
      }
    }
    if (next === undefined) break;
    nextGroup?.pop();
    spread.add(next.candidate.cluster);
    taken.push(next.candidate);
  }
  return taken;
}

/** Those taken and those left, both in the order in which they came. */
function divide(
  all: readonly Candidate[],
  taken: readonly Candidate[],
): [taken: readonly Candidate[], left: readonly Candidate[]] {
  if (taken.length === 0) return [[], all];
  if (taken.length === all.length) return [all, []];
  const chosen = new Set(taken);
  const isTaken = (candidate: Candidate) => chosen.has(candidate);
  return [taken.length === 1 ? taken : all.filter(isTaken), all.filter((candidate) => !isTaken(candidate))];
}

function inNameOrder(candidates: readonly Candidate[]): readonly Candidate[] {
  return candidates.toSorted((one, other) => byText(one.cluster.name, other.cluster.name));
}

function clustersOf(candidates: readonly Candidate[]): readonly ClusterFacts[] {
  const clusters = candidates.map(({ cluster }) => cluster);
  return clusters.toSorted((one, other) => byText(one.name, other.name));
}
