import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, it } from "vitest";
import { fingerprintOf } from "../../../../lib/relay/event-to-key/fingerprint.ts";
import { projectObject } from "../../../../lib/relay/watch/projection.ts";

const object = (name: string, ready?: "True" | "False" | "Unknown"): KubeObject => ({
  apiVersion: "tmc.kcp.io/v1alpha1",
  kind: "ClusterRegistration",
  metadata: {
    name,
    uid: "u",
    resourceVersion: "7",
    generation: 2,
    labels: { a: "b" },
    finalizers: ["f"],
    annotations: { "tmc.kcp.io/reconcile-requested": "1", "kcp.io/cluster": "abc" },
    managedFields: [{ manager: "m" }],
  } as KubeObject["metadata"],
  spec: { location: "x", credentials: { secretRef: { namespace: "n", name: "s" } } },
  status: { lastHeartbeat: "now", ...(ready && { conditions: [{ type: "Ready", status: ready }] }) },
});

describe("projectObject", () => {
  it("does not change the fingerprint of an object", () => {
    for (const whole of [object("a"), { ...object("a"), metadata: { name: "a" } }]) {
      expect(fingerprintOf(projectObject(whole))).toBe(fingerprintOf(whole));
    }
  });
  it("keeps only the fields that the relay reads", () => {
    expect(projectObject(object("a", "True"))).toEqual({
      apiVersion: "tmc.kcp.io/v1alpha1",
      kind: "ClusterRegistration",
      metadata: {
        name: "a",
        uid: "u",
        resourceVersion: "7",
        generation: 2,
        labels: { a: "b" },
        finalizers: ["f"],
        annotations: { "tmc.kcp.io/reconcile-requested": "1" },
      },
      spec: { credentials: { secretRef: { namespace: "n", name: "s" } } },
      status: { conditions: [{ type: "Ready", status: "True" }] },
    });
  });
  it("keeps the served APIs only for a registration that opts in to upsync", () => {
    const status = { apis: [{ groupVersion: "apps/v1", kinds: ["Deployment"] }] };
    const upsync = [{ apiVersion: "apps/v1", kind: "Deployment" }];
    const { spec, status: kept } = projectObject({ ...object("a"), spec: { location: "x", upsync }, status });
    expect([spec, kept]).toEqual([{ upsync }, status]);
    expect(projectObject({ ...object("a"), status })).not.toHaveProperty("status");
  });
});
