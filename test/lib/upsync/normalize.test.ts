import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, it } from "vitest";
import { upsyncOriginOf } from "../../../lib/sync/ownership/upsync-origin.ts";
import {
  hashOfNormalized,
  isUpsyncCandidate,
  normalizeDownstream,
  normalizeUpstream,
  upstreamObject,
} from "../../../lib/upsync/normalize.ts";
import { aDeployment, anOrigin } from "../../support/upsync-builders.ts";

const original = aDeployment(
  {
    resourceVersion: "17",
    labels: { app: "web", "kcp.io/x": "1" },
    annotations: {
      team: "shop",
      "deployment.kubernetes.io/revision": "3",
      "tmc.kcp.io/exclude-clusters": "west",
      "kubectl.kubernetes.io/last-applied-configuration": "{}",
    },
  },
  { status: { readyReplicas: 2 } },
);

describe("the upstream content of an upsynced object", () => {
  it("upstreamObject has the content that users set, and the origin annotation", () => {
    const made = upstreamObject(normalizeDownstream(original), anOrigin());
    expect(made).toEqual({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: {
        namespace: "shop",
        name: "web",
        labels: { app: "web" },
        annotations: { team: "shop", "tmc.kcp.io/upsync-origin": expect.any(String) },
      },
      spec: { replicas: 2 },
    });
    expect(upsyncOriginOf(made, "2xk3tenant")).toEqual(anOrigin());
  });

  it("the hashes of an original and of the stored upstream object are equal, whatever the order of fields", () => {
    const stored = upstreamObject(normalizeDownstream({ ...original, spec: { a: 1, b: 2 } }), anOrigin());
    const upstream = { ...stored, spec: { b: 2, a: 1 }, status: { replicas: 9 } };
    expect(hashOfNormalized(normalizeUpstream(upstream))).toBe(
      hashOfNormalized(normalizeDownstream({ ...original, spec: { a: 1, b: 2 } })),
    );
  });

  it.each([
    ["spec", { spec: { replicas: 3 } }],
    ["labels", { metadata: { ...original.metadata, labels: { app: "api" } } }],
    ["annotations", { metadata: { ...original.metadata, annotations: { team: "bank" } } }],
  ])("the hash changes with the %s", (_, change) => {
    expect(hashOfNormalized(normalizeDownstream({ ...original, ...change }))).not.toBe(
      hashOfNormalized(normalizeDownstream(original)),
    );
  });

  it("upstreamObject keeps the labels and annotations of kcp and TMC that the upstream object has, and no others", () => {
    const existing = aDeployment({
      labels: { extra: "1", "kcp.io/y": "2" },
      annotations: { extra: "1", "tmc.kcp.io/sync": "paused" },
    });
    const { metadata } = upstreamObject(normalizeDownstream(original), anOrigin(), existing);
    expect(metadata.labels).toEqual({ app: "web", "kcp.io/y": "2" });
    expect(metadata.annotations).toMatchObject({ team: "shop", "tmc.kcp.io/sync": "paused" });
    expect(metadata.annotations).not.toHaveProperty("extra");
  });

  it("normalizeDownstream removes addresses and ports that the cluster assigned", () => {
    const service = {
      ...aDeployment(),
      apiVersion: "v1",
      kind: "Service",
      spec: { clusterIP: "10.0.0.7", clusterIPs: ["10.0.0.7"], ports: [{ port: 80, nodePort: 30001 }] },
    };
    expect(normalizeDownstream(service).body).toEqual({ spec: { ports: [{ port: 80 }] } });
  });
});

describe("the origin annotation", () => {
  const annotated = upstreamObject(normalizeDownstream(original), anOrigin());
  it.each([
    ["another name", { metadata: { ...annotated.metadata, name: "web2" } }, "2xk3tenant"],
    ["another namespace", { metadata: { ...annotated.metadata, namespace: "bank" } }, "2xk3tenant"],
    ["another kind", { kind: "StatefulSet" }, "2xk3tenant"],
    ["another workspace", {}, "3abcother"],
  ])("upsyncOriginOf ignores the origin annotation on an object that was copied to %s", (_, change, cluster) => {
    expect(upsyncOriginOf({ ...annotated, ...change }, cluster)).toBeUndefined();
  });
  it("upsyncOriginOf ignores an origin annotation that cannot be parsed", () => {
    expect(upsyncOriginOf(aDeployment({ annotations: { "tmc.kcp.io/upsync-origin": "east" } }), "x")).toBeUndefined();
  });
});

const replicaSet = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: "1" };

const candidates: Readonly<Record<string, KubeObject>> = {
  "an object that a user applied": aDeployment(),
  "an object with an owner that is not its controller": aDeployment({ ownerReferences: [replicaSet] }),
  "a Service named kubernetes outside the default namespace": {
    ...aDeployment({ name: "kubernetes" }),
    kind: "Service",
  },
};
const others: Readonly<Record<string, KubeObject>> = {
  "a copy with the label of TMC": aDeployment({ labels: { "tmc.kcp.io/synced": "abc" } }),
  "a copy that has lost the label and has only the owner annotation": aDeployment({
    annotations: { "tmc.kcp.io/owner": "{}" },
  }),
  "an object with a controller": aDeployment({ ownerReferences: [{ ...replicaSet, controller: true }] }),
  "an object in a kube-* namespace": aDeployment({ namespace: "kube-system" }),
  "an object in a namespace that TMC manages": aDeployment({ namespace: `tmc-shop-${"0".repeat(25)}` }),
  "an object without a namespace": { ...aDeployment(), metadata: { name: "web" } },
  "the ConfigMap with the cluster's root certificate": {
    ...aDeployment({ name: "kube-root-ca.crt" }),
    kind: "ConfigMap",
  },
  "a service account token": { ...aDeployment(), kind: "Secret", type: "kubernetes.io/service-account-token" },
  "the default service account of a namespace": { ...aDeployment({ name: "default" }), kind: "ServiceAccount" },
  "the Service of the API server": { ...aDeployment({ namespace: "default", name: "kubernetes" }), kind: "Service" },
};

describe("isUpsyncCandidate", () => {
  it.each(Object.entries(candidates))("isUpsyncCandidate accepts %s", (_, object) =>
    expect(isUpsyncCandidate(object)).toBe(true),
  );
  it.each(Object.entries(others))("isUpsyncCandidate excludes %s", (_, object) =>
    expect(isUpsyncCandidate(object)).toBe(false),
  );
});
