import type {
  V1CronJobStatus,
  V1DaemonSetStatus,
  V1DeploymentStatus,
  V1IngressStatus,
  V1JobStatus,
  V1PersistentVolumeClaimStatus,
  V1ReplicaSetStatus,
  V1ServiceStatus,
  V1StatefulSetStatus,
  V2HorizontalPodAutoscalerStatus,
} from "@kubernetes/client-node";
import type { JsonObject } from "@tmc/kube/kube-object.ts";
import type { ConditionRules } from "./conditions.ts";
import {
  earliestTime,
  type FieldRule,
  intersection,
  latestTime,
  latestTimeOnceAll,
  omitted,
  smallestQuantities,
  sum,
  unionOfAddresses,
  unionOfLists,
  worstValue,
} from "./field-rules.ts";

/** How the statuses of a type are aggregated. */
export type AggregationRules = Readonly<{
  /** Fields with a rule of their own; all others are kept where their values are equal. */
  fields: Readonly<Record<string, FieldRule>>;
  /** Undefined where the type has no conditions. */
  conditions?: ConditionRules;
  /** The status of a workload without copies. */
  withoutCopies: JsonObject;
  /** A condition that is False for a workload without copies. */
  falseWithoutCopies?: string;
}>;

/** Fields by rule. The compiler checks the names against the type of the status. */
function fieldRules<Status>(
  ...groups: readonly (readonly [rule: FieldRule, ...fields: FieldOf<Status>[]])[]
): AggregationRules["fields"] {
  return Object.fromEntries(groups.flatMap(([rule, ...fields]) => fields.map((field) => [field, rule] as const)));
}

type FieldOf<Status> = keyof Status & string;

function zero<Status>(...fields: readonly FieldOf<Status>[]): JsonObject {
  return Object.fromEntries(fields.map((field) => [field, 0]));
}

const replicas = ["replicas", "readyReplicas", "availableReplicas"] as const;
const updated = [...replicas, "updatedReplicas"] as const;
/** Nothing depends on this count, and every pod that terminates after a rollout would cost an upstream write. */
const terminating = ["terminatingReplicas"] as const;
const scheduled = ["currentNumberScheduled", "desiredNumberScheduled", "numberReady", "numberMisscheduled"] as const;
const pods = ["active", "ready", "succeeded", "failed"] as const;

/** The rules by type. A field without a rule is kept where all clusters report the same value. */
export const typeRules: ReadonlyMap<string, AggregationRules> = new Map<string, AggregationRules>([
  [
    "Deployment.apps",
    {
      fields: fieldRules<V1DeploymentStatus>(
        [sum, ...updated, "unavailableReplicas"],
        [omitted, ...terminating, "collisionCount"],
      ),
      conditions: {},
      withoutCopies: zero<V1DeploymentStatus>(...updated),
      falseWithoutCopies: "Available",
    },
  ],
  [
    "StatefulSet.apps",
    {
      fields: fieldRules<V1StatefulSetStatus>([sum, ...updated, "currentReplicas"], [omitted, "collisionCount"]),
      conditions: {},
      withoutCopies: zero<V1StatefulSetStatus>(...updated, "currentReplicas"),
    },
  ],
  [
    "DaemonSet.apps",
    {
      fields: fieldRules<V1DaemonSetStatus>(
        [sum, ...scheduled, "updatedNumberScheduled", "numberAvailable", "numberUnavailable"],
        [omitted, "collisionCount"],
      ),
      conditions: {},
      withoutCopies: zero<V1DaemonSetStatus>(...scheduled, "updatedNumberScheduled", "numberAvailable"),
    },
  ],
  [
    "ReplicaSet.apps",
    {
      fields: fieldRules<V1ReplicaSetStatus>([sum, ...replicas, "fullyLabeledReplicas"], [omitted, ...terminating]),
      conditions: {},
      withoutCopies: zero<V1ReplicaSetStatus>(...replicas, "fullyLabeledReplicas"),
    },
  ],
  [
    "Job.batch",
    {
      fields: fieldRules<V1JobStatus>(
        [sum, ...pods, "terminating"],
        [earliestTime, "startTime"],
        [latestTimeOnceAll, "completionTime"],
        [omitted, "uncountedTerminatedPods"],
      ),
      conditions: { onlyIfTrueEverywhere: new Set(["Complete", "SuccessCriteriaMet"]) },
      withoutCopies: zero<V1JobStatus>(...pods),
    },
  ],
  [
    "CronJob.batch",
    {
      fields: fieldRules<V1CronJobStatus>(
        [unionOfLists, "active"],
        [latestTime, "lastScheduleTime", "lastSuccessfulTime"],
      ),
      withoutCopies: {},
    },
  ],
  [
    "Service",
    {
      fields: fieldRules<V1ServiceStatus>([unionOfAddresses, "loadBalancer"]),
      conditions: {},
      withoutCopies: { loadBalancer: {} },
    },
  ],
  [
    "Ingress.networking.k8s.io",
    {
      fields: fieldRules<V1IngressStatus>([unionOfAddresses, "loadBalancer"]),
      withoutCopies: { loadBalancer: {} },
    },
  ],
  [
    "PersistentVolumeClaim",
    {
      fields: fieldRules<V1PersistentVolumeClaimStatus>(
        [worstValue({ ranking: ["Lost", "Pending", "Bound"], initial: "Pending" }), "phase"],
        [smallestQuantities, "capacity"],
        [intersection, "accessModes"],
      ),
      // Resizing, FileSystemResizePending …: each one reports an operation in progress.
      conditions: { areAllNegative: true },
      withoutCopies: { phase: "Pending" },
    },
  ],
  [
    "HorizontalPodAutoscaler.autoscaling",
    {
      fields: fieldRules<V2HorizontalPodAutoscalerStatus>(
        [sum, "currentReplicas", "desiredReplicas"],
        [latestTime, "lastScaleTime"],
      ),
      conditions: {},
      withoutCopies: zero<V2HorizontalPodAutoscalerStatus>("currentReplicas", "desiredReplicas"),
    },
  ],
]);
