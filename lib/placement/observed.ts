import { hash } from "node:crypto";
import { compareStrings } from "@tmc/kube/compare.ts";
import type { ObjectMeta } from "@tmc/kube/kube-object.ts";
import { isQuantity, parseQuantity, type Quantity, quantityToNumber } from "@tmc/kube/quantity.ts";
import { userAnnotations } from "../api/annotations.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import { type Condition, findCondition } from "../model/condition.ts";
import { labelsWithDerivedKeys } from "../model/location-keys.ts";
import type { ReservedByCluster, ReservedResources } from "../model/reserved-resources.ts";
import { parseTimestamp } from "../model/timestamp.ts";
import type { MassFailure, MassFailureSettings } from "./mass-failure.ts";
import { parseVersion, type Version } from "./versions.ts";

/**
 * Annotation of a registration: a user confirms that the cluster has failed, although most clusters stopped responding at once.
 * Its value is the lastTransitionTime of the Ready condition, so that it does not apply to a later failure.
 */
export const confirmFailureAnnotation = userAnnotations.confirmFailure.name;

export type TaintEffect = "NoSchedule" | "PreferNoSchedule" | "NoExecute";
export type ClusterTaint = Readonly<{ key: string; value: string; effect: TaintEffect; addedMs: number | undefined }>;

/** One capability of a cluster. A declaration in the registration's spec overrides what probes detected. */
export type Capability = Readonly<{
  available: boolean;
  declared: boolean;
  version: string | undefined;
  /** Undefined if the version is unknown or cannot be parsed. */
  parsedVersion: Version | undefined;
}>;

/** An amount of a resource: exact for comparisons, and as a number for ratios. */
export type ResourceAmount = Readonly<{ quantity: Quantity; units: number }>;
/** What the ready and schedulable nodes of a cluster offer to pods; undefined while unknown. */
export type Allocatable = Readonly<{ cpu: ResourceAmount | undefined; memory: ResourceAmount | undefined }>;

/** Everything that placement reads from a registration. Built once per object and immutable. */
export type ClusterFacts = Readonly<{
  name: string;
  deleting: boolean;
  ready: "True" | "False" | "Unknown";
  readyReason: string;
  /** When Ready stopped being True, or the registration's creation if it has no condition. Undefined while it is Ready. */
  notReadySinceMs: number | undefined;
  /** When Ready became True. Undefined while it is not. */
  readySinceMs: number | undefined;
  /** Whether a probe has ever succeeded. */
  hasBeenReady: boolean;
  /** Whether a user has confirmed that the cluster has really failed, since it lost Ready for the last time. */
  failureConfirmed: boolean;
  /** Default of the registration for how long workloads stay after Ready is lost; the placement can override it. */
  evictAfterSeconds: number | undefined;
  /** Fewer than 90 % of the nodes are ready. */
  degraded: boolean;
  unschedulable: boolean;
  taints: readonly ClusterTaint[];
  /** Labels and derived keys. */
  labels: ReadonlyMap<string, string>;
  capabilities: ReadonlyMap<string, Capability>;
  /** Whether a probe has detected the capabilities at least once. */
  capabilitiesDetected: boolean;
  /** `apps/v1 Deployment` …; undefined while unknown. */
  apis: ReadonlySet<string> | undefined;
  allocatable: Allocatable;
  /** What running pods request that TMC did not place; undefined while unknown. */
  otherPods: ReservedResources | undefined;
}>;

/** What the other placements of the logical cluster use. */
export type ClusterUsage = Required<Pick<ObservedPlacement, "load" | "reserved">>;

/** The input of `decidePlacement`. */
export type ObservedPlacement = Readonly<{
  placement: WorkloadPlacement;
  /** In any order. */
  clusters: readonly ClusterFacts[];
  /** Number of other placements per cluster. Only RoundRobin reads it, and only if it has to select a cluster. */
  load?: ReadonlyMap<string, number> | undefined;
  /** What the other placements have reserved on each cluster. Only a spec with `resources` or `scoring` reads it. */
  reserved?: ReservedByCluster | undefined;
  /**
   * Mass failures among the clusters of all logical clusters of this process; "unknown" as long as some of them have not been
   * listed. @default the rule applies to the clusters of the placement's logical cluster alone
   */
  massFailuresOfProcess?: readonly MassFailure[] | "unknown" | undefined;
  /** @default defaultMassFailureSettings */
  massFailure?: MassFailureSettings | undefined;
  nowMs: number;
}>;

