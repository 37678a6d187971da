import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, it } from "vitest";
import { autoscalerConversion, eventConversion } from "../../src/builtin/conversions.ts";

const event: KubeObject = {
  apiVersion: "v1",
  kind: "Event",
  metadata: { name: "e" },
  involvedObject: { kind: "Pod", name: "a" },
  message: "hello",
  source: { component: "kubelet" },
  firstTimestamp: "2026-11-16T12:00:00Z",
  lastTimestamp: "2026-11-16T12:01:00Z",
  count: 2,
  reportingComponent: "kubelet",
  type: "Normal",
};

const autoscaler: KubeObject = {
  apiVersion: "autoscaling/v2",
  kind: "HorizontalPodAutoscaler",
  metadata: { name: "h", annotations: { a: "b" } },
  spec: {
    maxReplicas: 3,
    metrics: [
      { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 50 } } },
      { type: "Resource", resource: { name: "memory", target: { type: "AverageValue", averageValue: "1Gi" } } },
    ],
    behavior: { scaleDown: { selectPolicy: "Max" } },
  },
  status: {
    desiredReplicas: 1,
    currentReplicas: 1,
    currentMetrics: [{ type: "Resource", resource: { name: "cpu", current: { averageUtilization: 7 } } }],
  },
};

describe("conversions", () => {
  it("keep all fields of an event in both directions", () => {
    expect(eventConversion.toStored(eventConversion.fromStored(event))).toEqual(event);
  });

  it("keep all fields of an autoscaler in both directions", () => {
    expect(autoscalerConversion.toStored(autoscalerConversion.fromStored(autoscaler))).toEqual(autoscaler);
  });

  it("show the CPU utilization in the field of autoscaling/v1", () => {
    expect(autoscalerConversion.fromStored(autoscaler)).toMatchObject({
      apiVersion: "autoscaling/v1",
      spec: { maxReplicas: 3, targetCPUUtilizationPercentage: 50 },
      status: { currentReplicas: 1, currentCPUUtilizationPercentage: 7 },
    });
  });
});
