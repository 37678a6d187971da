import { isRecord, valueAt } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ResourceDefinition } from "../definitions/definition.ts";
import { recordAt, recordsAt } from "../machinery/fields.ts";

type Conversion = NonNullable<ResourceDefinition["conversion"]>;

/** Field names of core events (the stored form) and of events.k8s.io. */
const namesOfEvents: readonly (readonly [stored: string, served: string])[] = [
  ["involvedObject", "regarding"],
  ["message", "note"],
  ["source", "deprecatedSource"],
  ["firstTimestamp", "deprecatedFirstTimestamp"],
  ["lastTimestamp", "deprecatedLastTimestamp"],
  ["count", "deprecatedCount"],
  ["reportingComponent", "reportingController"],
];

/** events.k8s.io/v1 serves core events with other field names. */
export const eventConversion: Conversion = {
  toStored: (event) =>
    withRenamedFields(event, "v1", new Map(namesOfEvents.map(([stored, served]) => [served, stored]))),
  fromStored: (event) => withRenamedFields(event, "events.k8s.io/v1", new Map(namesOfEvents)),
};

function withRenamedFields(object: KubeObject, apiVersion: string, names: ReadonlyMap<string, string>): KubeObject {
  const { kind, metadata, ...fields } = object;
  const others = Object.entries(fields).map(([name, value]) => [names.get(name) ?? name, value]);
  return { ...Object.fromEntries(others), apiVersion, kind, metadata };
}

const metricsAnnotation = "autoscaling.alpha.kubernetes.io/metrics";
const behaviorAnnotation = "autoscaling.alpha.kubernetes.io/behavior";

/** autoscaling/v1 has one metric, CPU utilization; all other metrics are kept in annotations. */
export const autoscalerConversion: Conversion = {
  toStored: (object) => {
    const { targetCPUUtilizationPercentage: percentage, ...spec } = recordAt(object, "spec");
    const { currentCPUUtilizationPercentage: current, ...status } = recordAt(object, "status");
    const {
      [metricsAnnotation]: metrics,
      [behaviorAnnotation]: behavior,
      ...annotations
    } = object.metadata.annotations ?? {};
    const cpu = (used: unknown, at: string, type?: string) =>
      typeof used === "number"
        ? [
            {
              type: "Resource",
              resource: { name: "cpu", [at]: { ...(type === undefined ? {} : { type }), averageUtilization: used } },
            },
          ]
        : [];
    return {
      ...object,
      apiVersion: "autoscaling/v2",
      metadata: withAnnotations(object, annotations),
      spec: {
        ...spec,
        metrics: [...cpu(percentage, "target", "Utilization"), ...parseList(metrics)],
        ...(behavior === undefined ? {} : { behavior: parse(behavior) }),
      },
      status: { ...status, ...(typeof current === "number" ? { currentMetrics: cpu(current, "current") } : {}) },
    };
  },
  fromStored: (object) => {
    const { metrics: _metrics, behavior, ...spec } = recordAt(object, "spec");
    const { currentMetrics: _current, conditions: _conditions, ...status } = recordAt(object, "status");
    const isCpu = (metric: unknown) => valueAt(metric, "resource", "name") === "cpu";
    const metrics = recordsAt(object, "spec", "metrics");
    const target = metrics.find(
      (metric) => isCpu(metric) && typeof valueAt(metric, "resource", "target", "averageUtilization") === "number",
    );
    const others = metrics.filter((metric) => metric !== target);
    const current = recordsAt(object, "status", "currentMetrics").find(isCpu);
    const used = valueAt(current, "resource", "current", "averageUtilization");
    return {
      ...object,
      apiVersion: "autoscaling/v1",
      metadata: withAnnotations(object, {
        ...object.metadata.annotations,
        ...(others.length === 0 ? {} : { [metricsAnnotation]: JSON.stringify(others) }),
        ...(isRecord(behavior) ? { [behaviorAnnotation]: JSON.stringify(behavior) } : {}),
      }),
      spec: {
        ...spec,
        ...(target === undefined
          ? {}
          : { targetCPUUtilizationPercentage: valueAt(target, "resource", "target", "averageUtilization") }),
      },
      status: {
        currentReplicas: 0,
        ...status,
        ...(typeof used === "number" ? { currentCPUUtilizationPercentage: used } : {}),
      },
    };
  },
};

function withAnnotations({ metadata }: KubeObject, annotations: Record<string, string>): KubeObject["metadata"] {
  const { annotations: _annotations, ...rest } = metadata;
  return Object.keys(annotations).length === 0 ? rest : { ...rest, annotations };
}

function parse(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}

function parseList(text: string | undefined): unknown[] {
  const value = text === undefined ? undefined : parse(text);
  return Array.isArray(value) ? value : [];
}
