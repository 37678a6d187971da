import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import { ageOf, formatFields, formatTable } from "../output.ts";
import type { CopyView } from "./copy-view.ts";

import type { WorkloadView } from "./workload-view.ts";

/** A workload with its view and its placement, for output. */
export type WorkloadDetails = Readonly<{
  title: string;
  apiVersion: string;
  kind: string;
  namespace: string;
  name: string;
  generation: number | undefined;
  placement: WorkloadPlacement | undefined;
  /** Other placements that select the workload but do not govern it. */
  otherPlacements: readonly string[];
  references: readonly string[];
  /** The namespace of its copies; undefined if there are none. */
  downstreamNamespace: string | undefined;
  /** The kubectl command that shows the copy on a cluster, by the name of the cluster. */
  commands: ReadonlyMap<string, string>;
  view: WorkloadView;
}>;

/** Formats all known details of a workload. */
export function describeWorkload(
  details: WorkloadDetails,
  { wide, nowMs }: Readonly<{ wide: boolean; nowMs: number }>,
): string {
  const { title, namespace, generation, placement, otherPlacements, references, view } = details;
  const { readiness, missing, controls, conditions, copies } = view;
  const otherConditions = conditions.filter(({ type, status }) => type !== "Ready" && status === "True");
  const fields = formatFields([
    ["Name", title],
    ["Namespace", namespace],
    ["Status", `${readiness.isReady ? "Ready" : notReadyText(readiness.reason)}: ${readiness.message}`],
    ["Replicas", replicasText(view, nowMs)],
    ["Generation", generation === undefined ? undefined : String(generation)],
    ["Downstream namespace", details.downstreamNamespace],
    ["Placement", placement === undefined ? "" : placementText(placement)],
    ["Also selected by", otherPlacements.length === 0 ? undefined : otherPlacements.join(", ")],
    ["Dependencies", references.length === 0 ? undefined : references.join("\n")],
    ["Missing dependencies", missing.length === 0 ? undefined : missing.join("\n")],
    ["Sync controls", controls.length === 0 ? undefined : controls.join("\n")],
    [
      "Conditions",
      otherConditions.length === 0
        ? undefined
        : otherConditions.map(({ type, message }) => `${type}: ${message}`).join("\n"),
    ],
  ]);
  if (copies.length === 0) return fields;
  const columns = ["CLUSTER", "STATE", "DESIRED", "READY", "WRITTEN", "AGE"];
  const rows = copies.map((copy) => {
    const {
      targetCluster,
      state,
      desired: desiredReplicas,
      ready: readyReplicas,
      lastObserved,
      reason,
      lastHeartbeat,
      message,
    } = copy;
    const heartbeat = ageOf(lastHeartbeat, nowMs);
    return [
      targetCluster,
      state,
      countText(desiredReplicas),
      countText(readyReplicas),
      writtenText(copy, generation),
      ageOf(lastObserved, nowMs) ?? "-",
      ...(wide ? [heartbeat === undefined ? "never" : `${heartbeat} ago`, reason ?? "-"] : []),
      message === "" ? "-" : message,
    ];
  });
  const table = formatTable([...columns, ...(wide ? ["HEARTBEAT", "REASON"] : []), "MESSAGE"], rows);
  const commands = copies.flatMap(({ targetCluster }) => details.commands.get(targetCluster) ?? []);
  const onClusters =
    commands.length === 0 ? "" : `\n${commandsTitle(commands)}\n${commands.map((each) => `  ${each}\n`).join("")}`;
  return `${fields}\n${table}${onClusters}`;
}

function commandsTitle(commands: readonly string[]): string {
  const areGuessed = commands.some((each) => each.startsWith("kubectl --context "));
  return `To see it on its clusters${areGuessed ? ", if your kubeconfig has a context for each of them" : ""}:`;
}

/** A cluster that is not Ready is named, because its replicas do not count as ready. */
function replicasText({ desired, ready, uncounted }: WorkloadView, nowMs: number): string | undefined {
  if (desired === undefined && ready === undefined) return undefined;
  const missing = uncounted.map(({ targetCluster, lastHeartbeat }) => {
    const age = ageOf(lastHeartbeat, nowMs);
    return `; ${targetCluster} is not Ready, ${age === undefined ? "never heard from" : `last heard from ${age} ago`}`;
  });
  return `${ready ?? 0} ready of ${desired ?? 0} desired${missing.join("")}`;
}

const notReadyText = (reason: string): string => (reason === "NotReady" ? reason : `NotReady: ${reason}`);

/** Returns cluster and ready replicas, such as `east 2/2`; for a type without replicas, cluster and state. */
export function copySummary({ targetCluster, desired, ready, state }: CopyView): string {
  if (desired === undefined || state === "Stale") return `${targetCluster} ${state}`;
  return `${targetCluster} ${ready ?? 0}/${desired}`;
}

/** Returns the details of a workload as a document for programs. */
export function workloadDocument(details: WorkloadDetails): object {
  const { apiVersion, kind, namespace, name, generation, placement, otherPlacements, references, view } = details;
  const { readiness, status, desired, ready, missing, controls, conditions, copies } = view;
  return {
    workload: { apiVersion, kind, namespace, name, ...(generation === undefined ? {} : { generation }) },
    ready: readiness.isReady,
    reason: readiness.reason,
    message: readiness.message,
    status,
    placement: placement?.metadata.name ?? null,
    selectedClusters: placement?.status?.selectedClusters ?? [],
    downstreamNamespace: details.downstreamNamespace ?? null,
    ...(otherPlacements.length === 0 ? {} : { alsoSelectedBy: otherPlacements }),
    replicas: desired === undefined && ready === undefined ? null : { desired: desired ?? 0, ready: ready ?? 0 },
    references,
    missing,
    controls,
    clusters: copies.map(
      ({ targetCluster, isTarget, writtenGeneration, message, lastObserved, lastHeartbeat, reason, ...copy }) => ({
        name: targetCluster,
        target: isTarget,
        state: copy.state,
        desired: copy.desired ?? null,
        ready: copy.ready ?? null,
        generation: writtenGeneration ?? null,
        reason: reason ?? null,
        message: message === "" ? null : message,
        lastObservedTime: lastObserved ?? null,
        lastHeartbeat: lastHeartbeat ?? null,
        command: details.commands.get(targetCluster) ?? null,
      }),
    ),
    conditions,
  };
}

function placementText({ metadata, spec, status }: WorkloadPlacement): string {
  const selected = status?.selectedClusters ?? [];
  const clusters = selected.length === 0 ? "no cluster" : selected.join(", ");
  return `${metadata.name} (${spec.strategy ?? "RoundRobin"} selected ${clusters})`;
}

function writtenText({ writtenGeneration }: CopyView, generation: number | undefined): string {
  if (writtenGeneration === undefined) return "-";
  // A type without generations only has the information that it was written.
  if (generation === undefined) return "yes";
  return writtenGeneration >= generation ? String(writtenGeneration) : `${writtenGeneration} of ${generation}`;
}

const countText = (count: number | undefined): string => (count === undefined ? "-" : String(count));
