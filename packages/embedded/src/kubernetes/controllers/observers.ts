import { matchesLabels, selectorFromObject } from "@tmc/kube/selector.ts";
import { conditionOfType, isPodActive, isPodReady, resolveAmount } from "../conditions.ts";
import type { HorizontalPodAutoscaler, ObjectCondition, PodDisruptionBudget } from "../kinds.ts";
import { formatTime } from "../kinds.ts";
import { type ClusterController, keyOf, type World } from "../world.ts";

/**
 * Reports the current replicas of autoscaler targets. It never scales them, like a cluster without a metrics server.
 */
export const autoscalerController: ClusterController = {
  name: "horizontal-pod-autoscaler",
  watches: {
    horizontalpodautoscalers: (autoscaler) => [keyOf(autoscaler)],
    deployments: (target, world) => autoscalersOf(world, target.metadata.namespace, "Deployment", target.metadata.name),
    statefulsets: (target, world) =>
      autoscalersOf(world, target.metadata.namespace, "StatefulSet", target.metadata.name),
    replicasets: (target, world) => autoscalersOf(world, target.metadata.namespace, "ReplicaSet", target.metadata.name),
  },
  reconcile({ namespace, name }, world) {
    const autoscaler = world.get("horizontalpodautoscalers", namespace, name);
    if (autoscaler === undefined) return undefined;
    world.writeStatus(
      "horizontalpodautoscalers",
      autoscaler,
      autoscalerStatus(autoscaler, targetReplicas(world, autoscaler), world.now()),
    );
    return undefined;
  },
};

function autoscalersOf(world: World, namespace: string | undefined, kind: string, name: string): string[] {
  return world
    .list("horizontalpodautoscalers", namespace)
    .filter(({ spec: { scaleTargetRef } }) => scaleTargetRef.kind === kind && scaleTargetRef.name === name)
    .map(keyOf);
}

function targetReplicas(world: World, { metadata, spec }: HorizontalPodAutoscaler): number | undefined {
  const { kind, name } = spec.scaleTargetRef;
  const resource = kind === "Deployment" ? "deployments" : kind === "StatefulSet" ? "statefulsets" : "replicasets";
  const target = world.get(resource, metadata.namespace ?? "", name);
  return target === undefined ? undefined : (target.status?.replicas ?? 0);
}

function autoscalerStatus(
  autoscaler: HorizontalPodAutoscaler,
  replicas: number | undefined,
  now: number,
): NonNullable<HorizontalPodAutoscaler["status"]> {
  const { kind, name, apiVersion } = autoscaler.spec.scaleTargetRef;
  const metric = autoscaler.spec.metrics?.[0]?.resource?.name ?? "cpu";
  const condition = (
    type: string,
    status: ObjectCondition["status"],
    reason: string,
    message: string,
  ): ObjectCondition => {
    const before = conditionOfType(autoscaler.status?.conditions, type);
    const since = before?.status === status ? before.lastTransitionTime : undefined;
    return { type, status, lastTransitionTime: since ?? formatTime(now), reason, message };
  };
  if (replicas === undefined) {
    const group = apiVersion?.split("/").at(-2);
    const plural = `${kind.toLowerCase()}s${group === undefined ? "" : `.${group}`}`;
    const message = `the HPA controller was unable to get the target's current scale: ${plural} "${name}" not found`;
    return { desiredReplicas: 0, conditions: [condition("AbleToScale", "False", "FailedGetScale", message)] };
  }
  const missing =
    `the HPA was unable to compute the replica count: failed to get ${metric} utilization: unable to get metrics for resource ` +
    `${metric}: unable to fetch metrics from resource metrics API: the server could not find the requested resource (get pods.metrics.k8s.io)`;
  return {
    currentReplicas: replicas,
    desiredReplicas: 0,
    conditions: [
      condition(
        "AbleToScale",
        "True",
        "SucceededGetScale",
        "the HPA controller was able to get the target's current scale",
      ),
      condition("ScalingActive", "False", "FailedGetResourceMetric", missing),
    ],
  };
}

/** Reports how many disruptions a pod disruption budget allows. */
export const disruptionController: ClusterController = {
  name: "disruption",
  watches: {
    poddisruptionbudgets: (budget) => [keyOf(budget)],
    pods: (pod, world) =>
      world
        .list("poddisruptionbudgets", pod.metadata.namespace)
        .filter((budget) => matchesLabels(selectorFromObject(budget.spec.selector ?? {}), pod.metadata.labels))
        .map(keyOf),
  },
  reconcile({ namespace, name }, world) {
    const budget = world.get("poddisruptionbudgets", namespace, name);
    if (budget === undefined) return undefined;
    const selector = selectorFromObject(budget.spec.selector ?? {});
    const pods = world.list("pods", namespace).filter((pod) => matchesLabels(selector, pod.metadata.labels));
    const expected = pods.filter(isPodActive).length;
    const healthy = pods.filter((pod) => isPodActive(pod) && isPodReady(pod)).length;
    world.writeStatus("poddisruptionbudgets", budget, budgetStatus(budget, expected, healthy, world.now()));
    return undefined;
  },
};

function budgetStatus(
  { metadata, spec, status }: PodDisruptionBudget,
  expectedPods: number,
  currentHealthy: number,
  now: number,
): NonNullable<PodDisruptionBudget["status"]> {
  const desiredHealthy =
    spec.maxUnavailable === undefined
      ? resolveAmount(spec.minAvailable ?? 1, expectedPods, "up")
      : Math.max(0, expectedPods - resolveAmount(spec.maxUnavailable, expectedPods, "up"));
  const disruptionsAllowed = expectedPods === 0 ? 0 : Math.max(0, currentHealthy - desiredHealthy);
  const allowed = disruptionsAllowed > 0 ? "True" : "False";
  const before = conditionOfType(status?.conditions, "DisruptionAllowed");
  const since = before?.status === allowed ? before.lastTransitionTime : undefined;
  const observedGeneration = metadata.generation ?? 1;
  return {
    observedGeneration,
    disruptionsAllowed,
    currentHealthy,
    desiredHealthy,
    expectedPods,
    conditions: [
      {
        type: "DisruptionAllowed",
        status: allowed,
        observedGeneration,
        lastTransitionTime: since ?? formatTime(now),
        reason: disruptionsAllowed > 0 ? "SufficientPods" : "InsufficientPods",
        message: "",
      },
    ],
  };
}
