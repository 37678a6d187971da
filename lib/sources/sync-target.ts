import { valueAt } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { isQuantity } from "@tmc/kube/quantity.ts";
import { findCondition } from "../model/condition.ts";
import { parseDurationSeconds } from "../model/timestamp.ts";
import type { ClusterView, Pending } from "./cluster.ts";
import type { KubeconfigSecret } from "./secret-template.ts";
import {
  accessFields,
  arrayAt,
  checkedSecret,
  checkedServer,
  parseConditions,
  type ReadContext,
  type SourceSpec,
  type SourceStatus,
  sourceOriginOf,
  templatedSecret,
  timestampAt,
  toRegistration,
  trimmedTextAt,
} from "./view.ts";

/** Three heartbeats of a syncer; the same timeout as in kcp's original TMC. */
const heartbeatTimeoutMs = 60_000;
/** Taint of a target whose `evictAfter` time has passed. */
const evictTaint = "workload.kcp.io/evict";

/**
 * Reads a SyncTarget in any of its existing schemas: that of kcp's original TMC (no endpoint, a syncer reports the status),
 * and later ones with `workloadCluster` or `apiServerURL`.
 */
export function readSyncTarget(object: KubeObject, { logicalCluster, template, nowMs }: ReadContext): ClusterView {
  const origin = sourceOriginOf("synctarget", logicalCluster, object);
  const address =
    trimmedTextAt(object, "spec", "workloadCluster", "endpoint") || trimmedTextAt(object, "spec", "apiServerURL");
  const checked = address === "" ? undefined : checkedServer(address);
  const [server, badServer] = checked !== undefined && "server" in checked ? [checked.server] : [undefined, checked];
  const declared = declaredSecret(object) ?? (template === undefined ? undefined : templatedSecret(template, origin));
  const [secret, noSecret] = declared !== undefined && "reason" in declared ? [undefined, declared] : [declared];
  const eviction = parseEviction(object, nowMs);
  const { status, staleAtMs } = parseStatus(object, nowMs);
  const changeTimes = [eviction.atMs, staleAtMs].filter((timeMs) => timeMs !== undefined);
  return {
    origin,
    registration: toRegistration(
      object,
      {
        ...accessFields(origin, { secret, server }),
        capabilities: capabilitiesOf(object),
        taints: eviction.taints,
        ...(eviction.afterSeconds === undefined ? {} : { evictAfterSeconds: eviction.afterSeconds }),
        unschedulable: valueAt(object, "spec", "unschedulable") === true,
      },
      status,
    ),
    endpoint: server,
    pending: badServer ?? noSecret,
    changesAtMs: changeTimes.length === 0 ? undefined : Math.min(...changeTimes),
  };
}

/** Returns the Secret that the target names; undefined if it names none. */
function declaredSecret(object: KubeObject): KubeconfigSecret | Pending | undefined {
  const credentials = valueAt(object, "spec", "workloadCluster", "credentials");
  const name = trimmedTextAt(credentials, "secretRef", "name");
  if (name !== "") {
    const key = trimmedTextAt(credentials, "secretRef", "key") || "kubeconfig";
    return checkedSecret({ namespace: trimmedTextAt(credentials, "secretRef", "namespace"), name, key });
  }
  if (trimmedTextAt(credentials, "serviceAccountRef", "name") === "") return undefined;
  return { reason: "KubeconfigPending", message: "serviceAccountRef is not supported: use secretRef" };
}

/** Merges capabilities by type, because some schemas have an entry per resource. A type is available if all its entries are. */
function capabilitiesOf(object: KubeObject): NonNullable<SourceSpec["capabilities"]> {
  const available = new Map<string, boolean>();
  for (const entry of arrayAt(object, "spec", "capabilities")) {
    const type = trimmedTextAt(entry, "type");
    if (type === "") continue;
    available.set(type, (available.get(type) ?? true) && valueAt(entry, "available") !== false);
  }
  return [...available].map(([type, isAvailable]) => ({ type, available: isAvailable }));
}

type EvictionSettings = Readonly<{
  taints: NonNullable<SourceSpec["taints"]>;
  atMs?: number;
  afterSeconds?: number;
}>;

/** Parses `evictAfter`: a timestamp in kcp's original TMC, a duration since the last contact in later schemas. */
function parseEviction(object: KubeObject, nowMs: number): EvictionSettings {
  const evictMs = timestampAt(object, "spec", "evictAfter");
  if (evictMs === undefined) {
    const seconds = parseDurationSeconds(trimmedTextAt(object, "spec", "evictAfter"));
    return seconds === undefined ? { taints: [] } : { taints: [], afterSeconds: Math.ceil(seconds) };
  }
  if (evictMs > nowMs) return { taints: [], atMs: evictMs };
  const timeAdded = new Date(evictMs).toISOString();
  return { taints: [{ key: evictTaint, effect: "NoExecute", timeAdded }] };
}

/** The heartbeat fields of the different SyncTarget schemas. */
export const heartbeatFields: readonly (readonly string[])[] = [
  ["lastSyncerHeartbeatTime"],
  ["lastHeartbeatTime"],
  ["lastHeartbeat"],
  ["heartbeatTime"],
  ["heartbeat", "lastHeartbeat"],
];

/** Parses the status that the syncer reports. A dead syncer reports nothing, so the heartbeat's age is measured with our own clock. */
function parseStatus(object: KubeObject, nowMs: number): { status: SourceStatus; staleAtMs?: number | undefined } {
  const conditions = parseConditions(object);
  const isReady = findCondition(conditions, "Ready")?.status === "True";
  const heartbeats = heartbeatFields
    .map((path) => timestampAt(object, "status", ...path))
    .filter((timeMs) => timeMs !== undefined);
  const lastMs = heartbeats.length === 0 ? undefined : Math.max(...heartbeats);
  const staleAtMs = lastMs === undefined ? undefined : lastMs + heartbeatTimeoutMs;
  const isStale = staleAtMs !== undefined && staleAtMs <= nowMs;
  const kubernetesVersion = trimmedTextAt(object, "status", "clusterInfo", "version");
  return {
    status: {
      conditions: isReady && isStale ? [heartbeatStaleCondition(staleAtMs)] : [...conditions],
      ...(lastMs !== undefined && { lastHeartbeat: new Date(lastMs).toISOString() }),
      ...(kubernetesVersion !== "" && { kubernetesVersion }),
      allocatable: allocatableOf(object),
    },
    staleAtMs: isReady && !isStale ? staleAtMs : undefined,
  };
}

const heartbeatStaleCondition = (staleAtMs: number): NonNullable<SourceStatus["conditions"]>[number] => ({
  type: "Ready",
  status: "Unknown",
  reason: "HeartbeatStale",
  message: "the syncer has sent no heartbeat for a minute",
  lastTransitionTime: new Date(staleAtMs).toISOString(),
});

function allocatableOf(object: KubeObject): NonNullable<SourceStatus["allocatable"]> {
  const amount = (resource: "cpu" | "memory" | "pods"): { [name: string]: string } => {
    const quantity = valueAt(object, "status", "allocatable", resource);
    if (isQuantity(quantity)) return { [resource]: String(quantity) };
    const number = valueAt(object, "status", "allocatableCapacity", resource);
    if (typeof number !== "number" || !Number.isSafeInteger(number)) return {};
    // Plain numbers are milli-CPUs, bytes and pods.
    return { [resource]: resource === "cpu" ? `${number}m` : String(number) };
  };
  return { ...amount("cpu"), ...amount("memory"), ...amount("pods") };
}
