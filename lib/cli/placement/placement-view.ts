import { Argument } from "commander";
import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import { findCondition } from "../../model/condition.ts";
import type { ClusterDecision } from "../../placement/explain.ts";
import { commandName, parseName } from "../names.ts";
import { ageOf, formatDeadline, formatFields, formatTable, type ListTable } from "../output.ts";

/** The name of the resource in messages, as kubectl prints it. */
export const placementResource = "workloadplacement.tmc.kcp.io";

/** Creates the argument that names a placement. */
export function placementArgument(): Argument {
  return new Argument("<name>", "Name of the placement").argParser(parseName);
}

/** Returns why a placement places no workloads, as its controller or its spec says; undefined if it may place some. */
export function reasonForNoWorkloads({ spec, status }: WorkloadPlacement): string | undefined {
  const nothing = status?.conditions?.find(({ reason }) => reason === "NothingSelected");
  if (nothing !== undefined) return nothing.message;
  return spec.workloadSelector === undefined ? "it has no workloadSelector, and selects nothing" : undefined;
}

/** Returns the status of a placement as one word. */
export function placementStatus({
  metadata,
  status,
}: WorkloadPlacement): "Ready" | "NotReady" | "Pending" | "Deleting" {
  if (metadata.deletionTimestamp !== undefined) return "Deleting";
  const ready = findCondition(status?.conditions, "Ready");
  if (ready === undefined || status?.observedGeneration !== metadata.generation) return "Pending";
  return ready.status === "True" ? "Ready" : "NotReady";
}

/** Returns placements as a table; `wide` adds the reason and the message of the Ready condition. */
export function placementTable(
  placements: readonly WorkloadPlacement[],
  { wide, nowMs }: Readonly<{ wide: boolean; nowMs: number }>,
): ListTable {
  const columns = ["NAME", "STRATEGY", "CLUSTERS", "STATUS", "AGE"];
  const rows = placements.map((placement) => {
    const { metadata, spec, status } = placement;
    const row = [
      metadata.name ?? "",
      spec.strategy ?? "RoundRobin",
      (status?.selectedClusters ?? []).join(","),
      placementStatus(placement),
      ageOf(metadata.creationTimestamp, nowMs) ?? "",
    ];
    const ready = findCondition(status?.conditions, "Ready");
    return wide ? [...row, ready?.reason ?? "", ready?.message ?? ""] : row;
  });
  return { columns: wide ? [...columns, "REASON", "MESSAGE"] : columns, rows };
}

/** Formats all known details of a placement, including the decision about each cluster. */
export function describePlacement(placement: WorkloadPlacement, nowMs: number): string {
  const { metadata, spec, status } = placement;
  const ready = findCondition(status?.conditions, "Ready");
  const { strategy, ...otherFields } = spec;
  const noWorkloads = reasonForNoWorkloads(placement);
  const fields = formatFields([
    ["Name", metadata.name],
    ["Strategy", strategy ?? "RoundRobin"],
    ...Object.entries(otherFields).map(([name, value]): [string, string] => [
      name,
      typeof value === "string" ? value : JSON.stringify(value),
    ]),
    ["Status", placementStatus(placement)],
    ["Reason", ready === undefined ? "not decided yet" : `${ready.reason}: ${ready.message}`],
    ["Since", ready === undefined ? undefined : (ageOf(ready.lastTransitionTime, nowMs) ?? "?")],
    ["Clusters", (status?.selectedClusters ?? []).join(", ")],
    ["Workloads", noWorkloads === undefined ? undefined : `none: ${noWorkloads}`],
    ["Age", ageOf(metadata.creationTimestamp, nowMs) ?? ""],
  ]);
  const decisions = status?.decisions ?? [];
  const omitted = status?.decisionsOmitted;
  const rest =
    omitted === undefined ? "" : `and ${omitted.count} more; see ${commandName()} explain ${metadata.name}\n`;
  const parts = [
    fields,
    ...(decisions.length === 0 ? [] : [`${formatDecisions(decisions, nowMs)}${rest}`]),
    ...formatPlacedWorkloads(status, nowMs),
    ...formatHistory(status?.history ?? [], nowMs),
  ];
  return parts.join("\n");
}

/** Formats the placed workloads in the order of the status, which lists unhealthy workloads first. */
function formatPlacedWorkloads(status: WorkloadPlacement["status"], nowMs: number): readonly string[] {
  const placed = status?.placedWorkloads ?? [];
  if (placed.length === 0) return [];
  const rows = placed.map(({ kind, namespace, name, state, clusters = [], moreClusters, since }) => [
    kind,
    `${namespace}/${name}`,
    state,
    clusters.join(",") + (moreClusters === undefined ? "" : ` and ${moreClusters} more`),
    ageOf(since, nowMs) ?? "-",
  ]);
  const omitted = status?.placedWorkloadsOmitted;
  const states = (omitted?.states ?? []).map(({ state, count }) => `${count} ${state}`).join(", ");
  const rest = omitted === undefined ? "" : `and ${omitted.count} more: ${states}\n`;
  return [`${formatTable(["KIND", "WORKLOAD", "STATE", "CLUSTERS", "SINCE"], rows)}${rest}`];
}

function formatHistory(
  history: NonNullable<NonNullable<WorkloadPlacement["status"]>["history"]>,
  nowMs: number,
): readonly string[] {
  if (history.length === 0) return [];
  const rows = history.map(({ time, reason, added = [], removed = [], message = "" }) => [
    ageOf(time, nowMs) ?? time,
    reason,
    [...added.map((name) => `+${name}`), ...removed.map((name) => `-${name}`)].join(" "),
    message,
  ]);
  return [formatTable(["AGE", "REASON", "CLUSTERS", "MESSAGE"], rows)];
}

function formatDecisions(decisions: readonly ClusterDecision[], nowMs: number): string {
  return formatTable(
    ["CLUSTER", "SELECTED", "REASON", "SCORE", "MESSAGE"],
    decisions.map(({ cluster, selected, reason, score, message, until }) => [
      cluster,
      selected ? "yes" : "no",
      reason,
      score === undefined ? "-" : String(score),
      until === undefined ? message : `${message}; moves ${selected ? "" : "back "}${formatDeadline(until, nowMs)}`,
    ]),
  );
}
