import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { isQuantity } from "@tmc/kube/quantity.ts";
import { findCondition } from "../model/condition.ts";
import { parseDurationSeconds } from "../model/duration.ts";
import { valueAt } from "../model/json.ts";
import type { Pending, Reading } from "./cluster.ts";
import { conditionsOf, listAt, timestampAt, trimmedTextAt } from "./fields.ts";
import type { SecretPointer } from "./secret-template.ts";
import {
  checkedServer,
  namedSecret,
  originOf,
  type ReadingContext,
  renderedSecret,
  type Spec,
  type Status,
  viewOf,
  wayIn,
} from "./view.ts";

/** Three heartbeats of a syncer, and what the first TMC allowed it. */
const heartbeatLimitMs = 60_000;
/** What keeps work off a target whose `evictAfter` has passed. */
const evictTaint = "workload.kcp.io/evict";

/**
 * Reads a SyncTarget of any of the forms that exist: the first TMC's (no address, a syncer reports) and the later ones with
 * `workloadCluster` or `apiServerURL`.
 */
export function readSyncTarget(object: KubeObject, { cluster, template, nowMs }: ReadingContext): Reading {
  const origin = originOf("synctarget", cluster, object);
  const address =
    trimmedTextAt(object, "spec", "workloadCluster", "endpoint") || trimmedTextAt(object, "spec", "apiServerURL");
  const checked = address === "" ? undefined : checkedServer(address);
  const [server, badServer] = checked !== undefined && "server" in checked ? [checked.server] : [undefined, checked];
  const named = secretOf(object) ?? (template === undefined ? undefined : renderedSecret(template, origin));
  const [secret, noSecret] = named !== undefined && "reason" in named ? [undefined, named] : [named];
  const eviction = evictionOf(object, nowMs);
  const { status, staleAtMs } = statusOf(object, nowMs);
  const changes = [eviction.atMs, staleAtMs].filter((moment) => moment !== undefined);
  return {
    origin,
    registration: viewOf(
      object,
      {
        ...wayIn(origin, { secret, server }),
        capabilities: capabilitiesOf(object),
        taints: eviction.taints,
        ...(eviction.afterSeconds === undefined ? {} : { evictAfterSeconds: eviction.afterSeconds }),
        unschedulable: valueAt(object, "spec", "unschedulable") === true,
      },
      status,
    ),
    endpoint: server,
    pending: badServer ?? noSecret,
    changesAtMs: changes.length === 0 ? undefined : Math.min(...changes),
  };
}

/** The secret that the target names; undefined where it leaves credentials to the operator. */
function secretOf(object: KubeObject): SecretPointer | Pending | undefined {
  const credentials = valueAt(object, "spec", "workloadCluster", "credentials");
  const name = trimmedTextAt(credentials, "secretRef", "name");
  if (name !== "") {
    const key = trimmedTextAt(credentials, "secretRef", "key") || "kubeconfig";
    return namedSecret({ namespace: trimmedTextAt(credentials, "secretRef", "namespace"), name, key });
  }
  if (trimmedTextAt(credentials, "serviceAccountRef", "name") === "") return undefined;
  return { reason: "KubeconfigPending", message: "serviceAccountRef leads into no cluster: name a secret" };
}

/** One entry for each type: the documented form has one for each resource of it. One that is missing makes all of it missing. */
function capabilitiesOf(object: KubeObject): NonNullable<Spec["capabilities"]> {
  const available = new Map<string, boolean>();
  for (const entry of listAt(object, "spec", "capabilities")) {
    const type = trimmedTextAt(entry, "type");
    if (type === "") continue;
    available.set(type, (available.get(type) ?? true) && valueAt(entry, "available") !== false);
  }
  return [...available].map(([type, isAvailable]) => ({ type, available: isAvailable }));
}

type Eviction = Readonly<{ taints: NonNullable<Spec["taints"]>; atMs?: number; afterSeconds?: number }>;

/** `evictAfter` is a moment in the first TMC. Later it became a length of time, which counts from the loss of contact. */
function evictionOf(object: KubeObject, nowMs: number): Eviction {
  const evictMs = timestampAt(object, "spec", "evictAfter");
  if (evictMs === undefined) {
    const seconds = parseDurationSeconds(trimmedTextAt(object, "spec", "evictAfter"));
    return seconds === undefined ? { taints: [] } : { taints: [], afterSeconds: Math.ceil(seconds) };
  }
  if (evictMs > nowMs) return { taints: [], atMs: evictMs };
  const timeAdded = new Date(evictMs).toISOString();
  return { taints: [{ key: evictTaint, effect: "NoExecute", timeAdded }] };
}

/** Where the forms of a SyncTarget say when it was last heard of. */
export const heartbeatFields: readonly (readonly string[])[] = [
  ["lastSyncerHeartbeatTime"],
  ["lastHeartbeatTime"],
  ["lastHeartbeat"],
  ["heartbeatTime"],
  ["heartbeat", "lastHeartbeat"],
];

/** What the syncer reports. It cannot report that it has died: whether it is still heard is judged by our own clock. */
function statusOf(object: KubeObject, nowMs: number): { status: Status; staleAtMs?: number | undefined } {
  const conditions = conditionsOf(object);
  const isReady = findCondition(conditions, "Ready")?.status === "True";
  const beats = heartbeatFields
    .map((path) => timestampAt(object, "status", ...path))
    .filter((moment) => moment !== undefined);
  const lastMs = beats.length === 0 ? undefined : Math.max(...beats);
  const staleAtMs = lastMs === undefined ? undefined : lastMs + heartbeatLimitMs;
  const isStale = staleAtMs !== undefined && staleAtMs <= nowMs;
  const kubernetesVersion = trimmedTextAt(object, "status", "clusterInfo", "version");
  return {
    status: {
      conditions: isReady && isStale ? [silentSince(staleAtMs)] : [...conditions],
      ...(lastMs !== undefined && { lastHeartbeat: new Date(lastMs).toISOString() }),
      ...(kubernetesVersion !== "" && { kubernetesVersion }),
      allocatable: allocatableOf(object),
    },
    staleAtMs: isReady && !isStale ? staleAtMs : undefined,
  };
}

const silentSince = (staleAtMs: number): NonNullable<Status["conditions"]>[number] => ({
  type: "Ready",
  status: "Unknown",
  reason: "HeartbeatStale",
  message: "the syncer has not been heard of for a minute",
  lastTransitionTime: new Date(staleAtMs).toISOString(),
});

function allocatableOf(object: KubeObject): NonNullable<Status["allocatable"]> {
  const amount = (resource: "cpu" | "memory" | "pods"): { [name: string]: string } => {
    const quantity = valueAt(object, "status", "allocatable", resource);
    if (isQuantity(quantity)) return { [resource]: String(quantity) };
    const number = valueAt(object, "status", "allocatableCapacity", resource);
    if (typeof number !== "number" || !Number.isSafeInteger(number)) return {};
    // Plain numbers there are thousandths of a processor, bytes and pods.
    return { [resource]: resource === "cpu" ? `${number}m` : String(number) };
  };
  return { ...amount("cpu"), ...amount("memory"), ...amount("pods") };
}
