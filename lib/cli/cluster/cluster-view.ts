import type { ClusterRegistration } from "../../api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import { findCondition } from "../../model/condition.ts";
import { registrationsOfSameCluster } from "../../registration/identity.ts";
import { commandName } from "../names.ts";
import { ageOf, formatFields, type ListTable } from "../output.ts";

/** Returns the status of a cluster in the notation of `kubectl get nodes`, such as `Ready,SchedulingDisabled`. */
export function clusterStatus(registration: ClusterRegistration): string {
  const ready = findCondition(registration.status?.conditions, "Ready")?.status;
  const parts = [ready === "True" ? "Ready" : ready === "False" ? "NotReady" : "Unknown"];
  if (registration.spec.unschedulable === true) parts.push("SchedulingDisabled");
  if (registration.metadata.deletionTimestamp !== undefined) parts.push("Deleting");
  return parts.join(",");
}

/** Returns clusters as a table; `wide` adds the observed version, nodes, capacity and capabilities. */
export function clusterTable(
  registrations: readonly ClusterRegistration[],
  { wide, nowMs }: Readonly<{ wide: boolean; nowMs: number }>,
): ListTable {
  const columns = ["NAME", "LOCATION", "STATUS", "LAST HEARTBEAT", "AGE"];
  const more = ["REASON", "VERSION", "NODES", "CPU", "MEMORY", "CAPABILITIES", "TAINTS", "SAME CLUSTER"];
  const rows = registrations.map((registration) => {
    const { metadata, spec, status } = registration;
    const row = [
      metadata.name ?? "",
      spec.location,
      clusterStatus(registration),
      heartbeatOf(registration, nowMs),
      ageOf(metadata.creationTimestamp, nowMs) ?? "",
    ];
    if (!wide) return row;
    return [
      ...row,
      findCondition(status?.conditions, "Ready")?.reason ?? "",
      status?.kubernetesVersion ?? "",
      nodesOf(registration),
      status?.allocatable?.cpu ?? "",
      status?.allocatable?.memory ?? "",
      capabilityNames(registration).join(","),
      (spec.taints ?? []).map(formatTaint).join(","),
      sameClusterOf(registration, registrations).join(","),
    ];
  });
  return { columns: wide ? [...columns, ...more] : columns, rows };
}

function credentialsOf({ credentials }: ClusterRegistration["spec"]): string {
  if (credentials?.secretRef !== undefined) {
    return `secret ${credentials.secretRef.namespace}/${credentials.secretRef.name}`;
  }
  if (credentials?.eks !== undefined) return `EKS cluster ${credentials.eks.clusterName} in ${credentials.eks.region}`;
  return credentials?.secretsManager === undefined ? "configured in the controller" : "AWS Secrets Manager";
}

/** What `describeCluster` shows besides the registration itself. */
export type ClusterSurroundings = Readonly<{
  placements: readonly WorkloadPlacement[];
  /** All registrations of the workspace. */
  registrations: readonly ClusterRegistration[];
  nowMs: number;
}>;

/** Formats all known details of a cluster. */
export function describeCluster(
  registration: ClusterRegistration,
  { placements, registrations, nowMs }: ClusterSurroundings,
): string {
  const { metadata, spec, status } = registration;
  const ready = findCondition(status?.conditions, "Ready");
  const sameCluster = sameClusterOf(registration, registrations);
  const placementNames = placements
    .filter(({ status: placementStatus }) => placementStatus?.selectedClusters?.includes(metadata.name ?? "") === true)
    .map(({ metadata: { name = "" } }) => name);
  return formatFields([
    ["Name", metadata.name],
    ["Location", spec.location],
    ["Labels", formatLabels(metadata.labels ?? {})],
    ["Status", clusterStatus(registration)],
    ["Warnings", warningsOf(registration)],
    ["Reason", ready === undefined ? "not probed yet" : `${ready.reason}: ${ready.message}`],
    ["Since", ready === undefined ? undefined : `${ageOf(ready.lastTransitionTime, nowMs) ?? "?"}`],
    ["Last heartbeat", heartbeatOf(registration, nowMs)],
    ["Identity", identityOf(registration)],
    ["Same cluster", sameCluster.length === 0 ? undefined : sameCluster.join(", ")],
    ["Kubernetes", status?.kubernetesVersion],
    ["Nodes", status?.nodes === undefined ? undefined : `${status.nodes.ready} ready of ${status.nodes.total}`],
    ["Capacity", formatAmounts(status?.capacity)],
    ["Allocatable", formatAmounts(status?.allocatable)],
    ["Other pods", otherPodsOf(registration)],
    ["Capabilities", capabilitiesOf(registration)],
    ["API bindings", connectedApisOf(registration)],
    ["Taints", (spec.taints ?? []).map(formatTaint).join("\n")],
    ["Eviction", spec.evictAfterSeconds === undefined ? undefined : evictionText(spec.evictAfterSeconds)],
    ["Credentials", credentialsOf(spec)],
    ["Credentials expire", status?.credentialsExpire],
    ["Orphaned copies", status?.orphanedCopies === undefined ? undefined : `${status.orphanedCopies.count}`],
    ["Placements", placementNames.join(", ")],
    ["Age", ageOf(metadata.creationTimestamp, nowMs) ?? ""],
  ]);
}

