import { isDeepStrictEqual } from "node:util";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { ensureObject, setDefault } from "../../field-changes.ts";
import { type Fields, isFields, listAt, objectAt, objectsAt, valueAt } from "../../fields.ts";
import { forbidden } from "../../machinery/field-error.ts";
import { podSpecErrors, setPodSpecDefaults } from "./pod-template.ts";
import { isServer, type TypeRules } from "./rules.ts";

/** How long a pod stays on a node that is not ready, where it does not say. */
const evictionSeconds = 300;

export const podRules: TypeRules = {
  setDefaults: (pod) => {
    const spec = ensureObject(pod, "spec");
    setPodSpecDefaults(spec);
    setDefault(spec, "enableServiceLinks", true);
    for (const container of [...objectsAt(spec, "initContainers"), ...objectsAt(spec, "containers")]) {
      const limits = objectAt(container, "resources", "limits");
      if (Object.keys(limits).length === 0) continue;
      const requests = ensureObject(ensureObject(container, "resources"), "requests");
      for (const [resource, limit] of Object.entries(limits)) setDefault(requests, resource, limit);
    }
  },
  begin: (pod) => {
    const spec = ensureObject(pod, "spec");
    setDefault(spec, "serviceAccountName", "default");
    spec.serviceAccount = spec.serviceAccountName;
    setDefault(spec, "priority", 0);
    setDefault(spec, "preemptionPolicy", "PreemptLowerPriority");
    spec.tolerations = withDefaultTolerations(listAt(spec, "tolerations"));
    const status = ensureObject(pod, "status");
    setDefault(status, "phase", "Pending");
    status.qosClass = qualityOfService(pod);
  },
  carryOver: (pod, old) => {
    // Filled in by admission once and for all: a change that leaves them out does not mean to take them away.
    const spec = ensureObject(pod, "spec");
    for (const name of ["priority", "preemptionPolicy", "serviceAccountName", "serviceAccount", "tolerations"]) {
      const before = valueAt(old, "spec", name);
      if (before !== undefined) setDefault(spec, name, before);
    }
  },
  validate: (pod) => podSpecErrors(pod.spec, "spec"),
  validateChange: (pod, old, context) => {
    if (isServer(context) || isDeepStrictEqual(fixedPart(pod), fixedPart(old))) return [];
    return [
      forbidden(
        "spec",
        "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
      ),
    ];
  },
};

function fixedPart(pod: KubeObject): Fields {
  const withoutImages = (containers: readonly Fields[]) => containers.map(({ image: _image, ...rest }) => rest);
  const { activeDeadlineSeconds: _deadline, tolerations: _tolerations, ...spec } = objectAt(pod, "spec");
  return {
    ...spec,
    containers: withoutImages(objectsAt(spec, "containers")),
    initContainers: withoutImages(objectsAt(spec, "initContainers")),
    terminationGracePeriodSeconds: 0,
  };
}

function withDefaultTolerations(tolerations: readonly unknown[]): unknown[] {
  const missing = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"].filter(
    (key) =>
      !tolerations.some(
        (toleration) =>
          isFields(toleration) &&
          (toleration.key === key || toleration.key === undefined) &&
          (toleration.effect === "NoExecute" || toleration.effect === undefined),
      ),
  );
  return [
    ...tolerations,
    ...missing.map((key) => ({
      effect: "NoExecute",
      key,
      operator: "Exists",
      tolerationSeconds: evictionSeconds,
    })),
  ];
}

function qualityOfService(pod: KubeObject): string {
  const containers = [...objectsAt(pod, "spec", "initContainers"), ...objectsAt(pod, "spec", "containers")];
  const amounts = containers.map((container) => ({
    requests: objectAt(container, "resources", "requests"),
    limits: objectAt(container, "resources", "limits"),
  }));
  const counted = ["cpu", "memory"];
  const asksNothing = amounts.every(({ requests, limits }) =>
    counted.every((resource) => requests[resource] === undefined && limits[resource] === undefined),
  );
  if (asksNothing) return "BestEffort";
  const isGuaranteed = amounts.every(({ requests, limits }) =>
    counted.every((resource) => limits[resource] !== undefined && limits[resource] === requests[resource]),
  );
  return isGuaranteed ? "Guaranteed" : "Burstable";
}
