import type { ClusterRegistration } from "../../api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import { findCondition } from "../../model/condition.ts";
import { clusterStatus, heartbeatOf, nodesOf } from "../cluster-view.ts";
import type { News } from "../local/news.ts";
import { formatSpan, padEnd, textWidth } from "../output.ts";

import { placementStatus } from "../placement-view.ts";
import type { ListedWorkload } from "../workload-list.ts";
import { fitted, formatLine, type Line, lineWidth, type Span, type Style, span, spread, wrapped } from "./spans.ts";
import { workloadLines } from "./workload-lines.ts";

/** Everything that the board shows. */
export type BoardState = Readonly<{
  workspace: string;
  kcpUrl: string;
  sinceMs: number;
  clusters: readonly ClusterRegistration[];
  placements: readonly WorkloadPlacement[];
  workloads: readonly ListedWorkload[];
  /** Newest last. */
  news: readonly News[];
  queue: Readonly<{ depth: number; inFlight: number; waiting: number; failing: number; setAside: number }>;
  /** What to try, a line each. */
  hints: readonly string[];
  /** Keys with what they do, the most important first. */
  keys: readonly Readonly<{ key: string; does: string; short: string }>[];
  /** Whether the hints are shown in place of the news. */
  help: boolean;
}>;

export type BoardSize = Readonly<{
  columns: number;
  rows: number;
  now: number;
  color: boolean;
  /** How far the clock on the wall is behind UTC. @default the machine's */
  offsetMinutes?: number;
}>;

/** Draws the board: exactly as many lines as there are rows, none of them wider than the terminal. */
export function renderBoard(state: BoardState, size: BoardSize): readonly string[] {
  const { columns, rows, now, color, offsetMinutes = new Date(now).getTimezoneOffset() } = size;
  const head = [titleLine(state, columns, now), []];
  const foot = footLines(state, columns);
  const room = Math.max(0, rows - head.length - foot.length);
  const lines = [...head, ...bodyLines(state, { columns, room, now, offsetMinutes }), ...foot].slice(0, rows);
  return lines.map((line) => formatLine(line, { columns, color }));
}

type Room = Readonly<{ columns: number; room: number; now: number; offsetMinutes: number }>;

function bodyLines(state: BoardState, { columns, room, now, offsetMinutes }: Room): readonly Line[] {
  const last = state.help ? hintLines(state) : undefined;
  const clusters = clusterLines(state, columns, now);
  // What happened lately gives way on a small screen, but not altogether.
  const leastLast = Math.min(
    room,
    state.help ? (last?.length ?? 0) + 2 : Math.max(4, Math.min(6, Math.floor(room / 5))),
  );
  const [ready, placed, running] = [
    state.clusters.filter((each) => clusterStatus(each).startsWith("Ready")).length,
    state.placements.filter((each) => placementStatus(each) === "Ready").length,
    state.workloads.filter(({ view }) => view.verdict.isReady).length,
  ];
  const needs = [clusters, placementLines(state, columns, Infinity), workloadLines(state.workloads, columns, Infinity)];
  // A section is its heading, its lines and an empty line.
  const [forClusters = 0, forPlacements = 0, forWorkloads = 0] = shareRows(
    needs.map((lines) => lines.length),
    room - leastLast - needs.length * 2,
    2,
  );
  const upper = [
    heading("CLUSTERS", counted(ready, state.clusters.length, "ready"), columns),
    ...bounded(clusters, forClusters, state.clusters.length, "clusters"),
    [],
    heading("PLACEMENTS", counted(placed, state.placements.length, "placed"), columns),
    ...placementLines(state, columns, forPlacements),
    [],
    heading("WORKLOADS", counted(running, state.workloads.length, "ready"), columns),
    ...workloadLines(state.workloads, columns, forWorkloads),
    [],
  ];
  const left = room - upper.length - 2;
  const lower =
    left < 1
      ? []
      : [
          heading(state.help ? "WHAT TO TRY" : "LATELY", [], columns),
          ...(last ?? newsLines(state, now, offsetMinutes)).slice(0, left),
        ];
  const body = [...upper, ...lower].slice(0, room);
  return [...body, ...Array.from({ length: room - body.length }, (): Line => [])];
}