/** The fields of a ClusterRegistration that placement reads. */
export type RegistrationInput = Readonly<{
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
        lastHeartbeat?: string | undefined;
        apis?: readonly Readonly<{ groupVersion: string; kinds?: readonly string[] | undefined }>[] | undefined;
        allocatable?: Readonly<{ cpu?: string | undefined; memory?: string | undefined }> | undefined;
        otherPods?:
          | Readonly<{ cpu?: string | undefined; memory?: string | undefined; unknown?: string | undefined }>
          | undefined;
        nodes?: Readonly<{ ready?: number | undefined; total?: number | undefined }> | undefined;
        capabilities?: readonly Readonly<{ type: string; version?: string | undefined }>[] | undefined;
        capabilitiesDetected?: string | undefined;
      }>
    | undefined;
}>;

/** Extracts the facts from a registration. The order of the registration's lists does not affect the result. */
export function clusterFacts({ metadata, spec, status }: RegistrationInput): ClusterFacts {
  const ready = findCondition(status?.conditions, "Ready");
  const isReady = ready?.status === "True";
  const confirmedFailure = metadata.annotations?.[confirmFailureAnnotation];
  return {
    name: metadata.name ?? "",
    deleting: metadata.deletionTimestamp !== undefined,
    ready: ready?.status ?? "Unknown",
    readyReason: isReady ? "" : (ready?.reason ?? "NeverSeen"),
    notReadySinceMs: isReady
      ? undefined
      : (parseTimestamp(ready?.lastTransitionTime) ?? parseTimestamp(metadata.creationTimestamp)),
    readySinceMs: isReady ? parseTimestamp(ready.lastTransitionTime) : undefined,
    hasBeenReady: isReady || status?.lastHeartbeat !== undefined,
    failureConfirmed: !isReady && ready !== undefined && ready.lastTransitionTime === confirmedFailure,
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
    capabilities: mergeCapabilities(spec.capabilities ?? [], status?.capabilities ?? []),
    capabilitiesDetected: status?.capabilitiesDetected !== undefined,
    apis:
      status?.apis === undefined
        ? undefined
        : new Set(
            status.apis
              .flatMap(({ groupVersion, kinds }) => (kinds ?? []).map((kind) => `${groupVersion} ${kind}`))
              .toSorted(),
          ),
    allocatable: { cpu: parseAmount(status?.allocatable?.cpu), memory: parseAmount(status?.allocatable?.memory) },
    otherPods: otherPodsIn(status?.otherPods),
  };
}

/**
 * Hash of what placements are notified of. A heartbeat, a probe without new results, or another `readySinceMs` do not change
 * it; neither do other pods: nothing moves because of them, and a placement that waits for room is decided every minute.
 */
export function clusterFactsHash(cluster: ClusterFacts): string {
  const known = hashesOfFacts.get(cluster);
  if (known !== undefined) return known;
  const computed = hash("sha256", JSON.stringify(cluster, toJsonValue)).slice(0, 16);
  hashesOfFacts.set(cluster, computed);
  return computed;
}

const hashesOfFacts = new WeakMap<ClusterFacts, string>();

/**
 * Whether the cluster is Ready, schedulable, not degraded, untainted and not being deleted. Most clusters are, most of
 * the time, so filters and scorers that only check the cluster's own state are skipped for them.
 */
export function isUnrestricted({ deleting, ready, unschedulable, degraded, taints }: ClusterFacts): boolean {
  return !deleting && ready === "True" && !unschedulable && !degraded && taints.length === 0;
}

function toJsonValue(field: string, value: unknown): unknown {
  if (field === "readySinceMs" || field === "otherPods") return undefined;
  if (value instanceof Map) return [...value].toSorted(([a], [b]) => compareStrings(String(a), String(b)));
  if (value instanceof Set) return [...value];
  return typeof value === "bigint" ? value.toString() : value;
}

function mergeCapabilities(
  declared: NonNullable<RegistrationInput["spec"]["capabilities"]>,
  detected: readonly Readonly<{ type: string; version?: string | undefined }>[],
): ReadonlyMap<string, Capability> {
  const all = new Map<string, Capability>();
  const add = (type: string, available: boolean, declared: boolean, version: string | undefined) =>
    all.set(type, {
      available,
      declared,
      version,
      parsedVersion: version === undefined ? undefined : parseVersion(version),
    });
  for (const { type, version } of detected) add(type, true, false, version);
  for (const { type, available, version } of declared) {
    add(type, available ?? true, true, version ?? all.get(type)?.version);
  }
  return all;
}

function otherPodsIn(pods: NonNullable<RegistrationInput["status"]>["otherPods"]): ReservedResources | undefined {
  if (pods === undefined || pods.unknown !== undefined) return undefined;
  return { cpu: parseAmount(pods.cpu)?.quantity.nanos ?? 0n, memory: parseAmount(pods.memory)?.quantity.nanos ?? 0n };
}

function parseAmount(text: string | undefined): ResourceAmount | undefined {
  if (!isQuantity(text)) return undefined;
  const quantity = parseQuantity(text);
  return { quantity, units: quantityToNumber(quantity) };
}
