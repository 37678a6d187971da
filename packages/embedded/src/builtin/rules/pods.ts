import { isDeepStrictEqual } from "node:util";
import { isRecord, valueAt } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { forbidden } from "../../machinery/field-error.ts";
import { ensureObject, listAt, type MutableFields, recordAt, recordsAt, setDefault } from "../../machinery/fields.ts";
import { podSpecErrors, setPodSpecDefaults } from "./pod-template.ts";
import { type BuiltinRules, isServerWrite } from "./rules.ts";

/** Default tolerationSeconds of the not-ready and unreachable taints. */
const evictionSeconds = 300;

export const podRules: BuiltinRules = {
  setDefaults: (pod) => {
    const spec = ensureObject(pod, "spec");
    setPodSpecDefaults(spec);
    setDefault(spec, "enableServiceLinks", true);
    for (const container of [...recordsAt(spec, "initContainers"), ...recordsAt(spec, "containers")]) {
      const limits = recordAt(container, "resources", "limits");
      if (Object.keys(limits).length === 0) continue;
      const requests = ensureObject(ensureObject(container, "resources"), "requests");
      for (const [resource, limit] of Object.entries(limits)) setDefault(requests, resource, limit);
    }
  },
  initialize: (pod) => {
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
  preserve: (pod, old) => {
    // Admission sets these once. An update without them does not remove them.
    const spec = ensureObject(pod, "spec");
    for (const name of ["priority", "preemptionPolicy", "serviceAccountName", "serviceAccount", "tolerations"]) {
      const before = valueAt(old, "spec", name);
      if (before !== undefined) setDefault(spec, name, before);
    }
  },
  validate: (pod) => podSpecErrors(pod.spec, "spec"),
  validateChange: (pod, old, context) => {
    if (isServerWrite(context) || isDeepStrictEqual(fixedPart(pod), fixedPart(old))) return [];
    return [
      forbidden(
        "spec",
        "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
      ),
    ];
  },
};

function fixedPart(pod: KubeObject): MutableFields {
  const withoutImages = (containers: readonly MutableFields[]) => containers.map(({ image: _image, ...rest }) => rest);
  const { activeDeadlineSeconds: _deadline, tolerations: _tolerations, ...spec } = recordAt(pod, "spec");
  return {
    ...spec,
    containers: withoutImages(recordsAt(spec, "containers")),
    initContainers: withoutImages(recordsAt(spec, "initContainers")),
    terminationGracePeriodSeconds: 0,
  };
}

function withDefaultTolerations(tolerations: readonly unknown[]): unknown[] {
  const missing = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"].filter(
    (key) =>
      !tolerations.some(
        (toleration) =>
          isRecord(toleration) &&
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
  const containers = [...recordsAt(pod, "spec", "initContainers"), ...recordsAt(pod, "spec", "containers")];
  const amounts = containers.map((container) => ({
    requests: recordAt(container, "resources", "requests"),
    limits: recordAt(container, "resources", "limits"),
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
