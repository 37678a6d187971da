import { commandName } from "../names.ts";
import { padEnd, textWidth } from "../output.ts";
import type { CopyView } from "../workload/copy-view.ts";
import { copySummary } from "../workload/workload-format.ts";
import type { ListedWorkload } from "../workload/workload-list.ts";
import type { WorkloadView } from "../workload/workload-view.ts";
import { clipText, fitSpan, type Line, lineWidth, markerOf, type State, span } from "./spans.ts";

/** Formats one line per workload; when there are too few rows, the most severe workloads come first. */
export function workloadLines(workloads: readonly ListedWorkload[], columns: number, rows: number): readonly Line[] {
  if (workloads.length === 0) return [[span("   no workloads", "dim")]];
  const fits = workloads.length <= rows;
  const ordered = fits ? workloads : workloads.toSorted((one, other) => severityOf(one) - severityOf(other));
  const shown = fits ? ordered : ordered.slice(0, Math.max(0, rows - 1));
  const widest = (max: number, text: (each: ListedWorkload) => string): number =>
    Math.min(max, Math.max(4, ...shown.map((each) => textWidth(text(each)))));
  const widths = {
    name: widest(28, nameOf),
    kind: widest(14, ({ kind }) => kind),
    clusters: widest(Math.max(20, Math.floor(columns / 3)), clustersText),
    status: widest(10, ({ view }) => view.status),
  };
  const lines = shown.map((each): Line => {
    const style = workloadStyle(each);
    const start: Line = [
      span(" "),
      markerOf(style),
      span(" "),
      fitSpan(span(nameOf(each), "bold"), widths.name),
      span("  "),
      fitSpan(span(each.kind, "dim"), widths.kind),
      span("  "),
      ...clusterSpans(each, widths.clusters),
      span("  "),
      fitSpan(span(each.view.status, style), widths.status),
      span("  "),
    ];
    const message = workloadMessage(each);
    return [
      ...start,
      span(clipText(message, Math.max(0, columns - lineWidth(start) - 1)), style === "good" ? "plain" : style),
    ];
  });
  const rest = workloads.length - shown.length;
  return rest === 0 ? lines : [...lines, [span(`   … and ${rest} more; see ${commandName()} workload list -A`, "dim")]];
}

function workloadStyle({ view }: ListedWorkload): State {
  if (isBeingDeleted(view)) return "dim";
  if (view.readiness.isReady) return view.copies.every(({ state }) => state === "Ready") ? "good" : "warn";
  return view.status === "Failed" || view.status === "Held" || view.status === "Stale" ? "bad" : "warn";
}

/** Whether a user deletes the workload and nothing prevents it. */
export function isBeingDeleted({ readiness, copies }: WorkloadView): boolean {
  const isHindered = copies.some(({ state }) => state === "Held" || state === "Failed" || state === "Stale");
  return readiness.reason === "Deleted" && !isHindered;
}

const severities: readonly State[] = ["bad", "warn", "good", "dim"];
const severityOf = (each: ListedWorkload): number => severities.indexOf(workloadStyle(each));

const nameOf = ({ namespace, name }: ListedWorkload): string => `${namespace}/${name}`;
const clustersText = ({ view }: ListedWorkload): string =>
  view.copies.length === 0 ? "no cluster" : view.copies.map(copySummary).join(", ");

/** Returns each cluster in the color of its state, or one span when they do not fit. */
function clusterSpans(each: ListedWorkload, width: number): Line {
  const { copies } = each.view;
  if (copies.length === 0 || textWidth(clustersText(each)) > width) {
    return [fitSpan(span(clustersText(each), copies.length === 0 ? "bad" : "accent"), width)];
  }
  const parts = copies.flatMap(
    (copy, at): Line => [...(at === 0 ? [] : [span(", ")]), span(copySummary(copy), copyStyle(copy))],
  );
  return [...parts, span(padEnd("", width - lineWidth(parts)))];
}

function copyStyle({ state }: CopyView): State {
  if (state === "Ready") return "good";
  return state === "Failed" || state === "Stale" || state === "Held" ? "bad" : "warn";
}

/** Returns why the workload is not ready, or the message of a copy that is not Ready. */
function workloadMessage({ view }: ListedWorkload): string {
  const { readiness, copies } = view;
  if (isBeingDeleted(view)) return `is being deleted: ${readiness.message}`;
  const unready = copies.find(({ state, message }) => state !== "Ready" && message !== "");
  if (readiness.isReady)
    return unready === undefined ? readiness.message : `${unready.targetCluster}: ${unready.message}`;
  return unready === undefined || copies.length > 2
    ? readiness.message
    : `${unready.targetCluster}: ${unready.message}`;
}
