import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import { findCondition } from "../../model/condition.ts";
import { commandName } from "../names.ts";
import { formatAge, formatTimeOfDay, padEnd, textWidth } from "../output.ts";
import { placementStatus } from "../placement/placement-view.ts";
import { fitSpan, type Line, lineWidth, markerOf, type State, span, wrapText } from "./spans.ts";

function placementStyle(placement: WorkloadPlacement): State {
  switch (placementStatus(placement)) {
    case "Ready":
      // A cluster that is only tolerated (its reason is not Selected) will be replaced.
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

const bySeverity: readonly State[] = ["bad", "warn", "good", "dim"];

/** The time that is shown, and the offset of local time from UTC. */
export type ShownTime = Readonly<{ nowMs: number; offsetMinutes: number }>;

/** Formats one or more lines per placement; when there are too few rows, the most severe placements come first. */
export function placementLines(
  placements: readonly WorkloadPlacement[],
  { columns, rows, time }: Readonly<{ columns: number; rows: number; time: ShownTime }>,
): readonly Line[] {
  if (placements.length === 0) return [[span("   no placements", "dim")]];
  const widths = [0, 1, 2].map((at) =>
    Math.max(4, ...placements.map((each) => textWidth(placementCells(each)[at] ?? ""))),
  );
  const layout: Layout = {
    columns,
    time,
    widths: [28, 12, 30].map((max, at) => Math.min(max, widths[at] ?? 0)),
    messageLines: 2,
  };
  // With too few rows, the messages are shortened first, then the rejected clusters are omitted.
  const layouts: readonly Layout[] = [
    layout,
    { ...layout, messageLines: 1 },
    { ...layout, messageLines: 1, isBrief: true },
  ];
  for (const each of layouts) {
    const lines = placements.flatMap((placement) => placementRow(placement, each));
    if (lines.length <= rows) return lines;
  }
  const severity = (placement: WorkloadPlacement): number => bySeverity.indexOf(placementStyle(placement));
  const shown: Line[] = [];
  let count = 0;
  for (const placement of placements.toSorted((one, other) => severity(one) - severity(other))) {
    const lines = placementRow(placement, { ...layout, messageLines: 1, isBrief: true });
    if (shown.length + lines.length > rows - 1) break;
    shown.push(...lines);
    count += 1;
  }
  return [...shown, [span(`   … and ${placements.length - count} more; see ${commandName()} placement list`, "dim")]];
}

type Layout = Readonly<{
  columns: number;
  time: ShownTime;
  widths: readonly number[];
  /** Maximum number of lines for the message. */
  messageLines: number;
  /** Omits the rejected clusters. */
  isBrief?: boolean;
}>;

function placementRow(
  placement: WorkloadPlacement,
  { columns, time, widths, messageLines, isBrief = false }: Layout,
): readonly Line[] {
  const statusStyle = placementStyle(placement);
  const [name = "", strategy = "", clusters = ""] = placementCells(placement);
  const [nameWidth = 0, strategyWidth = 0, clustersWidth = 0] = widths;
  const start: Line = [
    span(" "),
    markerOf(statusStyle),
    span(" "),
    fitSpan(span(name, "bold"), nameWidth),
    span("  "),
    fitSpan(span(strategy, "dim"), strategyWidth),
    span("  "),
    fitSpan(span(clusters, clusters === "none" ? "bad" : "accent"), clustersWidth),
    span("  "),
  ];
  const style = statusStyle === "good" ? "plain" : statusStyle;
  const [firstLine = "", ...moreLines] = wrapText(
    placementMessage(placement, time),
    Math.max(20, columns - lineWidth(start) - 1),
    messageLines,
  );
  const indent = " ".repeat(lineWidth(start));
  return [
    [...start, span(firstLine, style)],
    ...moreLines.map((text): Line => [span(`${indent}${text}`, style)]),
    ...(statusStyle === "bad" && !isBrief ? rejectionLines(placement, columns) : []),
  ];
}

/** Formats why each cluster was rejected, for a placement without a selected cluster. */
function rejectionLines({ status }: WorkloadPlacement, columns: number): readonly Line[] {
  const rejected = (status?.decisions ?? []).filter(({ selected }) => !selected).slice(0, 3);
  const width = Math.max(0, ...rejected.map(({ cluster }) => textWidth(cluster)));
  return rejected.map(({ cluster, message }): Line => {
    const start = [span("     └ ", "dim"), span(padEnd(cluster, width), "bold"), span("  ")];
    return [
      ...start,
      ...wrapText(message, Math.max(10, columns - lineWidth(start) - 1), 1).map((text) => span(text, "dim")),
    ];
  });
}

function placementCells({ metadata, spec, status }: WorkloadPlacement): readonly string[] {
  const selected = status?.selectedClusters ?? [];
  return [
    metadata.name ?? "",
    spec.strategy ?? "RoundRobin",
    selected.length === 0 ? "none" : `→ ${selected.join(", ")}`,
  ];
}

/** Returns the message of the Ready condition, extended by what will change and by notable decisions about the selected clusters. */
function placementMessage({ metadata, status }: WorkloadPlacement, time: ShownTime): string {
  if (metadata.deletionTimestamp !== undefined) return "is being deleted";
  const ready = findCondition(status?.conditions, "Ready");
  if (ready === undefined) return "not decided yet";
  const notes = (status?.decisions ?? []).flatMap((decision) => {
    const { cluster, selected, reason, message, actual, until, parts = [] } = decision;
    if (until !== undefined) {
      const cause = selected && actual !== undefined ? `: ${actual}` : "";
      return [`${selected ? "leaves" : "returns to"} ${cluster} ${deadlineText(until, time)}${cause}`];
    }
    if (!selected) return [];
    if (reason !== "Selected") return [`${cluster} ${message}`];
    return parts.length === 0
      ? []
      : [parts.map(({ name, value }) => `${name} ${value > 0 ? "+" : ""}${value}`).join(", ")];
  });
  return [ready.message, ...new Set(notes)].join("; ");
}

/** Formats a deadline with the time that remains, such as `at 17:06:17, in 3m12s`. */
function deadlineText(until: string, { nowMs, offsetMinutes }: ShownTime): string {
  const ms = Date.parse(until);
  if (Number.isNaN(ms)) return `at ${until}`;
  return `at ${formatTimeOfDay(ms, offsetMinutes)}, ${ms > nowMs ? `in ${formatAge(ms - nowMs)}` : "now"}`;
}