function titleLine({ workspace, kcpUrl, sinceMs }: BoardState, columns: number, now: number): Line {
  const left = [span(" TMC ", "title"), span(` ${workspace}`, "bold"), span(`  on kcp ${kcpUrl}`, "dim")];
  return spread(left, [span(`up ${formatSpan(now - sinceMs)} `, "dim")], columns);
}

function heading(title: string, right: Line, columns: number): Line {
  return spread(
    [span(` ${title} `, "bold")],
    right.length === 0 ? [span("─", "dim")] : [span(" "), ...right, span(" ")],
    columns,
    span("─", "dim"),
  );
}

function counted(good: number, all: number, word: string): Line {
  return [span(`${good} of ${all} ${word}`, good === all ? "good" : "warn")];
}

function bounded(lines: readonly Line[], most: number, all: number, what: string): readonly Line[] {
  if (lines.length <= most) return lines;
  return [
    ...lines.slice(0, most - 1),
    [span(`   … of ${all} ${what}; tmc ${what.slice(0, -1)} list shows them`, "dim")],
  ];
}

type Column = Readonly<{ title: string; cells: readonly Span[]; keep: number }>;

/** Columns side by side under dim titles; those least worth keeping go first when there is no room for all. */
function tableLines(marks: readonly Span[], all: readonly Column[], columns: number): readonly Line[] {
  const gap = 2;
  const widthOf = ({ title, cells }: Column): number =>
    Math.max(textWidth(title), ...cells.map(({ text }) => textWidth(text)));
  let shown = all;
  while (shown.length > 1 && shown.reduce((sum, column) => sum + widthOf(column) + gap, 3) > columns) {
    const least = Math.min(...shown.map(({ keep }) => keep));
    shown = shown.filter(({ keep }) => keep !== least);
  }
  const row = (mark: Span, cells: readonly Span[]): Line => [
    span(" "),
    mark,
    span(" "),
    ...cells.flatMap((cell, at) => {
      const column = shown[at];
      return column === undefined ? [] : [fitted(cell, widthOf(column)), span(" ".repeat(gap))];
    }),
  ];
  return [
    row(
      span(" "),
      shown.map(({ title }) => span(title, "dim")),
    ),
    ...marks.map((mark, at) =>
      row(
        mark,
        shown.map(({ cells }) => cells[at] ?? span("")),
      ),
    ),
  ];
}

function clusterLines({ clusters, placements }: BoardState, columns: number, now: number): readonly Line[] {
  if (clusters.length === 0) return [[span("   none are registered", "dim")]];
  const column = (title: string, keep: number, cell: (each: ClusterRegistration) => Span): Column => ({
    title,
    keep,
    cells: clusters.map(cell),
  });
  const usedBy = (name: string | undefined): number =>
    placements.filter(({ status }) => name !== undefined && status?.selectedClusters?.includes(name) === true).length;
  const table = tableLines(
    clusters.map((each) => span("●", toneOf(each))),
    [
      column("NAME", 9, ({ metadata }) => span(metadata.name ?? "", "bold")),
      column("LOCATION", 5, ({ spec }) => span(spec.location)),
      column("STATUS", 8, (each) => span(clusterStatus(each), toneOf(each))),
      column("VERSION", 3, ({ status }) => span(status?.kubernetesVersion ?? "-")),
      column("NODES", 4, (each) => span(nodesOf(each) || "-")),
      column("CPU", 2, ({ status }) => span(status?.allocatable?.cpu ?? "-")),
      column("MEMORY", 1, ({ status }) => span(status?.allocatable?.memory ?? "-")),
      column("HEARTBEAT", 7, (each) => span(heartbeatOf(each, now), toneOf(each) === "bad" ? "bad" : "plain")),
      column("PLACEMENTS", 6, ({ metadata }) => span(bar(usedBy(metadata.name)), "accent")),
    ],
    columns,
  );
  const [titles = [], ...rows] = table;
  return [
    titles,
    ...rows.flatMap((row, at) => {
      const each = clusters[at];
      if (each === undefined) return [row];
      const why = troubleOf(each);
      return why === ""
        ? [row]
        : [row, ...wrapped(why, columns - 8, 2).map((text): Line => [span(`     ${text}`, toneOf(each))])];
    }),
  ];
}

