import { isDeepStrictEqual } from "node:util";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { matchesLabels, selectorFromObject } from "@tmc/kube/selector.ts";
import { ensureObject, setDefault } from "../../field-changes.ts";
import { type Fields, isFields, numberAt, objectAt, objectsAt, textAt, textsAt, valueAt } from "../../fields.ts";
import type { FieldError } from "../../machinery/field-error.ts";
import { forbidden, invalid, notSupported, required } from "../../machinery/field-error.ts";
import { choice, podSpecErrors, setPodSpecDefaults } from "./pod-template.ts";
import type { TypeRules } from "./rules.ts";

/** A selector as the functions on selectors want it, out of what an object really holds. */
function readSelector(selector: unknown) {
  return selectorFromObject({
    matchLabels: stringMap(objectAt(selector, "matchLabels")),
    matchExpressions: objectsAt(selector, "matchExpressions").map((expression) => ({
      key: textAt(expression, "key"),
      operator: textAt(expression, "operator"),
      values: textsAt(expression, "values"),
    })),
  });
}

function stringMap(fields: Fields): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, String(value)]));
}

function setTemplateDefaults(parent: Fields): Fields {
  const template = ensureObject(parent, "template");
  ensureObject(template, "metadata");
  const podSpec = ensureObject(template, "spec");
  setPodSpecDefaults(podSpec);
  return template;
}

function setRollingDefaults(strategy: Fields, defaults: Fields): void {
  setDefault(strategy, "type", "RollingUpdate");
  if (strategy.type !== "RollingUpdate") return;
  const rolling = ensureObject(strategy, "rollingUpdate");
  for (const [name, value] of Object.entries(defaults)) setDefault(rolling, name, value);
}

/** The rules that all workloads with a selector and a template share; `word` is how the server calls the type. */
function selectorErrors(object: KubeObject, word: string): FieldError[] {
  const selector = valueAt(object, "spec", "selector");
  const labels = valueAt(object, "spec", "template", "metadata", "labels");
  const mismatch = () =>
    invalid("spec.template.metadata.labels", labels ?? null, "`selector` does not match template `labels`");
  if (!isFields(selector)) return [required("spec.selector"), mismatch()];
  try {
    const requirements = readSelector(selector);
    if (requirements.length === 0) return [invalid("spec.selector", selector, `empty selector is invalid for ${word}`)];
    return matchesLabels(requirements, stringMap(isFields(labels) ? labels : {})) ? [] : [mismatch()];
  } catch (error) {
    return [invalid("spec.selector", selector, error instanceof Error ? error.message : String(error))];
  }
}

function templateErrors(object: KubeObject): FieldError[] {
  // A stateful set's claims become volumes of its pods.
  const claims = objectsAt(object, "spec", "volumeClaimTemplates").map((claim) => textAt(claim, "metadata", "name"));
  const errors = podSpecErrors(valueAt(object, "spec", "template", "spec"), "spec.template.spec", claims);
  const policy = valueAt(object, "spec", "template", "spec", "restartPolicy");
  if (policy === "Always") return errors;
  return [...errors, notSupported("spec.template.spec.restartPolicy", policy, ["Always"])];
}

function atLeastZero(object: KubeObject, ...names: readonly string[]): FieldError[] {
  return names
    .filter((name) => numberAt(object, "spec", name) < 0)
    .map((name) => invalid(`spec.${name}`, numberAt(object, "spec", name), "must be greater than or equal to 0"));
}

function immutable(object: KubeObject, old: KubeObject, ...path: readonly string[]): FieldError[] {
  const value = valueAt(object, ...path);
  return isDeepStrictEqual(value, valueAt(old, ...path))
    ? []
    : [invalid(path.join("."), value ?? null, "field is immutable")];
}

export const deploymentRules: TypeRules = {
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
  const strategy = objectAt(object, "spec", "strategy");
  if (strategy.type === "Recreate") {
    if (strategy.rollingUpdate === undefined) return [];
    const why = "may not be specified when strategy `type` is 'Recreate'";
    return [forbidden("spec.strategy.rollingUpdate", why)];
  }
  if (strategy.type === "RollingUpdate") return [];
  // The server prints its own structure here.
  const shown = { Type: strategy.type, RollingUpdate: strategy.rollingUpdate ?? null };
  return [
    {
      type: "NotSupported",
      field: "spec.strategy",
      message: `Unsupported value: ${JSON.stringify(shown)}: supported values: "Recreate", "RollingUpdate"`,
    },
  ];
}

