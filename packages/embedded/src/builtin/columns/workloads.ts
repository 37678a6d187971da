import { isRecord, textAt, valueAt } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { formatDuration, formatTimestampAge } from "../../definitions/table.ts";
import { numberOrZeroAt, recordsAt } from "../../machinery/fields.ts";
import { autoscalerConversion } from "../conversions.ts";
import { age, type Cells, containerCells, formatLabels, formatSelector, none, orNone } from "./cells.ts";

const template = containerCells(["spec", "template", "spec"]);

export const deploymentCells: Cells = {
  Ready: (object) =>
    `${numberOrZeroAt(object, "status", "readyReplicas")}/${numberOrZeroAt(object, "spec", "replicas")}`,
  "Up-to-date": (object) => numberOrZeroAt(object, "status", "updatedReplicas"),
  Available: (object) => numberOrZeroAt(object, "status", "availableReplicas"),
  Age: age,
  ...template,
  Selector: (object) => formatSelector(valueAt(object, "spec", "selector")),
};

export const replicaSetCells: Cells = {
  Desired: (object) => numberOrZeroAt(object, "spec", "replicas"),
  Current: (object) => numberOrZeroAt(object, "status", "replicas"),
  Ready: (object) => numberOrZeroAt(object, "status", "readyReplicas"),
  Age: age,
  ...template,
  Selector: (object) => formatSelector(valueAt(object, "spec", "selector")),
};

export const replicationControllerCells: Cells = {
  ...replicaSetCells,
  Selector: (object) => formatLabels(valueAt(object, "spec", "selector")),
};

export const statefulSetCells: Cells = {
  Ready: (object) =>
    `${numberOrZeroAt(object, "status", "readyReplicas")}/${numberOrZeroAt(object, "spec", "replicas")}`,
  Age: age,
  ...template,
};

export const daemonSetCells: Cells = {
  Desired: (object) => numberOrZeroAt(object, "status", "desiredNumberScheduled"),
  Current: (object) => numberOrZeroAt(object, "status", "currentNumberScheduled"),
  Ready: (object) => numberOrZeroAt(object, "status", "numberReady"),
  "Up-to-date": (object) => numberOrZeroAt(object, "status", "updatedNumberScheduled"),
  Available: (object) => numberOrZeroAt(object, "status", "numberAvailable"),
  "Node Selector": (object) => formatLabels(valueAt(object, "spec", "template", "spec", "nodeSelector")),
  Age: age,
  ...template,
  Selector: (object) => formatSelector(valueAt(object, "spec", "selector")),
};

export const jobCells: Cells = {
  Status: jobStatus,
  Completions: (job) => {
    const succeeded = numberOrZeroAt(job, "status", "succeeded");
    const completions = valueAt(job, "spec", "completions");
    if (typeof completions === "number") return `${succeeded}/${completions}`;
    const parallelism = numberOrZeroAt(job, "spec", "parallelism");
    return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
  },
  Duration: (job, now) => {
    const started = textAt(job, "status", "startTime");
    if (started === "") return "";
    const completed = textAt(job, "status", "completionTime");
    return formatDuration((completed === "" ? now : Date.parse(completed)) - Date.parse(started));
  },
  Age: age,
  ...template,
  Selector: (job) => formatSelector(valueAt(job, "spec", "selector")),
};

function jobStatus(job: KubeObject): string {
  const has = (type: string) =>
    recordsAt(job, "status", "conditions").some((condition) => condition.type === type && condition.status === "True");
  if (has("Complete")) return "Complete";
  if (has("Failed")) return "Failed";
  if (job.metadata.deletionTimestamp !== undefined) return "Terminating";
  return ["Suspended", "FailureTarget", "SuccessCriteriaMet"].find(has) ?? "Running";
}