function troubleOf({ spec, status }: ClusterRegistration): string {
  const ready = findCondition(status?.conditions, "Ready");
  const taints = (spec.taints ?? []).map(({ key, effect }) => `${key}:${effect}`);
  return [
    ...(ready === undefined || ready.status === "True" ? [] : [`${ready.reason}: ${ready.message}`]),
    ...(taints.length === 0 ? [] : [`tainted ${taints.join(", ")}`]),
  ].join("; ");
}

function toneOf(registration: ClusterRegistration): Style {
  const status = clusterStatus(registration);
  if (status === "Ready") return (registration.spec.taints ?? []).length === 0 ? "good" : "warn";
  return status.startsWith("NotReady") ? "bad" : "warn";
}

function bar(count: number): string {
  return count === 0 ? "0" : `${"■".repeat(Math.min(count, 10))} ${count}`;
}

function placementTone(placement: WorkloadPlacement): Style {
  switch (placementStatus(placement)) {
    case "Ready":
      // One that stays only because it is borne will have to move.
      return placement.status?.decisions?.some(({ reason, selected }) => selected && reason !== "Selected") === true
        ? "warn"
        : "good";
    case "NotReady":
      return "bad";
    case "Pending":
      return "warn";
    case "Deleting":
      return "dim";
  }
}

const bySeverity: readonly Style[] = ["bad", "warn", "good", "dim"];

/** A line or more for each placement; where there is no room for all, those in trouble come first. */
function placementLines({ placements }: BoardState, columns: number, room: number): readonly Line[] {
  if (placements.length === 0) return [[span("   there are none", "dim")]];
  const widths = [0, 1, 2].map((at) => Math.max(4, ...placements.map((each) => textWidth(cellsOf(each)[at] ?? ""))));
  const layout: Layout = { columns, widths: [28, 12, 30].map((most, at) => Math.min(most, widths[at] ?? 0)), most: 2 };
  // First the words get shorter, then the clusters that were turned down are left out.
  const layouts: readonly Layout[] = [layout, { ...layout, most: 1 }, { ...layout, most: 1, isBrief: true }];
  for (const each of layouts) {
    const lines = placements.flatMap((placement) => linesOf(placement, each));
    if (lines.length <= room) return lines;
  }
  const severity = (placement: WorkloadPlacement): number => bySeverity.indexOf(placementTone(placement));
  const shown: Line[] = [];
  let count = 0;
  for (const placement of placements.toSorted((one, other) => severity(one) - severity(other))) {
    const lines = linesOf(placement, { ...layout, most: 1, isBrief: true });
    if (shown.length + lines.length > room - 1) break;
    shown.push(...lines);
    count += 1;
  }
  return [...shown, [span(`   … and ${placements.length - count} more; tmc placement list shows them`, "dim")]];
}

type Layout = Readonly<{
  columns: number;
  widths: readonly number[];
  /** Lines for the reason. */
  most: number;
  /** Without the clusters that were turned down. */
  isBrief?: boolean;
}>;

function linesOf(placement: WorkloadPlacement, { columns, widths, most, isBrief = false }: Layout): readonly Line[] {
  const tone = placementTone(placement);
  const [name = "", strategy = "", where = ""] = cellsOf(placement);
  const [nameWidth = 0, strategyWidth = 0, whereWidth = 0] = widths;
  const start: Line = [
    span(" "),
    span("●", tone),
    span(" "),
    fitted(span(name, "bold"), nameWidth),
    span("  "),
    fitted(span(strategy, "dim"), strategyWidth),
    span("  "),
    fitted(span(where, where === "none" ? "bad" : "accent"), whereWidth),
    span("  "),
  ];
  const style = tone === "good" ? "plain" : tone;
  const [why = "", ...more] = wrapped(whyOf(placement), Math.max(20, columns - lineWidth(start) - 1), most);
  const indent = " ".repeat(lineWidth(start));
  return [
    [...start, span(why, style)],
    ...more.map((text): Line => [span(`${indent}${text}`, style)]),
    ...(tone === "bad" && !isBrief ? rejectionLines(placement, columns) : []),
  ];
}

