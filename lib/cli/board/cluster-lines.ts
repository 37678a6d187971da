import type { ClusterRegistration } from "../../api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import { findCondition } from "../../model/condition.ts";
import { clusterStatus, heartbeatOf, nodesOf } from "../cluster/cluster-view.ts";
import { textWidth } from "../output.ts";
import { fitSpan, type Line, markerOf, type Span, type State, span, wrapText } from "./spans.ts";

type Column = Readonly<{ title: string; cells: readonly Span[]; priority: number }>;

/** Formats columns below dim titles; drops the columns of the lowest priority when the terminal is too narrow. */
function tableLines(markers: readonly Span[], all: readonly Column[], columns: number): readonly Line[] {
  const gap = 2;
  const widthOf = ({ title, cells }: Column): number =>
    Math.max(textWidth(title), ...cells.map(({ text }) => textWidth(text)));
  let shown = all;
  while (shown.length > 1 && shown.reduce((sum, column) => sum + widthOf(column) + gap, 3) > columns) {
    const lowest = Math.min(...shown.map(({ priority }) => priority));
    shown = shown.filter(({ priority }) => priority !== lowest);
  }
  const row = (marker: Span, cells: readonly Span[]): Line => [
    span(" "),
    marker,
    span(" "),
    ...cells.flatMap((cell, at) => {
      const column = shown[at];
      return column === undefined ? [] : [fitSpan(cell, widthOf(column)), span(" ".repeat(gap))];
    }),
  ];
  return [
    row(
      span(" "),
      shown.map(({ title }) => span(title, "dim")),
    ),
    ...markers.map((marker, at) =>
      row(
        marker,
        shown.map(({ cells }) => cells[at] ?? span("")),
      ),
    ),
  ];
}

/** The objects that the section of clusters shows. */
type ClusterSection = Readonly<{
  registrations: readonly ClusterRegistration[];
  placements: readonly WorkloadPlacement[];
}>;

/** Formats the clusters as a table, with the reason below each cluster that is not Ready or is tainted. */
export function clusterLines(
  { registrations, placements }: ClusterSection,
  columns: number,
  nowMs: number,
): readonly Line[] {
  if (registrations.length === 0) return [[span("   no clusters are registered", "dim")]];
  const column = (title: string, priority: number, cell: (each: ClusterRegistration) => Span): Column => ({
    title,
    priority,
    cells: registrations.map(cell),
  });
  const usedBy = (name: string | undefined): number =>
    placements.filter(({ status }) => name !== undefined && status?.selectedClusters?.includes(name) === true).length;
  const table = tableLines(
    registrations.map((each) => markerOf(clusterStyle(each))),
    [
      column("NAME", 9, ({ metadata }) => span(metadata.name ?? "", "bold")),
      column("LOCATION", 5, ({ spec }) => span(spec.location)),
      column("STATUS", 8, (each) => span(clusterStatus(each), clusterStyle(each))),
      column("VERSION", 3, ({ status }) => span(status?.kubernetesVersion ?? "-")),
      column("NODES", 4, (each) => span(nodesOf(each) || "-")),
      column("CPU", 2, ({ status }) => span(status?.allocatable?.cpu ?? "-")),
      column("MEMORY", 1, ({ status }) => span(status?.allocatable?.memory ?? "-")),
      column("HEARTBEAT", 7, (each) => span(heartbeatOf(each, nowMs), clusterStyle(each) === "bad" ? "bad" : "plain")),
      column("PLACEMENTS", 6, ({ metadata }) => span(countBar(usedBy(metadata.name)), "accent")),
    ],
    columns,
  );
  const [titles = [], ...rows] = table;
  return [
    titles,
    ...rows.flatMap((row, at) => {
      const each = registrations[at];
      if (each === undefined) return [row];
      const warning = clusterWarning(each);
      return warning === ""
        ? [row]
        : [row, ...wrapText(warning, columns - 8, 2).map((text): Line => [span(`     ${text}`, clusterStyle(each))])];
    }),
  ];
}

function clusterWarning({ spec, status }: ClusterRegistration): string {
  const ready = findCondition(status?.conditions, "Ready");
  const taints = (spec.taints ?? []).map(({ key, effect }) => `${key}:${effect}`);
  return [
    ...(ready === undefined || ready.status === "True" ? [] : [`${ready.reason}: ${ready.message}`]),
    ...(taints.length === 0 ? [] : [`tainted ${taints.join(", ")}`]),
  ].join("; ");
}

function clusterStyle(registration: ClusterRegistration): State {
  if (registration.metadata.deletionTimestamp !== undefined) return "dim";
  const status = clusterStatus(registration);
  if (status === "Ready") return (registration.spec.taints ?? []).length === 0 ? "good" : "warn";
  return status.startsWith("NotReady") ? "bad" : "warn";
}

function countBar(count: number): string {
  return count === 0 ? "0" : `${"■".repeat(Math.min(count, 10))} ${count}`;
}
