import type { KubeObject } from "../../../model/kube-object.ts";
import { formatAge, formatDuration } from "../../table.ts";
import { autoscalerConversion } from "../conversions.ts";
import { count, field, isFields, objects, text } from "../fields.ts";
import { age, type Cells, containerCells, formatLabels, formatSelector, none, orNone } from "./cells.ts";

const template = containerCells(["spec", "template", "spec"]);

export const deploymentCells: Cells = {
  Ready: (object) => `${count(object, "status", "readyReplicas")}/${count(object, "spec", "replicas")}`,
  "Up-to-date": (object) => count(object, "status", "updatedReplicas"),
  Available: (object) => count(object, "status", "availableReplicas"),
  Age: age,
  ...template,
  Selector: (object) => formatSelector(field(object, "spec", "selector")),
};

export const replicaSetCells: Cells = {
  Desired: (object) => count(object, "spec", "replicas"),
  Current: (object) => count(object, "status", "replicas"),
  Ready: (object) => count(object, "status", "readyReplicas"),
  Age: age,
  ...template,
  Selector: (object) => formatSelector(field(object, "spec", "selector")),
};

export const replicationControllerCells: Cells = {
  ...replicaSetCells,
  Selector: (object) => formatLabels(field(object, "spec", "selector")),
};

export const statefulSetCells: Cells = {
  Ready: (object) => `${count(object, "status", "readyReplicas")}/${count(object, "spec", "replicas")}`,
  Age: age,
  ...template,
};

export const daemonSetCells: Cells = {
  Desired: (object) => count(object, "status", "desiredNumberScheduled"),
  Current: (object) => count(object, "status", "currentNumberScheduled"),
  Ready: (object) => count(object, "status", "numberReady"),
  "Up-to-date": (object) => count(object, "status", "updatedNumberScheduled"),
  Available: (object) => count(object, "status", "numberAvailable"),
  "Node Selector": (object) => formatLabels(field(object, "spec", "template", "spec", "nodeSelector")),
  Age: age,
  ...template,
  Selector: (object) => formatSelector(field(object, "spec", "selector")),
};

export const jobCells: Cells = {
  Status: jobStatus,
  Completions: (job) => {
    const succeeded = count(job, "status", "succeeded");
    const completions = field(job, "spec", "completions");
    if (typeof completions === "number") return `${succeeded}/${completions}`;
    const parallelism = count(job, "spec", "parallelism");
    return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
  },
  Duration: (job, now) => {
    const started = text(job, "status", "startTime");
    if (started === "") return "";
    const completed = text(job, "status", "completionTime");
    return formatDuration((completed === "" ? now : Date.parse(completed)) - Date.parse(started));
  },
  Age: age,
  ...template,
  Selector: (job) => formatSelector(field(job, "spec", "selector")),
};

function jobStatus(job: KubeObject): string {
  const has = (type: string) =>
    objects(job, "status", "conditions").some((condition) => condition.type === type && condition.status === "True");
  if (has("Complete")) return "Complete";
  if (has("Failed")) return "Failed";
  if (job.metadata.deletionTimestamp !== undefined) return "Terminating";
  return ["Suspended", "FailureTarget", "SuccessCriteriaMet"].find(has) ?? "Running";
}

export const cronJobCells: Cells = {
  Schedule: (object) => text(object, "spec", "schedule"),
  Timezone: (object) => orNone(text(object, "spec", "timeZone")),
  Suspend: (object) => {
    const suspend = field(object, "spec", "suspend");
    if (typeof suspend !== "boolean") return "<unset>";
    return suspend ? "True" : "False";
  },
  Active: (object) => objects(object, "status", "active").length,
  "Last Schedule": (object, now) => {
    const last = text(object, "status", "lastScheduleTime");
    return last === "" ? none : formatAge(last, now);
  },
  Age: age,
  ...containerCells(["spec", "jobTemplate", "spec", "template", "spec"]),
  Selector: (object) => formatSelector(field(object, "spec", "jobTemplate", "spec", "selector")),
};

export const podTemplateCells: Cells = {
  ...containerCells(["template", "spec"]),
  "Pod Labels": (object) => formatLabels(field(object, "template", "metadata", "labels")),
};

export const controllerRevisionCells: Cells = {
  Controller: (object) => {
    const owner = object.metadata.ownerReferences?.find(({ controller }) => controller === true);
    if (owner === undefined) return none;
    const group = owner.apiVersion.includes("/") ? `.${owner.apiVersion.split("/")[0]}` : "";
    return `${owner.kind.toLowerCase()}${group}/${owner.name}`;
  },
  Revision: (object) => count(object, "revision"),
  Age: age,
};

export const disruptionBudgetCells: Cells = {
  "Min Available": (object) => intOrString(field(object, "spec", "minAvailable")),
  "Max Unavailable": (object) => intOrString(field(object, "spec", "maxUnavailable")),
  "Allowed Disruptions": (object) => count(object, "status", "disruptionsAllowed"),
  Age: age,
};

function intOrString(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "N/A";
}

export const autoscalerCells: Cells = {
  Reference: (object) =>
    `${text(object, "spec", "scaleTargetRef", "kind")}/${text(object, "spec", "scaleTargetRef", "name")}`,
  Targets: formatTargets,
  MinPods: (object) => {
    const minimum = field(object, "spec", "minReplicas");
    return typeof minimum === "number" ? String(minimum) : "<unset>";
  },
  MaxPods: (object) => count(object, "spec", "maxReplicas"),
  Replicas: (object) => count(object, "status", "currentReplicas"),
  Age: age,
};

/** The first version knows its one metric under another name. */
export const oldAutoscalerCells: Cells = {
  ...autoscalerCells,
  Targets: (object) => formatTargets(autoscalerConversion.toStored(object)),
};

/** At most two metrics are shown, each as current/target. */
function formatTargets(autoscaler: KubeObject): string {
  const metrics = objects(autoscaler, "spec", "metrics");
  if (metrics.length === 0) return none;
  const current = objects(autoscaler, "status", "currentMetrics");
  const shown = metrics.slice(0, 2).map((metric, index) => formatTarget(metric, current[index]));
  return metrics.length > 2 ? `${shown.join(", ")} + ${metrics.length - 2} more...` : shown.join(", ");
}

const sourceOfMetric: Readonly<Record<string, string>> = {
  Resource: "resource",
  ContainerResource: "containerResource",
  Pods: "pods",
  Object: "object",
  External: "external",
};

function formatTarget(metric: unknown, current: unknown): string {
  const type = text(metric, "type");
  const source = sourceOfMetric[type];
  if (source === undefined) return "<unknown type>";
  const target = field(metric, source, "target");
  const now = field(current, source, "current");
  const isAverage = type !== "Object" || isFields(field(target, "averageValue"));
  const prefix = type === "Resource" || type === "ContainerResource" ? `${text(metric, source, "name")}: ` : "";
  const utilization = field(target, "averageUtilization");
  if (typeof utilization === "number") {
    const seen = field(now, "averageUtilization");
    return `${prefix}${typeof seen === "number" ? `${seen}%` : "<unknown>"}/${utilization}%`;
  }
  const average = text(target, "averageValue");
  if (average !== "" && isAverage) {
    const suffix = prefix === "" ? " (avg)" : "";
    return `${prefix}${text(now, "averageValue") || "<unknown>"}/${average}${suffix}`;
  }
  return `${prefix}${text(now, "value") || "<unknown>"}/${text(target, "value") || "<auto>"}`;
}
