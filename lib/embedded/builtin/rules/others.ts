import type { KubeObject } from "../../../model/kube-object.ts";
import type { FieldError } from "../../machinery/field-error.ts";
import { invalid, required } from "../../machinery/field-error.ts";
import { count, ensureMap, type Fields, field, isFields, objects, setDefault, text } from "../fields.ts";
import type { TypeRules } from "./rules.ts";

export const autoscalerRules: TypeRules = {
  setDefaults: (autoscaler) => {
    const spec = ensureMap(autoscaler, "spec");
    setDefault(spec, "minReplicas", 1);
    if (objects(spec, "metrics").length === 0) {
      const target = { type: "Utilization", averageUtilization: 80 };
      spec.metrics = [{ type: "Resource", resource: { name: "cpu", target } }];
    }
    const behavior = spec.behavior;
    if (!isFields(behavior)) return;
    setScalingDefaults(ensureMap(behavior, "scaleUp"), 0, [
      { type: "Pods", value: 4, periodSeconds: 15 },
      { type: "Percent", value: 100, periodSeconds: 15 },
    ]);
    setScalingDefaults(ensureMap(behavior, "scaleDown"), undefined, [
      { type: "Percent", value: 100, periodSeconds: 15 },
    ]);
  },
  validate: autoscalerErrors,
};

export const oldAutoscalerRules: TypeRules = {
  setDefaults: (autoscaler) => setDefault(ensureMap(autoscaler, "spec"), "minReplicas", 1),
  validate: autoscalerErrors,
};

function setScalingDefaults(rules: Fields, windowSeconds: number | undefined, policies: readonly Fields[]): void {
  setDefault(rules, "selectPolicy", "Max");
  setDefault(rules, "policies", policies);
  if (windowSeconds !== undefined) setDefault(rules, "stabilizationWindowSeconds", windowSeconds);
}

function autoscalerErrors(autoscaler: KubeObject): FieldError[] {
  const maximum = count(autoscaler, "spec", "maxReplicas");
  const target = field(autoscaler, "spec", "scaleTargetRef");
  const isCore = text(target, "apiVersion") === "v1" && text(target, "kind") === "ReplicationController";
  return [
    ...(maximum < 1 ? [required("spec.maxReplicas", "must be set and greater than 0")] : []),
    ...(maximum < count(autoscaler, "spec", "minReplicas")
      ? [invalid("spec.maxReplicas", maximum, "must be greater than or equal to `minReplicas`")]
      : []),
    ...(text(target, "kind") === "" ? [required("spec.scaleTargetRef.kind")] : []),
    ...(text(target, "name") === "" ? [required("spec.scaleTargetRef.name")] : []),
    ...(text(target, "apiVersion").includes("/") || isCore
      ? []
      : [invalid("spec.scaleTargetRef.apiVersion", text(target, "apiVersion"), "apiVersion must specify API group")]),
  ];
}

export const storageClassRules: TypeRules = {
  setDefaults: (object) => {
    setDefault(object, "reclaimPolicy", "Delete");
    setDefault(object, "volumeBindingMode", "Immediate");
  },
};

export const priorityClassRules: TypeRules = {
  setDefaults: (object) => setDefault(object, "preemptionPolicy", "PreemptLowerPriority"),
};

/** Webhooks are kept for whoever reads them; the embedded servers call none. */
export const webhookRules: TypeRules = {
  setDefaults: (object) => {
    for (const webhook of objects(object, "webhooks")) {
      setDefault(webhook, "failurePolicy", "Fail");
      setDefault(webhook, "matchPolicy", "Equivalent");
      setDefault(webhook, "namespaceSelector", {});
      setDefault(webhook, "objectSelector", {});
      setDefault(webhook, "timeoutSeconds", 10);
      if (object.kind === "MutatingWebhookConfiguration") setDefault(webhook, "reinvocationPolicy", "Never");
      for (const rule of objects(webhook, "rules")) setDefault(rule, "scope", "*");
      const service = field(webhook, "clientConfig", "service");
      if (isFields(service)) setDefault(service, "port", 443);
    }
  },
};

export const signingRequestRules: TypeRules = {
  begin: (request, { user }) => {
    const spec = ensureMap(request, "spec");
    setDefault(spec, "usages", ["digital signature", "key encipherment"]);
    spec.username = user.name;
    spec.groups = [...user.groups];
    if (user.uid === undefined) delete spec.uid;
    else spec.uid = user.uid;
    if (user.extra === undefined) delete spec.extra;
    else spec.extra = Object.fromEntries(Object.entries(user.extra).map(([key, values]) => [key, [...values]]));
  },
  // What was asked for cannot be changed any more.
  carryOver: (request, old) => {
    request.spec = structuredClone(old.spec);
  },
};