export const replicaSetRules: TypeRules = {
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

export const replicationControllerRules: TypeRules = {
  setDefaults: (object) => {
    replicaSetRules.setDefaults?.(object);
    const spec = ensureObject(object, "spec");
    const labels = objectAt(spec, "template", "metadata", "labels");
    if (Object.keys(labels).length === 0) return;
    setDefault(spec, "selector", { ...labels });
    // Its labels follow from the template's, where it has none of its own.
    if (Object.keys(object.metadata.labels ?? {}).length === 0) object.metadata.labels = stringMap(labels);
  },
  validate: (object) => [...templateErrors(object), ...atLeastZero(object, "replicas", "minReadySeconds")],
};

export const daemonSetRules: TypeRules = {
  setDefaults: (object) => {
    const spec = ensureObject(object, "spec");
    setDefault(spec, "revisionHistoryLimit", 10);
    setRollingDefaults(ensureObject(spec, "updateStrategy"), { maxUnavailable: 1, maxSurge: 0 });
    setTemplateDefaults(spec);
  },
  begin: (object) => setTemplateGeneration(object, "1"),
  carryOver: (object, old) => {
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

export const statefulSetRules: TypeRules = {
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
    for (const claim of objectsAt(spec, "volumeClaimTemplates")) {
      claim.apiVersion = "v1";
      claim.kind = "PersistentVolumeClaim";
      setDefault(ensureObject(claim, "spec"), "volumeMode", "Filesystem");
      setDefault(ensureObject(claim, "status"), "phase", "Pending");
    }
  },
  begin: (object) => setDefault(ensureObject(object, "status"), "availableReplicas", 0),
  validate: (object) => [
    ...selectorErrors(object, "statefulset"),
    ...templateErrors(object),
    ...atLeastZero(object, "replicas", "minReadySeconds"),
  ],
  validateChange: (object, old) => {
    const rest = (spec: Fields) => ({
      ...spec,
      ...Object.fromEntries(changeableOfStatefulSet.map((name) => [name, 0])),
    });
    if (isDeepStrictEqual(rest(objectAt(object, "spec")), rest(objectAt(old, "spec")))) return [];
    return [
      forbidden(
        "spec",
        "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
      ),
    ];
  },
};

function setJobSpecDefaults(spec: Fields): void {
  if (spec.completions === undefined && spec.parallelism === undefined) spec.completions = 1;
  setDefault(spec, "parallelism", 1);
  setDefault(spec, "backoffLimit", 6);
  setDefault(spec, "completionMode", "NonIndexed");
  setDefault(spec, "suspend", false);
  setDefault(spec, "podReplacementPolicy", spec.podFailurePolicy === undefined ? "TerminatingOrFailed" : "Failed");
  setDefault(spec, "manualSelector", false);
}

export const jobRules: TypeRules = {
  setDefaults: (object) => {
    const spec = ensureObject(object, "spec");
    setJobSpecDefaults(spec);
    setTemplateDefaults(spec);
  },
  begin: (object) => {
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
    templateMetadata.labels = { ...objectAt(templateMetadata, "labels"), ...labels };
    // A job that brings no labels gets its template's.
    if (object.metadata.labels === undefined) object.metadata.labels = stringMap(objectAt(templateMetadata, "labels"));
    spec.selector = { matchLabels: { "batch.kubernetes.io/controller-uid": uid } };
  },
  validate: (object) => jobTemplateErrors(object, "spec"),
  validateChange: (object, old) => [
    ...immutable(object, old, "spec", "selector"),
    ...jobTemplateChanges(object, old),
    ...immutable(object, old, "spec", "completionMode"),
  ],
};

/** While a job is suspended, where its pods may run can still change; what runs in them never does. */
function jobTemplateChanges(object: KubeObject, old: KubeObject): FieldError[] {
  if (valueAt(old, "spec", "suspend") !== true) return immutable(object, old, "spec", "template");
  const lasting = (job: KubeObject): Fields => {
    const {
      nodeSelector: _,
      affinity: __,
      tolerations: ___,
      schedulingGates: ____,
      ...pod
    } = objectAt(job, "spec", "template", "spec");
    return pod;
  };
  if (isDeepStrictEqual(lasting(object), lasting(old))) return [];
  return [invalid("spec.template", objectAt(object, "spec", "template"), "field is immutable")];
}

function jobTemplateErrors(object: KubeObject, ...path: readonly string[]): FieldError[] {
  const spec = valueAt(object, ...path, "template", "spec");
  const at = `${path.join(".")}.template.spec`;
  const errors = podSpecErrors(spec, at);
  const policy = valueAt(spec, "restartPolicy");
  if (policy === "OnFailure" || policy === "Never") return errors;
  return [...errors, required(`${at}.restartPolicy`, 'valid values: "OnFailure", "Never"')];
}

export const cronJobRules: TypeRules = {
  setDefaults: (object) => {
    const spec = ensureObject(object, "spec");
    setDefault(spec, "concurrencyPolicy", "Allow");
    setDefault(spec, "suspend", false);
    setDefault(spec, "successfulJobsHistoryLimit", 3);
    setDefault(spec, "failedJobsHistoryLimit", 1);
    const template = ensureObject(spec, "jobTemplate");
    ensureObject(template, "metadata");
    // The job's own defaults come when a job is made of it.
    setTemplateDefaults(ensureObject(template, "spec"));
  },
  validate: (object) => [
    ...scheduleErrors(textAt(object, "spec", "schedule")),
    ...jobTemplateErrors(object, "spec", "jobTemplate", "spec"),
    ...choice("spec.concurrencyPolicy", valueAt(object, "spec", "concurrencyPolicy"), ["Allow", "Forbid", "Replace"]),
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

export const podTemplateRules: TypeRules = { setDefaults: (object) => void setTemplateDefaults(object) };
