import type { JsonObject } from "@tmc/kube/kube-object.ts";
import type { ConditionRules } from "./conditions.ts";
import {
  common,
  earliest,
  type FieldRule,
  latest,
  latestOnceAll,
  leastQuantities,
  leftOut,
  sum,
  unitedAddresses,
  unitedList,
  worstOf,
} from "./field-rules.ts";

/** How the statuses of a type become one. */
export type TypeRules = Readonly<{
  /** Fields that are not just kept where they are alike. */
  fields: Readonly<Record<string, FieldRule>>;
  /** Undefined where the type has no conditions. */
  conditions?: ConditionRules;
  /** What is true of a workload that is nowhere. */
  nowhere: JsonObject;
  /** A condition that is not true of a workload that is nowhere. */
  lackingNowhere?: string;
}>;

function all(rule: FieldRule, ...names: readonly string[]): Readonly<Record<string, FieldRule>> {
  return Object.fromEntries(names.map((name) => [name, rule]));
}

const none = (...names: readonly string[]): JsonObject => Object.fromEntries(names.map((name) => [name, 0]));

const replicas = ["replicas", "readyReplicas", "availableReplicas"];
const updated = [...replicas, "updatedReplicas"];
/** Nobody waits for these, and each pod that goes after a roll-out would cost a write to the hub. */
const onTheirWayOut = ["terminatingReplicas"];
const scheduled = ["currentNumberScheduled", "desiredNumberScheduled", "numberReady", "numberMisscheduled"];
const pods = ["active", "ready", "succeeded", "failed"];

/** By type. Every field that is not named is kept where all clusters say the same. */
export const typeRules: ReadonlyMap<string, TypeRules> = new Map<string, TypeRules>([
  [
    "Deployment.apps",
    {
      fields: {
        ...all(sum, ...updated, "unavailableReplicas"),
        ...all(leftOut, ...onTheirWayOut, "collisionCount"),
      },
      conditions: {},
      nowhere: none(...updated),
      lackingNowhere: "Available",
    },
  ],
  [
    "StatefulSet.apps",
    {
      fields: { ...all(sum, ...updated, "currentReplicas"), collisionCount: leftOut },
      conditions: {},
      nowhere: none(...updated, "currentReplicas"),
    },
  ],
  [
    "DaemonSet.apps",
    {
      fields: {
        ...all(sum, ...scheduled, "updatedNumberScheduled", "numberAvailable", "numberUnavailable"),
        collisionCount: leftOut,
      },
      conditions: {},
      nowhere: none(...scheduled, "updatedNumberScheduled", "numberAvailable"),
    },
  ],
  [
    "ReplicaSet.apps",
    {
      fields: { ...all(sum, ...replicas, "fullyLabeledReplicas"), ...all(leftOut, ...onTheirWayOut) },
      conditions: {},
      nowhere: none(...replicas, "fullyLabeledReplicas"),
    },
  ],
  [
    "Job.batch",
    {
      fields: {
        ...all(sum, ...pods, "terminating"),
        startTime: earliest,
        completionTime: latestOnceAll,
        uncountedTerminatedPods: leftOut,
      },
      conditions: { onceAll: new Set(["Complete", "SuccessCriteriaMet"]) },
      nowhere: none(...pods),
    },
  ],
  [
    "CronJob.batch",
    { fields: { active: unitedList, lastScheduleTime: latest, lastSuccessfulTime: latest }, nowhere: {} },
  ],
  ["Service", { fields: { loadBalancer: unitedAddresses }, conditions: {}, nowhere: { loadBalancer: {} } }],
  ["Ingress.networking.k8s.io", { fields: { loadBalancer: unitedAddresses }, nowhere: { loadBalancer: {} } }],
  [
    "PersistentVolumeClaim",
    {
      fields: {
        phase: worstOf({ words: ["Lost", "Pending", "Bound"], beginning: "Pending" }),
        capacity: leastQuantities,
        accessModes: common,
      },
      // Resizing, FileSystemResizePending …: each tells of something that is not over.
      conditions: { areAllBadNews: true },
      nowhere: { phase: "Pending" },
    },
  ],
  [
    "HorizontalPodAutoscaler.autoscaling",
    {
      fields: { ...all(sum, "currentReplicas", "desiredReplicas"), lastScaleTime: latest },
      conditions: {},
      nowhere: none("currentReplicas", "desiredReplicas"),
    },
  ],
]);
