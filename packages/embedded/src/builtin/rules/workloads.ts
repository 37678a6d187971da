import { isDeepStrictEqual } from "node:util";
import { isRecord, textAt, valueAt } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { matchesLabels, selectorFromObject } from "@tmc/kube/selector.ts";
import type { FieldError } from "../../machinery/field-error.ts";
import { forbidden, invalid, notSupported, required } from "../../machinery/field-error.ts";
import {
  ensureObject,
  type MutableFields,
  numberOrZeroAt,
  recordAt,
  recordsAt,
  setDefault,
  textsAt,
} from "../../machinery/fields.ts";
import { podSpecErrors, setPodSpecDefaults, supportedValueErrors } from "./pod-template.ts";
import type { BuiltinRules } from "./rules.ts";

/** Parses a label selector from unchecked JSON. */
function readSelector(selector: unknown) {
  return selectorFromObject({
    matchLabels: stringMap(recordAt(selector, "matchLabels")),
    matchExpressions: recordsAt(selector, "matchExpressions").map((expression) => ({
      key: textAt(expression, "key"),
      operator: textAt(expression, "operator"),
      values: textsAt(expression, "values"),
    })),
  });
}

function stringMap(fields: MutableFields): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, String(value)]));
}

function setTemplateDefaults(parent: MutableFields): MutableFields {
  const template = ensureObject(parent, "template");
  ensureObject(template, "metadata");
  const podSpec = ensureObject(template, "spec");
  setPodSpecDefaults(podSpec);
  return template;
}

function setRollingDefaults(strategy: MutableFields, defaults: MutableFields): void {
  setDefault(strategy, "type", "RollingUpdate");
  if (strategy.type !== "RollingUpdate") return;
  const rolling = ensureObject(strategy, "rollingUpdate");
  for (const [name, value] of Object.entries(defaults)) setDefault(rolling, name, value);
}

/**
 * Errors in the selector and template labels of a workload; `typeName` is the server's name of the type in messages.
 */
function selectorErrors(object: KubeObject, typeName: string): FieldError[] {
  const selector = valueAt(object, "spec", "selector");
  const labels = valueAt(object, "spec", "template", "metadata", "labels");
  const mismatch = () =>
    invalid("spec.template.metadata.labels", labels ?? null, "`selector` does not match template `labels`");
  if (!isRecord(selector)) return [required("spec.selector"), mismatch()];
  try {
    const requirements = readSelector(selector);
    if (requirements.length === 0)
      return [invalid("spec.selector", selector, `empty selector is invalid for ${typeName}`)];
    return matchesLabels(requirements, stringMap(isRecord(labels) ? labels : {})) ? [] : [mismatch()];
  } catch (error) {
    return [invalid("spec.selector", selector, error instanceof Error ? error.message : String(error))];
  }
}

function templateErrors(object: KubeObject): FieldError[] {
  // The claim templates of a stateful set become volumes of its pods.
  const claims = recordsAt(object, "spec", "volumeClaimTemplates").map((claim) => textAt(claim, "metadata", "name"));
  const errors = podSpecErrors(valueAt(object, "spec", "template", "spec"), "spec.template.spec", claims);
  const policy = valueAt(object, "spec", "template", "spec", "restartPolicy");
  if (policy === "Always") return errors;
  return [...errors, notSupported("spec.template.spec.restartPolicy", policy, ["Always"])];
}

function atLeastZero(object: KubeObject, ...names: readonly string[]): FieldError[] {
  return names
    .filter((name) => numberOrZeroAt(object, "spec", name) < 0)
    .map((name) => invalid(`spec.${name}`, numberOrZeroAt(object, "spec", name), "must be greater than or equal to 0"));
}

function immutable(object: KubeObject, old: KubeObject, ...path: readonly string[]): FieldError[] {
  const value = valueAt(object, ...path);
  return isDeepStrictEqual(value, valueAt(old, ...path))
    ? []
    : [invalid(path.join("."), value ?? null, "field is immutable")];
}

export const deploymentRules: BuiltinRules = {
  setDefaults: (object) => {
    const spec = ensureObject(object, "spec");
    setDefault(spec, "replicas", 1);
    setDefault(spec, "revisionHistoryLimit", 10);
    setDefault(spec, "progressDeadlineSeconds", 600);
    setRollingDefaults(ensureObject(spec, "strategy"), { maxUnavailable: "25%", maxSurge: "25%" });
    setTemplateDefaults(spec);
  },
  validate: (object) => [
    ...selectorErrors(object, "deployment"),
    ...templateErrors(object),
    ...atLeastZero(object, "replicas", "minReadySeconds", "revisionHistoryLimit"),
    ...strategyErrors(object),
  ],
  validateChange: (object, old) => immutable(object, old, "spec", "selector"),
};

