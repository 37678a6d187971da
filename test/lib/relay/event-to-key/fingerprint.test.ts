import type { KubeObject, ObjectMeta } from "@tmc/kube/kube-object.ts";
import { expect, test } from "vitest";
import { fingerprintOf } from "../../../../lib/relay/event-to-key/fingerprint.ts";

const anObject = (metadata: ObjectMeta = {}, rest: object = {}): KubeObject => ({
  apiVersion: "tmc.kcp.io/v1alpha1",
  kind: "ClusterRegistration",
  metadata: { name: "east", uid: "u1", generation: 3, resourceVersion: "7", labels: { a: "1", b: "2" }, ...metadata },
  ...rest,
});

const same: Record<string, KubeObject> = {
  "another resourceVersion": anObject({ resourceVersion: "8" }),
  "a status write": anObject({ resourceVersion: "8" }, { status: { lastHeartbeat: "2026-01-01T00:00:00Z" } }),
  "another order of labels": anObject({ labels: { b: "2", a: "1" } }),
  "an annotation of another project": anObject({ annotations: { "example.com/note": "x" } }),
  "managed fields": anObject({ managedFields: [{ manager: "kubectl" }] }),
};
test.each(Object.entries(same))("the fingerprint does not change with %s", (_name, object) => {
  expect(fingerprintOf(object)).toBe(fingerprintOf(anObject()));
});

const other: Record<string, KubeObject> = {
  "a new generation": anObject({ generation: 4 }),
  "a removed label": anObject({ labels: { a: "1" } }),
  "one of TMC's annotations": anObject({ annotations: { "tmc.kcp.io/preferred-cluster": "east" } }),
  "a deletion timestamp": anObject({ deletionTimestamp: "2026-01-01T00:00:00Z" }),
  "a finalizer": anObject({ finalizers: ["tmc.kcp.io/cluster"] }),
  "another object of the same name": anObject({ uid: "u2" }),
};
test.each(Object.entries(other))("the fingerprint changes with %s", (_name, object) => {
  expect(fingerprintOf(object)).not.toBe(fingerprintOf(anObject()));
});
