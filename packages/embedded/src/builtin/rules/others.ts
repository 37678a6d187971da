import { isRecord, textAt, valueAt } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { FieldError } from "../../machinery/field-error.ts";
import { invalid, required } from "../../machinery/field-error.ts";
import { ensureObject, type MutableFields, numberOrZeroAt, recordsAt, setDefault } from "../../machinery/fields.ts";
import type { BuiltinRules } from "./rules.ts";

export const autoscalerRules: BuiltinRules = {
  setDefaults: (autoscaler) => {
    const spec = ensureObject(autoscaler, "spec");
    setDefault(spec, "minReplicas", 1);
    if (recordsAt(spec, "metrics").length === 0) {
      const target = { type: "Utilization", averageUtilization: 80 };
      spec.metrics = [{ type: "Resource", resource: { name: "cpu", target } }];
    }
    const behavior = spec.behavior;
    if (!isRecord(behavior)) return;
    setScalingDefaults(ensureObject(behavior, "scaleUp"), 0, [
      { type: "Pods", value: 4, periodSeconds: 15 },
      { type: "Percent", value: 100, periodSeconds: 15 },
    ]);
    setScalingDefaults(ensureObject(behavior, "scaleDown"), undefined, [
      { type: "Percent", value: 100, periodSeconds: 15 },
    ]);
  },
  validate: autoscalerErrors,
};

export const oldAutoscalerRules: BuiltinRules = {
  setDefaults: (autoscaler) => setDefault(ensureObject(autoscaler, "spec"), "minReplicas", 1),
  validate: autoscalerErrors,
};

function setScalingDefaults(
  rules: MutableFields,
  windowSeconds: number | undefined,
  policies: readonly MutableFields[],
): void {
  setDefault(rules, "selectPolicy", "Max");
  setDefault(rules, "policies", policies);
  if (windowSeconds !== undefined) setDefault(rules, "stabilizationWindowSeconds", windowSeconds);
}

function autoscalerErrors(autoscaler: KubeObject): FieldError[] {
  const maximum = numberOrZeroAt(autoscaler, "spec", "maxReplicas");
  const target = valueAt(autoscaler, "spec", "scaleTargetRef");
  const isCore = textAt(target, "apiVersion") === "v1" && textAt(target, "kind") === "ReplicationController";
  return [
    ...(maximum < 1 ? [required("spec.maxReplicas", "must be set and greater than 0")] : []),
    ...(maximum < numberOrZeroAt(autoscaler, "spec", "minReplicas")
      ? [invalid("spec.maxReplicas", maximum, "must be greater than or equal to `minReplicas`")]
      : []),
    ...(textAt(target, "kind") === "" ? [required("spec.scaleTargetRef.kind")] : []),
    ...(textAt(target, "name") === "" ? [required("spec.scaleTargetRef.name")] : []),
    ...(textAt(target, "apiVersion").includes("/") || isCore
      ? []
      : [invalid("spec.scaleTargetRef.apiVersion", textAt(target, "apiVersion"), "apiVersion must specify API group")]),
  ];
}

export const storageClassRules: BuiltinRules = {
  setDefaults: (object) => {
    setDefault(object, "reclaimPolicy", "Delete");
    setDefault(object, "volumeBindingMode", "Immediate");
  },
};

export const priorityClassRules: BuiltinRules = {
  setDefaults: (object) => setDefault(object, "preemptionPolicy", "PreemptLowerPriority"),
};

/** Webhook configurations are stored and defaulted, but the embedded servers call no webhooks. */
export const webhookRules: BuiltinRules = {
  setDefaults: (object) => {
    for (const webhook of recordsAt(object, "webhooks")) {
      setDefault(webhook, "failurePolicy", "Fail");
      setDefault(webhook, "matchPolicy", "Equivalent");
      setDefault(webhook, "namespaceSelector", {});
      setDefault(webhook, "objectSelector", {});
      setDefault(webhook, "timeoutSeconds", 10);
      if (object.kind === "MutatingWebhookConfiguration") setDefault(webhook, "reinvocationPolicy", "Never");
      for (const rule of recordsAt(webhook, "rules")) setDefault(rule, "scope", "*");
      const service = valueAt(webhook, "clientConfig", "service");
      if (isRecord(service)) setDefault(service, "port", 443);
    }
  },
};

export const signingRequestRules: BuiltinRules = {
  initialize: (request, { user }) => {
    const spec = ensureObject(request, "spec");
    setDefault(spec, "usages", ["digital signature", "key encipherment"]);
    spec.username = user.name;
    spec.groups = [...user.groups];
    if (user.uid === undefined) delete spec.uid;
    else spec.uid = user.uid;
    if (user.extra === undefined) delete spec.extra;
    else spec.extra = Object.fromEntries(Object.entries(user.extra).map(([key, values]) => [key, [...values]]));
  },
  // The spec of a signing request is immutable.
  preserve: (request, old) => {
    request.spec = structuredClone(old.spec);
  },
};
