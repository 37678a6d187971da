import type { ClusterRegistration } from "../api/cluster-registration.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import { findCondition } from "../model/condition.ts";
import { ageOf, formatFields, formatTable } from "./output.ts";

/** How a cluster is, in one word, and what else keeps work away from it. */
export function clusterStatus(registration: ClusterRegistration): string {
  const ready = findCondition(registration.status?.conditions, "Ready")?.status;
  const words = [ready === "True" ? "Ready" : ready === "False" ? "NotReady" : "Unknown"];
  if (registration.spec.unschedulable === true) words.push("SchedulingDisabled");
  if (registration.metadata.deletionTimestamp !== undefined) words.push("Deleting");
  return words.join(",");
}

/** Clusters as a table; wide has what was found out about them too. */
export function formatClusters(
  registrations: readonly ClusterRegistration[],
  { wide, nowMs }: Readonly<{ wide: boolean; nowMs: number }>,
): string {
  const columns = ["NAME", "LOCATION", "STATUS", "LAST HEARTBEAT", "AGE"];
  const more = ["REASON", "VERSION", "NODES", "CPU", "MEMORY", "CAPABILITIES", "TAINTS"];
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
    ];
  });
  return formatTable(wide ? [...columns, ...more] : columns, rows);
}

function credentialsOf({ credentials }: ClusterRegistration["spec"]): string {
  if (credentials?.secretRef !== undefined) {
    return `secret ${credentials.secretRef.namespace}/${credentials.secretRef.name}`;
  }
  if (credentials?.eks !== undefined) return `EKS cluster ${credentials.eks.clusterName} in ${credentials.eks.region}`;
  return credentials?.secretsManager === undefined ? "the controller's own" : "AWS Secrets Manager";
}

/** Everything that is known about a cluster, for people. */
export function describeCluster(
  registration: ClusterRegistration,
  placements: readonly WorkloadPlacement[],
  nowMs: number,
): string {
  const { metadata, spec, status } = registration;
  const ready = findCondition(status?.conditions, "Ready");
  const users = placements
    .filter(({ status: placed }) => placed?.selectedClusters?.includes(metadata.name ?? "") === true)
    .map(({ metadata: { name = "" } }) => name);
  return formatFields([
    ["Name", metadata.name],
    ["Location", spec.location],
    ["Labels", pairs(metadata.labels ?? {})],
    ["Status", clusterStatus(registration)],
    ["Reason", ready === undefined ? "nobody has looked at it yet" : `${ready.reason}: ${ready.message}`],
    ["Since", ready === undefined ? undefined : `${ageOf(ready.lastTransitionTime, nowMs) ?? "?"}`],
    ["Last heartbeat", heartbeatOf(registration, nowMs)],
    ["Kubernetes", status?.kubernetesVersion],
    ["Nodes", status?.nodes === undefined ? undefined : `${status.nodes.ready} ready of ${status.nodes.total}`],
    ["Capacity", amountsOf(status?.capacity)],
    ["Allocatable", amountsOf(status?.allocatable)],
    ["Capabilities", capabilitiesOf(registration)],
    ["API bindings", connectedApisOf(registration)],
    ["Taints", (spec.taints ?? []).map(formatTaint).join("\n")],
    ["Work leaves", spec.evictAfterSeconds === undefined ? undefined : leavesWords(spec.evictAfterSeconds)],
    ["Credentials", credentialsOf(spec)],
    ["Credentials end", status?.credentialsExpire],
    ["Placements", users.join(", ")],
    ["Age", ageOf(metadata.creationTimestamp, nowMs) ?? ""],
  ]);
}

const leavesWords = (seconds: number): string => `${seconds}s after it stopped being Ready, unless a placement says`;

/** `4s ago`, or that there was none. */
export function heartbeatOf({ status }: ClusterRegistration, nowMs: number): string {
  const age = ageOf(status?.lastHeartbeat, nowMs);
  return age === undefined ? "never" : `${age} ago`;
}

/** `3/3`: nodes that are ready, of all. */
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
      const said = declared.get(type);
      const version = said?.version ?? detected.get(type)?.version;
      const source = said === undefined ? "detected" : said.available === false ? "declared absent" : "declared";
      return `${type}${version === undefined ? "" : ` ${version}`} (${source})`;
    })
    .join("\n");
}

function connectedApisOf({ spec, status }: ClusterRegistration): string | undefined {
  return spec.apiBindings
    ?.map(({ name }) => {
      const { connected, error } = status?.connectedAPIs?.find(({ apiBinding }) => apiBinding === name) ?? {};
      const state = connected === undefined ? "not known" : connected ? "connected" : "not connected";
      return `${name} (${state}${error === undefined ? "" : `: ${error}`})`;
    })
    .join("\n");
}

function amountsOf(
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

function pairs(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .toSorted()
    .join("\n");
}
