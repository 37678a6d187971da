import type { Goal, Row, Table } from "../report.ts";
import { percentile } from "../statistics.ts";
import { type Compared, type Crowd, type ManyRound, ratioOf, type Singles, sumOf } from "./measure.ts";
import type { Restart } from "./restart.ts";
import type { Writes } from "./session.ts";

const most = { exists: 5, ready: 2.5, image: 4, many: 3, downWrites: 1, upWrites: 2, firstMs: 2_000 } as const;

/** What one Deployment after the other takes, beside the same by hand. */
export function singlesTable({ exists, ready, image }: Singles): Table {
  const row = (what: string, times: Compared, share: number): Row => {
    const [direct, synced] = [percentile(times.direct, share), percentile(times.synced, share)];
    return { what: `${what}, p${share * 100}`, direct, synced, times: synced / direct };
  };
  const both = (what: string, times: Compared): Row[] => [row(what, times, 0.5), row(what, times, 0.99)];
  return {
    title: `one Deployment at a time (${exists.synced.length}), by hand in both clusters and through the workspace`,
    columns: [
      { key: "what", label: "what" },
      { key: "direct", label: "by hand ms", digits: 1 },
      { key: "synced", label: "synced ms", digits: 1 },
      { key: "times", label: "×", digits: 2 },
    ],
    rows: [
      ...both("created → in both clusters", exists),
      ...both("created → all ready, as its reader sees it", ready),
      ...both("image changed → in both clusters", image),
    ],
  };
}

export function singlesGoals({ exists, ready, image, writes }: Singles): Goal[] {
  const changes = image.synced.length;
  const [down, up] = [sumOf(writes.down) / changes / 2, sumOf(writes.up) / changes];
  return [
    ratioGoal("one created → in both, p50 to a direct create", exists, 0.5, most.exists),
    ratioGoal("one created → in both, p99 to a direct create", exists, 0.99, most.exists),
    ratioGoal("one created → ready upstream, p50 to the clusters' own report", ready, 0.5, most.ready),
    ratioGoal("image changed → in both, p50 to a direct update", image, 0.5, most.image),
    atMost("writes per changed image, each cluster", most.downWrites, down, down.toFixed(2)),
    atMost("writes per changed image, upstream", most.upWrites, up, up.toFixed(2)),
  ];
}

/** The middle one of rounds that are sorted by their ratios. */
function middleOf(rounds: readonly ManyRound[]): ManyRound {
  const middle = rounds[Math.floor(rounds.length / 2)];
  if (middle === undefined) throw new Error("bench: there was no round");
  return middle;
}

/** What many at once take, beside the same by hand. */
export function manyTable(rounds: readonly ManyRound[], writerCount: number): Table {
  const { byHand, synced } = middleOf(rounds);
  const row = (what: string, direct: number | undefined, own: number): Row => ({
    what,
    direct,
    synced: own,
    times: direct === undefined ? undefined : own / direct,
  });
  return {
    title: `${synced.count} Deployments at once by ${writerCount} writers, the middle of ${rounds.length} rounds (all: ${rounds.map((round) => `${ratioOf(round).toFixed(2)} ×`).join(", ")})`,
    columns: [
      { key: "what", label: "what" },
      { key: "direct", label: "by hand", digits: 1 },
      { key: "synced", label: "synced", digits: 1 },
      { key: "times", label: "×", digits: 2 },
    ],
    rows: [
      row("all in both clusters, ms", byHand.existMs, synced.existMs),
      row("all ready, as their reader sees it, ms", byHand.readyMs, synced.readyMs),
      row("controller CPU, ms each", undefined, synced.cpuMs / synced.count),
      row("writes each, per cluster", undefined, sumOf(synced.writes.down) / synced.count / 2),
      row("writes each, upstream", undefined, sumOf(synced.writes.up) / synced.count),
    ],
  };
}

