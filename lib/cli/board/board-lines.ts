import type { ClusterRegistration } from "../../api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import { clusterStatus } from "../cluster/cluster-view.ts";
import type { LocalEvent } from "../local/events.ts";
import { commandName } from "../names.ts";
import { formatAge, formatTimeOfDay, padEnd, textWidth } from "../output.ts";
import { placementStatus } from "../placement/placement-view.ts";
import type { ListedWorkload } from "../workload/workload-list.ts";
import { clusterLines } from "./cluster-lines.ts";
import { placementLines } from "./placement-lines.ts";
import { fitSpan, formatLine, justify, type Line, lineWidth, markerOf, span } from "./spans.ts";
import { isBeingDeleted, workloadLines } from "./workload-lines.ts";

/** The content of the board. */
export type BoardState = Readonly<{
  workspace: string;
  /** The upstream server, such as `kcp https://127.0.0.1:6443`. */
  upstream: string;
  startedMs: number;
  registrations: readonly ClusterRegistration[];
  placements: readonly WorkloadPlacement[];
  workloads: readonly ListedWorkload[];
  /** Newest last. */
  events: readonly LocalEvent[];
  queue: Readonly<{ depth: number; inFlight: number; delayed: number; failing: number; deadLetters: number }>;
  /** Commands to try, one per line. */
  hints: readonly string[];
  /** Key bindings, the most important first. */
  bindings: readonly Readonly<{ key: string; description: string; label: string }>[];
  /** Whether the hints and key bindings are shown instead of the events, and on a small terminal instead of everything. */
  help: boolean;
}>;

export type BoardSize = Readonly<{
  columns: number;
  rows: number;
  nowMs: number;
  color: boolean;
  /** Offset of local time from UTC, as `Date.getTimezoneOffset` returns it. @default that of the machine */
  offsetMinutes?: number;
}>;

/** Formats the board as exactly one line per terminal row, none wider than the terminal. */
export function formatBoard(state: BoardState, size: BoardSize): readonly string[] {
  const { columns, rows, nowMs, color, offsetMinutes = new Date(nowMs).getTimezoneOffset() } = size;
  // On a small terminal every row counts.
  const head = [titleLine(state, columns, nowMs), ...(rows < 30 ? [] : [[]])];
  const foot = footLines(state, columns);
  const bodyRows = Math.max(0, rows - head.length - foot.length);
  const lines = [...head, ...bodyLines(state, { columns, rows: bodyRows, nowMs, offsetMinutes }), ...foot].slice(
    0,
    rows,
  );
  return lines.map((line) => formatLine(line, { columns, color }));
}

type BodySize = Readonly<{ columns: number; rows: number; nowMs: number; offsetMinutes: number }>;

/** The rows that the sections need at least: each a heading, two lines and an empty line. */
const minSectionRows = 3 * 4;

function bodyLines(state: BoardState, size: BodySize): readonly Line[] {
  const { columns, rows, nowMs, offsetMinutes } = size;
  const helpLines = state.help ? hintLines(state) : undefined;
  if (helpLines !== undefined && rows - helpLines.length - 1 < minSectionRows) return helpOnly(helpLines, size);
  const clusters = clusterLines(state, columns, nowMs);
  // On a small terminal the section of events shrinks, but keeps a few lines.
  const minLastRows = Math.min(
    rows,
    state.help ? (helpLines?.length ?? 0) + 1 : Math.max(3, Math.min(6, Math.floor(rows / 7))),
  );
  // An object that a user deletes is not missing.
  const [clustersLeft, placementsLeft, workloadsLeft] = [
    state.registrations.filter(({ metadata }) => metadata.deletionTimestamp === undefined),
    state.placements.filter(({ metadata }) => metadata.deletionTimestamp === undefined),
    state.workloads.filter(({ view }) => !isBeingDeleted(view)),
  ];
  const [ready, placed, running] = [
    clustersLeft.filter((each) => clusterStatus(each).startsWith("Ready")).length,
    placementsLeft.filter((each) => placementStatus(each) === "Ready").length,
    workloadsLeft.filter(({ view }) => view.readiness.isReady).length,
  ];
  const time = { nowMs, offsetMinutes };
  const needs = [
    clusters,
    placementLines(state.placements, { columns, rows: Infinity, time }),
    workloadLines(state.workloads, columns, Infinity),
  ];
  // A section consists of a heading, its lines, and an empty line.
  const available = rows - minLastRows - needs.length * 2;
  const shares = shareRows(
    // Every placement has a line before one of them has several.
    needs.map((lines, at) => (at === 1 ? Math.min(lines.length, Math.max(1, state.placements.length)) : lines.length)),
    available,
    2,
  );
  const spare = Math.max(0, available - shares.reduce((sum, share) => sum + share, 0));
  const [forClusters = 0, forPlacements = 0, forWorkloads = 0] = shares.map(
    (share, at) => share + (at === 1 ? spare : 0),
  );
  const upper = [
    heading("CLUSTERS", countLine(ready, clustersLeft.length, "ready"), columns),
    ...truncateLines(clusters, forClusters, state.registrations.length, "clusters"),
    [],
    heading("PLACEMENTS", countLine(placed, placementsLeft.length, "placed"), columns),
    ...placementLines(state.placements, { columns, rows: forPlacements, time }),
    [],
    heading("WORKLOADS", countLine(running, workloadsLeft.length, "ready"), columns),
    ...workloadLines(state.workloads, columns, forWorkloads),
    [],
  ];
  const lastRows = rows - upper.length - 1;
  const lower =
    lastRows < 1
      ? []
      : [
          heading(state.help ? "HELP" : "EVENTS", [], columns),
          ...(helpLines ?? eventLines(state, nowMs, offsetMinutes)).slice(0, lastRows),
        ];
  const body = [...upper, ...lower].slice(0, rows);
  return [...body, ...Array.from({ length: rows - body.length }, (): Line => [])];
}

