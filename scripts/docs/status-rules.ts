import { typeName } from "../../lib/sync/status/facts.ts";
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
} from "../../lib/sync/status/field-rules.ts";
import { typeRules } from "../../lib/sync/status/type-rules.ts";

const ruleDescriptions: ReadonlyMap<FieldRule, string> = new Map([
  [sum, "sum"],
  [omitted, "omitted"],
  [earliestTime, "earliest time"],
  [latestTime, "latest time"],
  [latestTimeOnceAll, "latest time, once all clusters report one"],
  [smallestQuantities, "smallest quantity"],
  [unionOfLists, "union of the lists"],
  [unionOfAddresses, "union of the addresses"],
  [intersection, "entries that all clusters report"],
]);

/** When a copy of each type is ready; lib/sync/status implements these rules. */
const readyDescriptions: Readonly<Record<string, string>> = {
  "Deployment.apps": "all replicas are updated and available, and no old replica exists",
  "StatefulSet.apps": "all replicas down to the partition are updated, and all are available",
  "DaemonSet.apps": "all pods are updated and available",
  "ReplicaSet.apps": "all replicas are available",
  "Job.batch": "it is running or complete, or its workload suspends it",
  "CronJob.batch": "it exists",
  Service: "it exists; a load balancer must have an address",
  "Ingress.networking.k8s.io": "it exists",
  PersistentVolumeClaim: "it is bound, or waits for its first consumer",
  "HorizontalPodAutoscaler.autoscaling": "it does not report that it cannot scale",
  ConfigMap: "it exists",
  Secret: "it exists",
  ServiceAccount: "it exists",
};

type Type = Readonly<{ apiVersion: string; kind: string }>;

/** Describes how the statuses of a type are aggregated; undefined for a type without its own rules. */
export function describeAggregation(type: Type): string | undefined {
  const rules = typeRules.get(typeName(type));
  if (rules === undefined) return undefined;
  const byDescription = new Map<string, string[]>();
  for (const [field, rule] of Object.entries(rules.fields)) {
    const description = ruleDescriptions.get(rule) ?? "worst value";
    byDescription.set(description, [...(byDescription.get(description) ?? []), `\`${field}\``]);
  }
  const fields = [...byDescription].map(([description, names]) => `${description}: ${names.join(", ")}`);
  return [...fields, ...(rules.conditions === undefined ? [] : ["conditions: the worst status of each type"])].join(
    "; ",
  );
}

/** Describes when a copy of a type is ready; undefined for a type without its own rules. */
export function describeHealth(type: Type): string | undefined {
  return readyDescriptions[typeName(type)];
}
