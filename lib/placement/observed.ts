import { createHash } from "node:crypto";
import { compareStrings } from "@tmc/kube/compare.ts";
import type { ObjectMeta } from "@tmc/kube/kube-object.ts";
import { isQuantity, parseQuantity, type Quantity, quantityToNumber } from "@tmc/kube/quantity.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import { type Condition, findCondition } from "../model/condition.ts";
import { labelsWithDerivedKeys } from "../model/location-keys.ts";
import { parseTimestamp } from "../model/timestamp.ts";
import { parseVersion, type Version } from "./versions.ts";

export type TaintEffect = "NoSchedule" | "PreferNoSchedule" | "NoExecute";
export type Taint = Readonly<{ key: string; value: string; effect: TaintEffect; addedMs: number | undefined }>;

/** What is known of one capability: what its owner declares counts more than what was detected. */
export type Capability = Readonly<{
  available: boolean;
  declared: boolean;
  version: string | undefined;
  /** The version taken apart; undefined where there is none that could be. */
  parsed: Version | undefined;
}>;

/** An amount, exact and as a number for shares of it. */
export type Room = Readonly<{ quantity: Quantity; units: number }>;

/** Everything that placement uses of a cluster, made once from its registration and never changed. */
export type ClusterFacts = Readonly<{
  name: string;
  deleting: boolean;
  ready: "True" | "False" | "Unknown";
  readyReason: string;
  /** Since when `ready` is what it is; the registration's creation when nobody has said. Not known of a cluster that is Ready. */
  notReadySinceMs: number | undefined;
  /** Since when it has been Ready; not known of one that is not. */
  readySinceMs: number | undefined;
  /** How long its owner has work stay after it stopped being Ready, where the placement does not say. */
  evictAfterSeconds: number | undefined;
  /** Fewer than nine in ten of its nodes are ready. */
  degraded: boolean;
  unschedulable: boolean;
  taints: readonly Taint[];
  /** Labels and derived keys. */
  labels: ReadonlyMap<string, string>;
  capabilities: ReadonlyMap<string, Capability>;
  /** Whether anyone has looked which capabilities it has. */
  capabilitiesDetected: boolean;
  /** `apps/v1 Deployment` …; undefined while not known. */
  apis: ReadonlySet<string> | undefined;
  allocatable: Readonly<{ cpu: Room | undefined; memory: Room | undefined }>;
}>;

/** What a decision is made from. */
export type Observed = Readonly<{
  placement: WorkloadPlacement;
  /** In any order. */
  clusters: readonly ClusterFacts[];
  /** How many other placements use each cluster; only RoundRobin asks, and only when it has a cluster to choose. */
  load?: ReadonlyMap<string, number> | undefined;
  nowMs: number;
}>;

/** The fields of a ClusterRegistration that placement reads. */
export type Registration = Readonly<{
  metadata: ObjectMeta;
  spec: Readonly<{
    location: string;
    unschedulable?: boolean | undefined;
    evictAfterSeconds?: number | undefined;
    taints?:
      | readonly Readonly<{
          key: string;
          value?: string | undefined;
          effect: TaintEffect;
          timeAdded?: string | undefined;
        }>[]
      | undefined;
    capabilities?:
      | readonly Readonly<{ type: string; available?: boolean | undefined; version?: string | undefined }>[]
      | undefined;
  }>;
  status?:
    | Readonly<{
        conditions?: readonly Condition[] | undefined;
        apis?: readonly Readonly<{ groupVersion: string; kinds?: readonly string[] | undefined }>[] | undefined;
        allocatable?: Readonly<{ cpu?: string | undefined; memory?: string | undefined }> | undefined;
        nodes?: Readonly<{ ready?: number | undefined; total?: number | undefined }> | undefined;
        capabilities?: readonly Readonly<{ type: string; version?: string | undefined }>[] | undefined;
        capabilitiesDetected?: string | undefined;
      }>
    | undefined;
}>;

