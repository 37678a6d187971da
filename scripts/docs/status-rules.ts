import { typeName } from "../../lib/sync/status/facts.ts";
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
} from "../../lib/sync/status/field-rules.ts";
import { typeRules } from "../../lib/sync/status/type-rules.ts";

const wordsOfRules: ReadonlyMap<FieldRule, string> = new Map([
  [sum, "added up"],
  [leftOut, "left out"],
  [earliest, "the earliest"],
  [latest, "the latest"],
  [latestOnceAll, "the latest, once all have one"],
  [leastQuantities, "the least of each"],
  [unitedList, "all of them"],
  [unitedAddresses, "all addresses"],
  [common, "what all have"],
]);

/** When a copy of each type counts as ready. */
const readyWords: Readonly<Record<string, string>> = {
  "Deployment.apps": "all replicas are updated and available, none too many",
  "StatefulSet.apps": "all replicas are updated, down to the partition, and available",
  "DaemonSet.apps": "all are updated and available",
  "ReplicaSet.apps": "all are available",
  "Job.batch": "it runs, is done, or is suspended by its owner",
  "CronJob.batch": "it is there",
  Service: "it is there; a load balancer when it has an address",
  "Ingress.networking.k8s.io": "it is there",
  PersistentVolumeClaim: "it is bound, or waits for its first pod",
  "HorizontalPodAutoscaler.autoscaling": "it does not say that it cannot scale",
  ConfigMap: "it is there",
  Secret: "it is there",
  ServiceAccount: "it is there",
};

type Type = Readonly<{ apiVersion: string; kind: string }>;

/** How the statuses of a type become one, in words; undefined for a type that has no rule of its own. */
export function statusWords(type: Type): string | undefined {
  const rules = typeRules.get(typeName(type));
  if (rules === undefined) return undefined;
  const byWords = new Map<string, string[]>();
  for (const [field, rule] of Object.entries(rules.fields)) {
    const words = wordsOfRules.get(rule) ?? "the worst";
    byWords.set(words, [...(byWords.get(words) ?? []), `\`${field}\``]);
  }
  const fields = [...byWords].map(([words, names]) => `${words}: ${names.join(", ")}`);
  return [...fields, ...(rules.conditions === undefined ? [] : ["the worst of each of its conditions"])].join("; ");
}

/** When a copy of a type counts as ready, in words; undefined for a type that has no rule of its own. */
export function healthWords(type: Type): string | undefined {
  return readyWords[typeName(type)];
}
