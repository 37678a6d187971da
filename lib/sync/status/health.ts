import type { JsonObject } from "@tmc/kube/kube-object.ts";
import { claimHealth } from "./claim-health.ts";
import { applied, type Health, type HealthFacts, isThere } from "./copy-health.ts";
import { customHealth } from "./custom-health.ts";
import { cronJobHealth, jobHealth } from "./job-health.ts";
import { isJsonObject } from "./json.ts";
import { ingressHealth, serviceHealth } from "./network-health.ts";
import { hasReached } from "./reached.ts";
import { daemonSetHealth, deploymentHealth, replicaSetHealth, statefulSetHealth } from "./replica-health.ts";
import { scalerHealth } from "./scaler-health.ts";
import { typeName } from "./type-name.ts";

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
  const { desired, ready } = counted;
  return applied("NotCurrent", "the cluster has not taken up the last change", {
    ...(desired === undefined ? {} : { desired }),
    ...(ready === undefined ? {} : { ready }),
  });
}