function strategyErrors(object: KubeObject): FieldError[] {
  const strategy = recordAt(object, "spec", "strategy");
  if (strategy.type === "Recreate") {
    if (strategy.rollingUpdate === undefined) return [];
    const why = "may not be specified when strategy `type` is 'Recreate'";
    return [forbidden("spec.strategy.rollingUpdate", why)];
  }
  if (strategy.type === "RollingUpdate") return [];
  // The server prints its Go struct here.
  const shown = { Type: strategy.type, RollingUpdate: strategy.rollingUpdate ?? null };
  return [
    {
      type: "NotSupported",
      field: "spec.strategy",
      message: `Unsupported value: ${JSON.stringify(shown)}: supported values: "Recreate", "RollingUpdate"`,
    },
  ];
}

export const replicaSetRules: BuiltinRules = {
  setDefaults: (object) => {
    const spec = ensureObject(object, "spec");
    setDefault(spec, "replicas", 1);
    setTemplateDefaults(spec);
  },
  validate: (object) => [
    ...selectorErrors(object, "deployment"),
    ...templateErrors(object),
    ...atLeastZero(object, "replicas", "minReadySeconds"),
  ],
  validateChange: (object, old) => immutable(object, old, "spec", "selector"),
};

export const replicationControllerRules: BuiltinRules = {
  setDefaults: (object) => {
    replicaSetRules.setDefaults?.(object);
    const spec = ensureObject(object, "spec");
    const labels = recordAt(spec, "template", "metadata", "labels");
    if (Object.keys(labels).length === 0) return;
    setDefault(spec, "selector", { ...labels });
    // Without labels of its own, a replication controller gets those of its template.
    if (Object.keys(object.metadata.labels ?? {}).length === 0) object.metadata.labels = stringMap(labels);
  },
  validate: (object) => [...templateErrors(object), ...atLeastZero(object, "replicas", "minReadySeconds")],
};

export const daemonSetRules: BuiltinRules = {
  setDefaults: (object) => {
    const spec = ensureObject(object, "spec");
    setDefault(spec, "revisionHistoryLimit", 10);
    setRollingDefaults(ensureObject(spec, "updateStrategy"), { maxUnavailable: 1, maxSurge: 0 });
    setTemplateDefaults(spec);
  },
  initialize: (object) => setTemplateGeneration(object, "1"),
  preserve: (object, old) => {
    const before = Number(old.metadata.annotations?.[templateGeneration] ?? "1");
    const isSame = isDeepStrictEqual(valueAt(object, "spec", "template"), valueAt(old, "spec", "template"));
    setTemplateGeneration(object, String(isSame ? before : before + 1));
  },
  validate: (object) => [...selectorErrors(object, "daemonset"), ...templateErrors(object)],
  validateChange: (object, old) => immutable(object, old, "spec", "selector"),
};

const templateGeneration = "deprecated.daemonset.template.generation";

function setTemplateGeneration(object: KubeObject, generation: string): void {
  object.metadata.annotations = { ...object.metadata.annotations, [templateGeneration]: generation };
}

const changeableOfStatefulSet = [
  "replicas",
  "ordinals",
  "template",
  "updateStrategy",
  "revisionHistoryLimit",
  "persistentVolumeClaimRetentionPolicy",
  "minReadySeconds",
];

export const statefulSetRules: BuiltinRules = {
  setDefaults: (object) => {
    const spec = ensureObject(object, "spec");
    setDefault(spec, "replicas", 1);
    setDefault(spec, "revisionHistoryLimit", 10);
    setDefault(spec, "podManagementPolicy", "OrderedReady");
    const retention = ensureObject(spec, "persistentVolumeClaimRetentionPolicy");
    setDefault(retention, "whenDeleted", "Retain");
    setDefault(retention, "whenScaled", "Retain");
    setRollingDefaults(ensureObject(spec, "updateStrategy"), { partition: 0 });
    setTemplateDefaults(spec);
    for (const claim of recordsAt(spec, "volumeClaimTemplates")) {
      claim.apiVersion = "v1";
      claim.kind = "PersistentVolumeClaim";
      setDefault(ensureObject(claim, "spec"), "volumeMode", "Filesystem");
      setDefault(ensureObject(claim, "status"), "phase", "Pending");
    }
  },
  initialize: (object) => setDefault(ensureObject(object, "status"), "availableReplicas", 0),
  validate: (object) => [
    ...selectorErrors(object, "statefulset"),
    ...templateErrors(object),
    ...atLeastZero(object, "replicas", "minReadySeconds"),
  ],
  validateChange: (object, old) => {
    const rest = (spec: MutableFields) => ({
      ...spec,
      ...Object.fromEntries(changeableOfStatefulSet.map((name) => [name, 0])),
    });
    if (isDeepStrictEqual(rest(recordAt(object, "spec")), rest(recordAt(old, "spec")))) return [];
    return [
      forbidden(
        "spec",
        "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
      ),
    ];
  },
};

