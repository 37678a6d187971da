import type { JsonObject } from "@tmc/kube/kube-object.ts";
import { isJsonObject, numberAt, stringAt } from "../../model/json.ts";
import {
  applied,
  type Counts,
  claimHealth,
  cronJobHealth,
  daemonSetHealth,
  deploymentHealth,
  failed,
  type Health,
  type HealthFacts,
  ingressHealth,
  isThere,
  jobHealth,
  ready,
  replicaSetHealth,
  scalerHealth,
  serviceHealth,
  statefulSetHealth,
  wordsOf,
} from "./builtin-health.ts";
import { conditionOf, hasReached, overallConditions } from "./conditions.ts";
import { typeName } from "./facts.ts";

export type CopyFacts = Readonly<{
  apiVersion: string;
  kind: string;
  /** The copy's spec, or that of the manifest that it was last written with. */
  spec?: unknown;
  status?: JsonObject | undefined;
  /** The copy's own, not the workload's. */
  generation?: number | undefined;
  /** The copy's, where they are known: those of a claim tell whether somebody provides its volume. */
  annotations?: Readonly<Record<string, string>> | undefined;
}>;

const rules: ReadonlyMap<string, (facts: HealthFacts) => Health> = new Map([
  ["Deployment.apps", deploymentHealth],
  ["StatefulSet.apps", statefulSetHealth],
  ["DaemonSet.apps", daemonSetHealth],
  ["ReplicaSet.apps", replicaSetHealth],
  ["Job.batch", jobHealth],
  ["CronJob.batch", cronJobHealth],
  ["Service", serviceHealth],
  ["Ingress.networking.k8s.io", ingressHealth],
  ["PersistentVolumeClaim", claimHealth],
  ["HorizontalPodAutoscaler.autoscaling", scalerHealth],
  ["ConfigMap", isThere],
  ["Secret", isThere],
  ["ServiceAccount", isThere],
]);

/** Tells how one copy of a workload is, from what its cluster says of it. */
export function copyHealth(facts: CopyFacts): Health {
  const { spec, status, annotations = {} } = facts;
  const counted = (rules.get(typeName(facts)) ?? customHealth)({
    spec: isJsonObject(spec) ? spec : undefined,
    status,
    annotations,
  });
  // What is said of an earlier change says nothing of this one; the counts are true all the same.
  if (hasReached(facts)) return counted;
  const { desiredReplicas, readyReplicas } = counted;
  return applied("LatestGenerationNotObserved", "the cluster has not taken up the last change", {
    ...(desiredReplicas === undefined ? {} : { desiredReplicas }),
    ...(readyReplicas === undefined ? {} : { readyReplicas }),
  });
}

const badPhases: ReadonlySet<string> = new Set(["failed", "failure", "error", "errored", "lost", "invalid"]);
/** Beside everything that ends in -ing, which is under way; only what is running or serving has arrived. */
const earlyPhases: ReadonlySet<string> = new Set(["new", "notready", "inprogress", "queued", "unknown", "degraded"]);
const arrived: ReadonlySet<string> = new Set(["running", "serving", "listening", "working"]);

/**
 * Tells how a copy of any other type is, by what most controllers hold to: the conditions Stalled, Failed, Reconciling, Ready,
 * Available, Healthy, then `phase` or `state`, then counted replicas. What says nothing of this is ready once it is there.
 */
export function customHealth({ spec, status }: HealthFacts): Health {
  const counts = replicaCounts(spec, status);
  for (const type of ["Stalled", "Failed"]) {
    const condition = conditionOf(status, type);
    if (condition?.status === "True") return failed("Failed", wordsOf(condition), counts);
  }
  const reconciling = conditionOf(status, "Reconciling");
  if (reconciling?.status === "True") return applied("NotReady", wordsOf(reconciling), counts);
  for (const type of overallConditions) {
    const condition = conditionOf(status, type);
    if (condition === undefined) continue;
    return condition.status === "True" ? ready(counts) : applied("NotReady", wordsOf(condition), counts);
  }
  const phase = stringAt(status, "phase") ?? stringAt(status, "state");
  if (phase !== undefined) return phaseHealth(phase, counts);
  const { desiredReplicas, readyReplicas: there } = counts;
  const isShort = desiredReplicas !== undefined && there !== undefined && there < desiredReplicas;
  return isShort ? applied("NotReady", "not all replicas are ready", counts) : ready(counts);
}

function phaseHealth(phase: string, counts: Counts): Health {
  const word = phase.toLowerCase().replaceAll(/[^a-z]/g, "");
  const words = `it is ${phase}`;
  if (badPhases.has(word)) return failed("Failed", words, counts);
  const isEarly = earlyPhases.has(word) || (word.endsWith("ing") && !arrived.has(word));
  return isEarly ? applied("NotReady", words, counts) : ready(counts);
}

function replicaCounts(spec: HealthFacts["spec"], status: HealthFacts["status"]): Counts {
  const desiredReplicas = numberAt(spec, "replicas");
  const there = numberAt(status, "readyReplicas");
  return {
    ...(desiredReplicas === undefined ? {} : { desiredReplicas }),
    ...(there === undefined ? {} : { readyReplicas: there }),
  };
}
