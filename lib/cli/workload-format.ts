import type { WorkloadPlacement } from "../api/workload-placement.ts";
import type { CopyView } from "./copy-view.ts";
import { ageOf, formatFields, formatTable } from "./output.ts";

import type { WorkloadView } from "./workload-view.ts";

/** A workload that is shown, and what stands around its view. */
export type ShownWorkload = Readonly<{
  title: string;
  apiVersion: string;
  kind: string;
  namespace: string;
  name: string;
  generation: number | undefined;
  placement: WorkloadPlacement | undefined;
  /** Placements that would govern it if that one did not. */
  others: readonly string[];
  references: readonly string[];
  view: WorkloadView;
}>;

/** Everything that is known about a workload, for people. */
export function describeWorkload(
  shown: ShownWorkload,
  { wide, nowMs }: Readonly<{ wide: boolean; nowMs: number }>,
): string {
  const { title, namespace, generation, placement, others, references, view } = shown;
  const { verdict, desired, ready, missing, controls, conditions, copies } = view;
  const more = conditions.filter(({ type, status }) => type !== "Ready" && status === "True");
  const fields = formatFields([
    ["Name", title],
    ["Namespace", namespace],
    ["Status", `${verdict.isReady ? "Ready" : notReadyWords(verdict.reason)}: ${verdict.message}`],
    ["Replicas", desired === undefined && ready === undefined ? undefined : `${ready ?? 0} ready of ${desired ?? 0}`],
    ["Generation", generation === undefined ? undefined : String(generation)],
    ["Placement", placement === undefined ? "" : placementWords(placement)],
    ["Also selected by", others.length === 0 ? undefined : others.join(", ")],
    ["Comes along", references.length === 0 ? undefined : references.join("\n")],
    ["Missing", missing.length === 0 ? undefined : missing.join("\n")],
    ["Its owner says", controls.length === 0 ? undefined : controls.join("\n")],
    ["Conditions", more.length === 0 ? undefined : more.map(({ type, message }) => `${type}: ${message}`).join("\n")],
  ]);
  if (copies.length === 0) return fields;
  const columns = ["CLUSTER", "STATE", "DESIRED", "READY", "WRITTEN", "AGE"];
  const rows = copies.map((copy) => {
    const { cluster, state, desired: asked, ready: running, lastSeen, reason, lastHeartbeat, why } = copy;
    const heartbeat = ageOf(lastHeartbeat, nowMs);
    return [
      cluster,
      state,
      numberOf(asked),
      numberOf(running),
      writtenWords(copy, generation),
      ageOf(lastSeen, nowMs) ?? "-",
      ...(wide ? [heartbeat === undefined ? "never" : `${heartbeat} ago`, reason ?? "-"] : []),
      why === "" ? "-" : why,
    ];
  });
  return `${fields}\n${formatTable([...columns, ...(wide ? ["HEARTBEAT", "REASON"] : []), "WHY"], rows)}`;
}

const notReadyWords = (reason: string): string => (reason === "NotReady" ? reason : `NotReady: ${reason}`);

/** `east 2/2`; what has no replicas is told by its state. */
export function copyWords({ cluster, desired, ready, state }: CopyView): string {
  if (desired === undefined || state === "Stale") return `${cluster} ${state}`;
  return `${cluster} ${ready ?? 0}/${desired}`;
}

/** The facts about a workload as a program reads them. */
export function workloadDocument(shown: ShownWorkload): object {
  const { apiVersion, kind, namespace, name, generation, placement, others, references, view } = shown;
  const { verdict, status, desired, ready, missing, controls, conditions, copies } = view;
  return {
    workload: { apiVersion, kind, namespace, name, ...(generation === undefined ? {} : { generation }) },
    ready: verdict.isReady,
    reason: verdict.reason,
    message: verdict.message,
    status,
    placement: placement?.metadata.name ?? null,
    selectedClusters: placement?.status?.selectedClusters ?? [],
    ...(others.length === 0 ? {} : { alsoSelectedBy: others }),
    replicas: desired === undefined && ready === undefined ? null : { desired: desired ?? 0, ready: ready ?? 0 },
    references,
    missing,
    controls,
    clusters: copies.map(({ cluster, isWanted, written, why, lastSeen, lastHeartbeat, reason, ...copy }) => ({
      name: cluster,
      wanted: isWanted,
      state: copy.state,
      desired: copy.desired ?? null,
      ready: copy.ready ?? null,
      generation: written ?? null,
      reason: reason ?? null,
      why: why === "" ? null : why,
      lastSeen: lastSeen ?? null,
      lastHeartbeat: lastHeartbeat ?? null,
    })),
    conditions,
  };
}

function placementWords({ metadata, spec, status }: WorkloadPlacement): string {
  const selected = status?.selectedClusters ?? [];
  const where = selected.length === 0 ? "no cluster" : selected.join(", ");
  return `${metadata.name} (${spec.strategy ?? "RoundRobin"} chose ${where})`;
}

function writtenWords({ written }: CopyView, generation: number | undefined): string {
  if (written === undefined) return "-";
  // A type without generations only tells that it was.
  if (generation === undefined) return "yes";
  return written >= generation ? String(written) : `${written} of ${generation}`;
}

const numberOf = (count: number | undefined): string => (count === undefined ? "-" : String(count));