/** Takes from a registration what placement needs of it; the order of the registration's lists leaves no trace. */
export function clusterFacts({ metadata, spec, status }: Registration): ClusterFacts {
  const ready = findCondition(status?.conditions, "Ready");
  const isReady = ready?.status === "True";
  return {
    name: metadata.name ?? "",
    deleting: metadata.deletionTimestamp !== undefined,
    ready: ready?.status ?? "Unknown",
    readyReason: isReady ? "" : (ready?.reason ?? "NeverSeen"),
    notReadySinceMs: isReady
      ? undefined
      : (parseTimestamp(ready?.lastTransitionTime) ?? parseTimestamp(metadata.creationTimestamp)),
    readySinceMs: isReady ? parseTimestamp(ready.lastTransitionTime) : undefined,
    evictAfterSeconds: spec.evictAfterSeconds,
    degraded: (status?.nodes?.ready ?? 0) < 0.9 * (status?.nodes?.total ?? 0),
    unschedulable: spec.unschedulable === true,
    taints: (spec.taints ?? [])
      .map(({ key, value, effect, timeAdded }) => ({
        key,
        value: value ?? "",
        effect,
        addedMs: parseTimestamp(timeAdded),
      }))
      .toSorted(
        (a, b) =>
          compareStrings(a.key, b.key) || compareStrings(a.effect, b.effect) || compareStrings(a.value, b.value),
      ),
    labels: labelsWithDerivedKeys(metadata.labels ?? {}, spec.location),
    capabilities: capabilitiesOf(spec.capabilities ?? [], status?.capabilities ?? []),
    capabilitiesDetected: status?.capabilitiesDetected !== undefined,
    apis:
      status?.apis === undefined
        ? undefined
        : new Set(
            status.apis
              .flatMap(({ groupVersion, kinds }) => (kinds ?? []).map((kind) => `${groupVersion} ${kind}`))
              .toSorted(),
          ),
    allocatable: { cpu: amountOf(status?.allocatable?.cpu), memory: amountOf(status?.allocatable?.memory) },
  };
}

/**
 * A short text that is the same as long as nothing that placement uses of a cluster has changed. A heartbeat, a probe that
 * found nothing new or the time since which a cluster has been Ready leave it as it is.
 */
export function factsFingerprint(cluster: ClusterFacts): string {
  return createHash("sha256").update(JSON.stringify(cluster, plain)).digest("hex").slice(0, 16);
}

/**
 * Tells whether nothing is wrong with a cluster. Most clusters are sound most of the time, and what looks only at a cluster's
 * own state need not look at those.
 */
export function isSound({ deleting, ready, unschedulable, degraded, taints }: ClusterFacts): boolean {
  return !deleting && ready === "True" && !unschedulable && !degraded && taints.length === 0;
}

function plain(field: string, value: unknown): unknown {
  if (field === "readySinceMs") return undefined;
  if (value instanceof Map) return [...value].toSorted(([a], [b]) => compareStrings(String(a), String(b)));
  if (value instanceof Set) return [...value];
  return typeof value === "bigint" ? value.toString() : value;
}

function capabilitiesOf(
  declared: NonNullable<Registration["spec"]["capabilities"]>,
  detected: readonly Readonly<{ type: string; version?: string | undefined }>[],
): ReadonlyMap<string, Capability> {
  const all = new Map<string, Capability>();
  const add = (type: string, available: boolean, declared: boolean, version: string | undefined) =>
    all.set(type, { available, declared, version, parsed: version === undefined ? undefined : parseVersion(version) });
  for (const { type, version } of detected) add(type, true, false, version);
  for (const { type, available, version } of declared) {
    add(type, available ?? true, true, version ?? all.get(type)?.version);
  }
  return all;
}

function amountOf(text: string | undefined): Room | undefined {
  if (!isQuantity(text)) return undefined;
  const quantity = parseQuantity(text);
  return { quantity, units: quantityToNumber(quantity) };
}
