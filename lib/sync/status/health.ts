import type { JsonObject } from "@tmc/kube/kube-object.ts";
import { isJsonObject, numberAt, stringAt } from "../../model/json.ts";
import {
  alwaysReady,
  applied,
  autoscalerHealth,
  type CopyHealth,
  cronJobHealth,
  daemonSetHealth,
  deploymentHealth,
  failed,
  formatCondition,
  type HealthFacts,
  ingressHealth,
  jobHealth,
  persistentVolumeClaimHealth,
  type ReplicaCounts,
  ready,
  replicaSetHealth,
  serviceHealth,
  statefulSetHealth,
} from "./builtin-health.ts";
import { hasObservedGeneration, overallConditions, statusCondition } from "./conditions.ts";
import { typeName } from "./facts.ts";

export type CopyHealthFacts = Readonly<{
  apiVersion: string;
  kind: string;
  /** The copy's spec, or that of the manifest that was last applied. */
  spec?: unknown;
  status?: JsonObject | undefined;
  /** The copy's generation, not the workload's. */
  generation?: number | undefined;
  /** The copy's annotations, if known: those of a claim show whether its volume is provisioned. */
  annotations?: Readonly<Record<string, string>> | undefined;
}>;

const rules: ReadonlyMap<string, (facts: HealthFacts) => CopyHealth> = new Map([
  ["Deployment.apps", deploymentHealth],
  ["StatefulSet.apps", statefulSetHealth],
  ["DaemonSet.apps", daemonSetHealth],
  ["ReplicaSet.apps", replicaSetHealth],
  ["Job.batch", jobHealth],
  ["CronJob.batch", cronJobHealth],
  ["Service", serviceHealth],
  ["Ingress.networking.k8s.io", ingressHealth],
  ["PersistentVolumeClaim", persistentVolumeClaimHealth],
  ["HorizontalPodAutoscaler.autoscaling", autoscalerHealth],
  ["ConfigMap", alwaysReady],
  ["Secret", alwaysReady],
  ["ServiceAccount", alwaysReady],
]);

/** Decides the health of one copy from its status. */
export function copyHealth(facts: CopyHealthFacts): CopyHealth {
  const { spec, status, annotations = {} } = facts;
  const health = (rules.get(typeName(facts)) ?? customHealth)({
    spec: isJsonObject(spec) ? spec : undefined,
    status,
    annotations,
  });
  // The state belongs to an earlier generation; the counts are still correct.
  if (hasObservedGeneration(facts)) return health;
  const { desiredReplicas, readyReplicas } = health;
  return applied("LatestGenerationNotObserved", "the cluster's controllers have not observed the latest generation", {
    ...(desiredReplicas === undefined ? {} : { desiredReplicas }),
    ...(readyReplicas === undefined ? {} : { readyReplicas }),
  });
}

const failedPhases: ReadonlySet<string> = new Set(["failed", "failure", "error", "errored", "lost", "invalid"]);
/** In addition, every phase that ends in -ing is in progress, except the final ones. */
const progressPhases: ReadonlySet<string> = new Set(["new", "notready", "inprogress", "queued", "unknown", "degraded"]);
const finalPhases: ReadonlySet<string> = new Set(["running", "serving", "listening", "working"]);

/**
 * The health of a copy of any other type, by the conventions of most controllers: the conditions Stalled, Failed, Reconciling,
 * Ready, Available, Healthy, then `phase` or `state`, then replica counts. A copy that reports none of these is ready once it
 * exists.
 */
function customHealth({ spec, status }: HealthFacts): CopyHealth {
  const counts = replicaCounts(spec, status);
  for (const type of ["Stalled", "Failed"]) {
    const condition = statusCondition(status, type);
    if (condition?.status === "True") return failed("Failed", formatCondition(condition), counts);
  }
  const reconciling = statusCondition(status, "Reconciling");
  if (reconciling?.status === "True") return applied("NotReady", formatCondition(reconciling), counts);
  for (const type of overallConditions) {
    const condition = statusCondition(status, type);
    if (condition === undefined) continue;
    return condition.status === "True" ? ready(counts) : applied("NotReady", formatCondition(condition), counts);
  }
  const phase = stringAt(status, "phase") ?? stringAt(status, "state");
  if (phase !== undefined) return phaseHealth(phase, counts);
  const { desiredReplicas, readyReplicas } = counts;
  const isShort = desiredReplicas !== undefined && readyReplicas !== undefined && readyReplicas < desiredReplicas;
  return isShort ? applied("NotReady", "not all replicas are ready", counts) : ready(counts);
}

function phaseHealth(phase: string, counts: ReplicaCounts): CopyHealth {
  const word = phase.toLowerCase().replaceAll(/[^a-z]/g, "");
  const message = `it is ${phase}`;
  if (failedPhases.has(word)) return failed("Failed", message, counts);
  const isInProgress = progressPhases.has(word) || (word.endsWith("ing") && !finalPhases.has(word));
  return isInProgress ? applied("NotReady", message, counts) : ready(counts);
}

function replicaCounts(spec: HealthFacts["spec"], status: HealthFacts["status"]): ReplicaCounts {
  const desiredReplicas = numberAt(spec, "replicas");
  const readyReplicas = numberAt(status, "readyReplicas");
  return {
    ...(desiredReplicas === undefined ? {} : { desiredReplicas }),
    ...(readyReplicas === undefined ? {} : { readyReplicas }),
  };
}