export function manyGoals(rounds: readonly ManyRound[], mostMs?: number): Goal[] {
  const { byHand, synced } = middleOf(rounds);
  const times = ratioOf({ byHand, synced });
  const got = `${times.toFixed(2)} × (${seconds(synced.existMs)} to ${seconds(byHand.existMs)})`;
  const ratio: Goal = {
    what: `${synced.count} at once, all in both, to direct writes`,
    goal: `≤ ${most.many} ×`,
    got,
    met: times <= most.many,
  };
  if (mostMs === undefined) return [ratio];
  const what = `${synced.count} at once, all in both`;
  return [ratio, { what, goal: `≤ ${seconds(mostMs)}`, got: seconds(synced.existMs), met: synced.existMs <= mostMs }];
}

/** What was written for each of so many changes, by what it was. */
export function writesTable(title: string, { up, down }: Writes, changes: number): Table {
  const rows = (where: string, writes: Writes["up"]): Row[] =>
    Object.entries(writes)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([what, count]) => ({ where, what, each: count / changes }));
  return {
    title,
    columns: [
      { key: "where", label: "where" },
      { key: "what", label: "what" },
      { key: "each", label: "per change", digits: 2 },
    ],
    rows: [...rows("clusters", down), ...rows("workspace", up)],
  };
}

/** What many over all clusters take, each on one of them. */
export function crowdTable(crowd: Crowd, byHandMs: number, clusters: number): Table {
  const { count, existMs, reportedMs, cpuMs } = crowd;
  const row = (what: string, ms: number): Row => ({ what, ms, perSecond: (count * 1000) / ms });
  return {
    title: `${count} Deployments over ${clusters} clusters`,
    columns: [
      { key: "what", label: "what" },
      { key: "ms", label: "ms" },
      { key: "perSecond", label: "per second" },
    ],
    rows: [
      row("by hand", byHandMs),
      row("all on their clusters", existMs),
      row("all reported upstream", reportedMs),
      row("controller CPU", cpuMs),
    ],
  };
}

export function crowdGoal({ count, existMs }: Crowd, leastPerSecond: number): Goal {
  const rate = (count * 1000) / existMs;
  const goal = `≥ ${leastPerSecond} objects/s`;
  return { what: `${count} over all clusters`, goal, got: `${rate.toFixed(0)} objects/s`, met: rate >= leastPerSecond };
}

/** What a new controller does over what is in order. */
export function restartTable(restart: Restart, synced: number): Table {
  const { settledMs, firstMs, nextMs, usage, live } = restart;
  const row = (what: string, value: number, unit: string): Row => ({ what, value, unit });
  return {
    title: `a new controller over ${synced} synced Deployments`,
    columns: [
      { key: "what", label: "what" },
      { key: "value", label: "got" },
      { key: "unit", label: "" },
    ],
    rows: [
      row("until it has nothing to do", settledMs, "ms"),
      row("start → a Deployment made at that moment is in both clusters", firstMs, "ms"),
      row("a Deployment made later → in both clusters", nextMs, "ms"),
      row("RSS", usage.rssMb, "MB"),
      row("peak RSS", usage.peakRssMb, "MB"),
      row("heap after a collection", live.heapMb, "MB"),
      row("CPU since its start", usage.cpuMs, "ms"),
    ],
  };
}

export function restartGoals({ writes, firstMs }: Restart, synced: number): Goal[] {
  const count = sumOf(writes.up) + sumOf(writes.down);
  const named = Object.entries({ ...writes.up, ...writes.down }).map(([what, times]) => `${what} ${times}`);
  return [
    atMost(`restart over ${synced}: writes`, 0, count, count === 0 ? "0" : named.join(", ")),
    {
      what: `restart over ${synced}: the first new Deployment is in both`,
      goal: `< ${seconds(most.firstMs)}`,
      got: seconds(firstMs),
      met: firstMs < most.firstMs,
    },
  ];
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;

function atMost(what: string, limit: number, value: number, got: string): Goal {
  return { what, goal: limit === 0 ? "0" : `≤ ${limit}`, got, met: value <= limit };
}

function ratioGoal(what: string, { direct, synced }: Compared, share: number, limit: number): Goal {
  const [byHand, own] = [percentile(direct, share), percentile(synced, share)];
  const times = own / byHand;
  const got = `${times.toFixed(2)} × (${own.toFixed(1)} ms to ${byHand.toFixed(1)} ms)`;
  return { what, goal: `≤ ${limit} ×`, got, met: times <= limit };
}