export const cronJobCells: Cells = {
  Schedule: (object) => textAt(object, "spec", "schedule"),
  Timezone: (object) => orNone(textAt(object, "spec", "timeZone")),
  Suspend: (object) => {
    const suspend = valueAt(object, "spec", "suspend");
    if (typeof suspend !== "boolean") return "<unset>";
    return suspend ? "True" : "False";
  },
  Active: (object) => recordsAt(object, "status", "active").length,
  "Last Schedule": (object, now) => {
    const last = textAt(object, "status", "lastScheduleTime");
    return last === "" ? none : formatTimestampAge(last, now);
  },
  Age: age,
  ...containerCells(["spec", "jobTemplate", "spec", "template", "spec"]),
  Selector: (object) => formatSelector(valueAt(object, "spec", "jobTemplate", "spec", "selector")),
};

export const podTemplateCells: Cells = {
  ...containerCells(["template", "spec"]),
  "Pod Labels": (object) => formatLabels(valueAt(object, "template", "metadata", "labels")),
};

export const controllerRevisionCells: Cells = {
  Controller: (object) => {
    const owner = object.metadata.ownerReferences?.find(({ controller }) => controller === true);
    if (owner === undefined) return none;
    const group = owner.apiVersion.includes("/") ? `.${owner.apiVersion.split("/")[0]}` : "";
    return `${owner.kind.toLowerCase()}${group}/${owner.name}`;
  },
  Revision: (object) => numberOrZeroAt(object, "revision"),
  Age: age,
};

export const disruptionBudgetCells: Cells = {
  "Min Available": (object) => intOrString(valueAt(object, "spec", "minAvailable")),
  "Max Unavailable": (object) => intOrString(valueAt(object, "spec", "maxUnavailable")),
  "Allowed Disruptions": (object) => numberOrZeroAt(object, "status", "disruptionsAllowed"),
  Age: age,
};

function intOrString(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "N/A";
}

export const autoscalerCells: Cells = {
  Reference: (object) =>
    `${textAt(object, "spec", "scaleTargetRef", "kind")}/${textAt(object, "spec", "scaleTargetRef", "name")}`,
  Targets: formatTargets,
  MinPods: (object) => {
    const minimum = valueAt(object, "spec", "minReplicas");
    return typeof minimum === "number" ? String(minimum) : "<unset>";
  },
  MaxPods: (object) => numberOrZeroAt(object, "spec", "maxReplicas"),
  Replicas: (object) => numberOrZeroAt(object, "status", "currentReplicas"),
  Age: age,
};

/** autoscaling/v1 has other field names for its single metric. */
export const oldAutoscalerCells: Cells = {
  ...autoscalerCells,
  Targets: (object) => formatTargets(autoscalerConversion.toStored(object)),
};

/** Shows at most two metrics, each as current/target. */
function formatTargets(autoscaler: KubeObject): string {
  const metrics = recordsAt(autoscaler, "spec", "metrics");
  if (metrics.length === 0) return none;
  const current = recordsAt(autoscaler, "status", "currentMetrics");
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
  const type = textAt(metric, "type");
  const source = sourceOfMetric[type];
  if (source === undefined) return "<unknown type>";
  const target = valueAt(metric, source, "target");
  const now = valueAt(current, source, "current");
  const isAverage = type !== "Object" || isRecord(valueAt(target, "averageValue"));
  const prefix = type === "Resource" || type === "ContainerResource" ? `${textAt(metric, source, "name")}: ` : "";
  const utilization = valueAt(target, "averageUtilization");
  if (typeof utilization === "number") {
    const seen = valueAt(now, "averageUtilization");
    return `${prefix}${typeof seen === "number" ? `${seen}%` : "<unknown>"}/${utilization}%`;
  }
  const average = textAt(target, "averageValue");
  if (average !== "" && isAverage) {
    const suffix = prefix === "" ? " (avg)" : "";
    return `${prefix}${textAt(now, "averageValue") || "<unknown>"}/${average}${suffix}`;
  }
  return `${prefix}${textAt(now, "value") || "<unknown>"}/${textAt(target, "value") || "<auto>"}`;
}