/** The help alone, if it does not fit below the sections. */
function helpOnly(helpLines: readonly Line[], { columns, rows }: BodySize): readonly Line[] {
  const shown = helpLines.length < rows ? helpLines : helpLines.slice(0, Math.max(0, rows - 2));
  const rest = helpLines.length - shown.length;
  const lines: readonly Line[] = [
    heading("HELP", [], columns),
    ...shown,
    ...(rest === 0 ? [] : [[span(`   … ${rest} more lines; enlarge the terminal`, "dim")]]),
  ];
  return [...lines, ...Array.from({ length: Math.max(0, rows - lines.length) }, (): Line => [])].slice(0, rows);
}

function titleLine({ workspace, upstream, startedMs }: BoardState, columns: number, nowMs: number): Line {
  const left = [span(" TMC ", "title"), span(` ${workspace}`, "bold"), span(`  on ${upstream}`, "dim")];
  return justify(left, [span(`up ${formatAge(nowMs - startedMs)} `, "dim")], columns);
}

function heading(title: string, right: Line, columns: number): Line {
  return justify(
    [span(` ${title} `, "bold")],
    right.length === 0 ? [span("─", "dim"), span(" ")] : [span(" "), ...right, span(" ")],
    columns,
    span("─", "dim"),
  );
}

function countLine(good: number, all: number, adjective: string): Line {
  return [span(`${good} of ${all} ${adjective}`, good === all ? "good" : "warn")];
}

function truncateLines(lines: readonly Line[], maxLines: number, all: number, noun: string): readonly Line[] {
  if (lines.length <= maxLines) return lines;
  return [
    ...lines.slice(0, maxLines - 1),
    [span(`   … of ${all} ${noun}; see ${commandName()} ${noun.slice(0, -1)} list`, "dim")],
  ];
}

function eventLines({ events }: BoardState, nowMs: number, offsetMinutes: number): readonly Line[] {
  if (events.length === 0) return [[span("   no events yet", "dim")]];
  const width = Math.min(24, Math.max(...events.map(({ subject }) => textWidth(subject))));
  return events.toReversed().map(({ timeMs, tone, subject, message }): Line => {
    const isFresh = nowMs - timeMs < 3_000;
    return [
      span(`   ${formatTimeOfDay(timeMs, offsetMinutes)}  `, "dim"),
      fitSpan(span(subject, "bold"), width),
      span("  "),
      span(message, tone === "plain" ? "plain" : isFresh || tone === "bad" ? tone : "plain"),
    ];
  });
}

function hintLines({ hints, bindings }: BoardState): readonly Line[] {
  const width = Math.max(0, ...bindings.map(({ key }) => textWidth(key)));
  return [
    ...hints.map((hint): Line => {
      const [command = "", comment] = hint.split(/ (?=# )/);
      return [span(`   ${command}`), ...(comment === undefined ? [] : [span(` ${comment}`, "dim")])];
    }),
    [],
    ...bindings.map(
      ({ key, description }): Line => [span("   "), span(padEnd(key, width), "accent"), span(`  ${description}`)],
    ),
    [],
    [span("   "), ...legend],
  ];
}

const legend: Line = (
  [
    ["good", "ready"],
    ["warn", "changing, or degraded"],
    ["bad", "not ready"],
    ["dim", "being deleted"],
  ] as const
).flatMap(([state, text], at) => [span(at === 0 ? "" : "   "), markerOf(state), span(` ${text}`)]);

function footLines({ queue, bindings }: BoardState, columns: number): readonly Line[] {
  const { depth, inFlight, delayed, failing, deadLetters } = queue;
  const errors = failing + deadLetters;
  const counts = [
    span(" queue ", "dim"),
    span(`${depth} · ${inFlight} in flight · ${delayed} delayed`, "plain"),
    span(errors === 0 ? "" : ` · ${failing} failing · ${deadLetters} dead letters`, "bad"),
  ];
  const labels = (shown: typeof bindings): Line => [
    ...shown.flatMap(({ key, label }, at) => [
      span(at === 0 ? "" : "  "),
      span(key, "accent"),
      span(` ${label}`, "dim"),
    ]),
    span(" "),
  ];
  const available = columns - lineWidth(counts) - 1;
  const fitting = bindings.findLastIndex((_, at) => lineWidth(labels(bindings.slice(0, at + 1))) <= available);
  return [
    [span(" "), span("─".repeat(Math.max(0, columns - 2)), "dim")],
    justify(counts, labels(bindings.slice(0, fitting + 1)), columns),
  ];
}

/**
 * Distributes rows among sections: a section that needs less than an equal share gets all it needs, the others share the rest
 * equally. No section gets less than `minRows`, even when the sum exceeds `rows`.
 */
export function shareRows(needs: readonly number[], rows: number, minRows: number): readonly number[] {
  const order = needs.map((need, at) => ({ need, at })).toSorted((one, other) => one.need - other.need);
  const shares = needs.map(() => 0);
  let remaining = rows;
  for (const [position, { need, at }] of order.entries()) {
    const share = Math.min(need, Math.max(minRows, Math.floor(remaining / (order.length - position))));
    shares[at] = share;
    remaining = Math.max(0, remaining - share);
  }
  return shares;
}