/** Conditions that are False although the cluster may be Ready. */
function warningsOf({ status }: ClusterRegistration): string | undefined {
  const warnings = (status?.conditions ?? [])
    .filter(({ type, status: state, severity }) => type !== "Ready" && state === "False" && severity === "Warning")
    .map(({ reason, message }) => `${reason}: ${message}`);
  return warnings.length === 0 ? undefined : warnings.join("\n");
}

/** What pods request that TMC did not place. */
function otherPodsOf({ status }: ClusterRegistration): string | undefined {
  if (status?.otherPods === undefined) return undefined;
  const { unknown, cpu = "0", memory = "0" } = status.otherPods;
  if (unknown === undefined) return `${cpu} cpu, ${memory} memory requested`;
  return unknown === "Forbidden" ? "unknown: the credentials may not list pods" : "unknown: too many pods";
}

/** The names of other registrations that lead to the same cluster. */
function sameClusterOf(
  { metadata: { name = "" }, status }: ClusterRegistration,
  registrations: readonly ClusterRegistration[],
): readonly string[] {
  return registrationsOfSameCluster({ name, clusterUID: status?.clusterUID }, registrations);
}

function identityOf({ metadata, status }: ClusterRegistration): string | undefined {
  const { clusterUID, observedClusterUID } = status ?? {};
  if (observedClusterUID === undefined) return clusterUID;
  return `${clusterUID ?? "unknown"} (registered)\n${observedClusterUID} (answers now; see ${commandName()} cluster accept-identity ${metadata.name})`;
}

const evictionText = (seconds: number): string =>
  `${seconds}s after the cluster stopped being Ready, unless a placement has a toleration`;

/** Returns the age of the last heartbeat, such as `4s ago`, or `never`. */
export function heartbeatOf({ status }: ClusterRegistration, nowMs: number): string {
  const age = ageOf(status?.lastHeartbeat, nowMs);
  return age === undefined ? "never" : `${age} ago`;
}

/** Returns ready and total nodes, such as `3/3`. */
export function nodesOf({ status }: ClusterRegistration): string {
  return status?.nodes === undefined ? "" : `${status.nodes.ready}/${status.nodes.total}`;
}

function capabilityNames({ spec, status }: ClusterRegistration): readonly string[] {
  const declared = spec.capabilities ?? [];
  const denied = new Set(declared.filter(({ available }) => available === false).map(({ type }) => type));
  const all = [...declared, ...(status?.capabilities ?? [])].map(({ type }) => type);
  return [...new Set(all)].filter((type) => !denied.has(type)).toSorted();
}

function capabilitiesOf({ spec, status }: ClusterRegistration): string {
  const declared = new Map((spec.capabilities ?? []).map((each) => [each.type, each]));
  const detected = new Map((status?.capabilities ?? []).map((each) => [each.type, each]));
  return [...new Set([...declared.keys(), ...detected.keys()])]
    .toSorted()
    .map((type) => {
      const declaration = declared.get(type);
      const version = declaration?.version ?? detected.get(type)?.version;
      const source =
        declaration === undefined ? "detected" : declaration.available === false ? "declared absent" : "declared";
      return `${type}${version === undefined ? "" : ` ${version}`} (${source})`;
    })
    .join("\n");
}

function connectedApisOf({ spec, status }: ClusterRegistration): string | undefined {
  return spec.apiBindings
    ?.map(({ name }) => {
      const { connected, error } = status?.connectedAPIs?.find(({ apiBinding }) => apiBinding === name) ?? {};
      const state = connected === undefined ? "unknown" : connected ? "connected" : "not connected";
      return `${name} (${state}${error === undefined ? "" : `: ${error}`})`;
    })
    .join("\n");
}

function formatAmounts(
  amounts: Readonly<{ cpu?: string; memory?: string; pods?: string; storage?: string; gpu?: string }> | undefined,
): string | undefined {
  if (amounts === undefined) return undefined;
  const { cpu, memory, pods, storage, gpu } = amounts;
  return Object.entries({ cpu, memory, pods, storage, gpu })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name} ${value}`)
    .join(", ");
}

function formatTaint({ key, value, effect }: Readonly<{ key: string; value?: string; effect: string }>): string {
  return value === undefined || value === "" ? `${key}:${effect}` : `${key}=${value}:${effect}`;
}

function formatLabels(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .toSorted()
    .join("\n");
}