function setJobSpecDefaults(spec: MutableFields): void {
  if (spec.completions === undefined && spec.parallelism === undefined) spec.completions = 1;
  setDefault(spec, "parallelism", 1);
  setDefault(spec, "backoffLimit", 6);
  setDefault(spec, "completionMode", "NonIndexed");
  setDefault(spec, "suspend", false);
  setDefault(spec, "podReplacementPolicy", spec.podFailurePolicy === undefined ? "TerminatingOrFailed" : "Failed");
  setDefault(spec, "manualSelector", false);
}

export const jobRules: BuiltinRules = {
  setDefaults: (object) => {
    const spec = ensureObject(object, "spec");
    setJobSpecDefaults(spec);
    setTemplateDefaults(spec);
  },
  initialize: (object) => {
    const spec = ensureObject(object, "spec");
    if (spec.manualSelector === true) return;
    const uid = object.metadata.uid ?? "";
    const name = object.metadata.name ?? "";
    const labels = {
      "batch.kubernetes.io/controller-uid": uid,
      "batch.kubernetes.io/job-name": name,
      "controller-uid": uid,
      "job-name": name,
    };
    const templateMetadata = ensureObject(ensureObject(spec, "template"), "metadata");
    templateMetadata.labels = { ...recordAt(templateMetadata, "labels"), ...labels };
    // Without labels of its own, a job gets those of its template.
    if (object.metadata.labels === undefined) object.metadata.labels = stringMap(recordAt(templateMetadata, "labels"));
    spec.selector = { matchLabels: { "batch.kubernetes.io/controller-uid": uid } };
  },
  validate: (object) => jobTemplateErrors(object, "spec"),
  validateChange: (object, old) => [
    ...immutable(object, old, "spec", "selector"),
    ...jobTemplateChanges(object, old),
    ...immutable(object, old, "spec", "completionMode"),
  ],
};

/** While a job is suspended, its scheduling constraints may change; the rest of the template is immutable. */
function jobTemplateChanges(object: KubeObject, old: KubeObject): FieldError[] {
  if (valueAt(old, "spec", "suspend") !== true) return immutable(object, old, "spec", "template");
  const lasting = (job: KubeObject): MutableFields => {
    const {
      nodeSelector: _,
      affinity: __,
      tolerations: ___,
      schedulingGates: ____,
      ...pod
    } = recordAt(job, "spec", "template", "spec");
    return pod;
  };
  if (isDeepStrictEqual(lasting(object), lasting(old))) return [];
  return [invalid("spec.template", recordAt(object, "spec", "template"), "field is immutable")];
}

function jobTemplateErrors(object: KubeObject, ...path: readonly string[]): FieldError[] {
  const spec = valueAt(object, ...path, "template", "spec");
  const at = `${path.join(".")}.template.spec`;
  const errors = podSpecErrors(spec, at);
  const policy = valueAt(spec, "restartPolicy");
  if (policy === "OnFailure" || policy === "Never") return errors;
  return [...errors, required(`${at}.restartPolicy`, 'valid values: "OnFailure", "Never"')];
}

export const cronJobRules: BuiltinRules = {
  setDefaults: (object) => {
    const spec = ensureObject(object, "spec");
    setDefault(spec, "concurrencyPolicy", "Allow");
    setDefault(spec, "suspend", false);
    setDefault(spec, "successfulJobsHistoryLimit", 3);
    setDefault(spec, "failedJobsHistoryLimit", 1);
    const template = ensureObject(spec, "jobTemplate");
    ensureObject(template, "metadata");
    // The defaults of the job spec are set when a job is created from the template.
    setTemplateDefaults(ensureObject(template, "spec"));
  },
  validate: (object) => [
    ...scheduleErrors(textAt(object, "spec", "schedule")),
    ...jobTemplateErrors(object, "spec", "jobTemplate", "spec"),
    ...supportedValueErrors("spec.concurrencyPolicy", valueAt(object, "spec", "concurrencyPolicy"), [
      "Allow",
      "Forbid",
      "Replace",
    ]),
  ],
};

function scheduleErrors(schedule: string): FieldError[] {
  if (schedule === "") return [required("spec.schedule")];
  if (/^@(yearly|annually|monthly|weekly|daily|midnight|hourly|every .+)$/.test(schedule)) return [];
  const fields = schedule.trim().split(/\s+/);
  if (fields.length === 5) return [];
  const detail = `expected exactly 5 fields, found ${fields.length}: [${fields.join(" ")}]`;
  return [invalid("spec.schedule", schedule, detail)];
}

export const podTemplateRules: BuiltinRules = { setDefaults: (object) => void setTemplateDefaults(object) };