/** Why each cluster was turned down, for a placement that found none. */
function rejectionLines({ status }: WorkloadPlacement, columns: number): readonly Line[] {
  const rejected = (status?.decisions ?? []).filter(({ selected }) => !selected).slice(0, 3);
  const width = Math.max(0, ...rejected.map(({ cluster }) => textWidth(cluster)));
  return rejected.map(({ cluster, message }): Line => {
    const start = [span("     └ ", "dim"), span(padEnd(cluster, width), "bold"), span("  ")];
    return [
      ...start,
      ...wrapped(message, Math.max(10, columns - lineWidth(start) - 1), 1).map((text) => span(text, "dim")),
    ];
  });
}

function cellsOf({ metadata, spec, status }: WorkloadPlacement): readonly string[] {
  const selected = status?.selectedClusters ?? [];
  return [
    metadata.name ?? "",
    spec.strategy ?? "RoundRobin",
    selected.length === 0 ? "none" : `→ ${selected.join(", ")}`,
  ];
}

/** Why it is where it is, in the words of its condition; and where that says too little, in those of its decisions. */
function whyOf({ status }: WorkloadPlacement): string {
  const ready = findCondition(status?.conditions, "Ready");
  if (ready === undefined) return "not decided yet";
  const chosen = (status?.decisions ?? []).filter(({ selected }) => selected);
  const notes = chosen.flatMap(({ cluster, reason, message, parts = [] }) => {
    if (reason !== "Selected") return [`${cluster} ${message}`];
    return parts.length === 0
      ? []
      : [parts.map(({ name, value }) => `${name} ${value > 0 ? "+" : ""}${value}`).join(", ")];
  });
  return [ready.message, ...new Set(notes)].join("; ");
}

function newsLines({ news }: BoardState, now: number, offsetMinutes: number): readonly Line[] {
  if (news.length === 0) return [[span("   nothing yet", "dim")]];
  const width = Math.min(24, Math.max(...news.map(({ subject }) => textWidth(subject))));
  return news.toReversed().map(({ atMs, tone, subject, text }): Line => {
    const isFresh = now - atMs < 3_000;
    return [
      span(`   ${formatTime(atMs, offsetMinutes)}  `, "dim"),
      fitted(span(subject, "bold"), width),
      span("  "),
      span(text, tone === "plain" ? "plain" : isFresh || tone === "bad" ? tone : "plain"),
    ];
  });
}

function hintLines({ hints, keys }: BoardState): readonly Line[] {
  const width = Math.max(0, ...keys.map(({ key }) => textWidth(key)));
  return [
    ...hints.map((hint): Line => {
      const [command = "", comment] = hint.split(/ (?=# )/);
      return [span(`   ${command}`), ...(comment === undefined ? [] : [span(` ${comment}`, "dim")])];
    }),
    [],
    ...keys.map(({ key, does }): Line => [span("   "), span(padEnd(key, width), "accent"), span(`  ${does}`)]),
  ];
}

function footLines({ queue, keys }: BoardState, columns: number): readonly Line[] {
  const { depth, inFlight, waiting, failing, setAside } = queue;
  const trouble = failing + setAside;
  const counts = [
    span(" queue ", "dim"),
    span(`${depth} waiting · ${inFlight} in flight · ${waiting} later`, "plain"),
    span(trouble === 0 ? "" : ` · ${failing} failing · ${setAside} set aside`, "bad"),
  ];
  const words = (shown: typeof keys): Line =>
    shown.flatMap(({ key, short }) => [span(key, "accent"), span(` ${short}   `, "dim")]);
  const room = columns - lineWidth(counts) - 1;
  const fitting = keys.findLastIndex((_, at) => lineWidth(words(keys.slice(0, at + 1))) <= room);
  return [[span("─".repeat(columns), "dim")], spread(counts, words(keys.slice(0, fitting + 1)), columns)];
}

function formatTime(ms: number, offsetMinutes: number): string {
  return new Date(ms - offsetMinutes * 60_000).toISOString().slice(11, 19);
}

/**
 * Shares rows out among sections: who needs little gets all of it, the others as much as each other. None gets less than
 * `least`, even when that is more than there is.
 */
export function shareRows(needs: readonly number[], rows: number, least: number): readonly number[] {
  const order = needs.map((need, at) => ({ need, at })).toSorted((one, other) => one.need - other.need);
  const shares = needs.map(() => 0);
  let left = rows;
  for (const [done, { need, at }] of order.entries()) {
    const share = Math.min(need, Math.max(least, Math.floor(left / (order.length - done))));
    shares[at] = share;
    left = Math.max(0, left - share);
  }
  return shares;
}
