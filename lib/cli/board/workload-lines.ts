import type { CopyView } from "../copy-view.ts";
import { padEnd, textWidth } from "../output.ts";
import { copyWords } from "../workload-format.ts";
import type { ListedWorkload } from "../workload-list.ts";
import { clipText, fitted, type Line, lineWidth, type Style, span } from "./spans.ts";

/** A line for each workload; where there is no room for all, those in trouble come first. */
export function workloadLines(workloads: readonly ListedWorkload[], columns: number, room: number): readonly Line[] {
  if (workloads.length === 0) return [[span("   none are placed on clusters", "dim")]];
  const fits = workloads.length <= room;
  const ordered = fits ? workloads : workloads.toSorted((one, other) => severityOf(one) - severityOf(other));
  const shown = fits ? ordered : ordered.slice(0, Math.max(0, room - 1));
  const widest = (most: number, text: (each: ListedWorkload) => string): number =>
    Math.min(most, Math.max(4, ...shown.map((each) => textWidth(text(each)))));
  const widths = {
    name: widest(28, nameOf),
    kind: widest(14, ({ kind }) => kind),
    where: widest(Math.max(20, Math.floor(columns / 3)), whereOf),
    status: widest(10, ({ view }) => view.status),
  };
  const lines = shown.map((each): Line => {
    const tone = workloadTone(each);
    const start: Line = [
      span(" "),
      span("●", tone),
      span(" "),
      fitted(span(nameOf(each), "bold"), widths.name),
      span("  "),
      fitted(span(each.kind, "dim"), widths.kind),
      span("  "),
      ...placesOf(each, widths.where),
      span("  "),
      fitted(span(each.view.status, tone), widths.status),
      span("  "),
    ];
    const why = whyOf(each);
    return [
      ...start,
      span(clipText(why, Math.max(0, columns - lineWidth(start) - 1)), tone === "good" ? "plain" : tone),
    ];
  });
  const rest = workloads.length - shown.length;
  return rest === 0 ? lines : [...lines, [span(`   … and ${rest} more; tmc workload list -A shows them`, "dim")]];
}

/** How good it looks. */
export function workloadTone({ view }: ListedWorkload): Style {
  if (view.verdict.isReady) return view.copies.every(({ state }) => state === "Ready") ? "good" : "warn";
  return view.status === "Failed" || view.status === "Held" || view.status === "Stale" ? "bad" : "warn";
}

const severities: readonly Style[] = ["bad", "warn", "good"];
const severityOf = (each: ListedWorkload): number => severities.indexOf(workloadTone(each));

const nameOf = ({ namespace, name }: ListedWorkload): string => `${namespace}/${name}`;
const whereOf = ({ view }: ListedWorkload): string =>
  view.copies.length === 0 ? "nowhere" : view.copies.map(copyWords).join(", ");

/** Each cluster in the colour of its own state. */
function placesOf(each: ListedWorkload, width: number): Line {
  const { copies } = each.view;
  if (copies.length === 0 || textWidth(whereOf(each)) > width) {
    return [fitted(span(whereOf(each), copies.length === 0 ? "bad" : "accent"), width)];
  }
  const parts = copies.flatMap(
    (copy, at): Line => [...(at === 0 ? [] : [span(", ")]), span(copyWords(copy), copyTone(copy))],
  );
  return [...parts, span(padEnd("", width - lineWidth(parts)))];
}

function copyTone({ state }: CopyView): Style {
  if (state === "Ready") return "good";
  return state === "Failed" || state === "Stale" || state === "Held" ? "bad" : "warn";
}

/** What keeps it from being ready, or what else there is to know. */
function whyOf({ view }: ListedWorkload): string {
  const { verdict, copies } = view;
  const trouble = copies.find(({ state, why }) => state !== "Ready" && why !== "");
  if (verdict.isReady) return trouble === undefined ? verdict.message : `${trouble.cluster}: ${trouble.why}`;
  return trouble === undefined || copies.length > 2 ? verdict.message : `${trouble.cluster}: ${trouble.why}`;
}
