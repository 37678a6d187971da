import { describe, expect, it } from "vitest";
import { upsyncOriginOf } from "../../../lib/sync/ownership/upsync-origin.ts";
import {
  hashOfNormalized,
  normalizeDownstream,
  normalizeUpstream,
  upstreamObject,
} from "../../../lib/upsync/normalize.ts";
import { aBirthplace, aDeployment } from "./builders.ts";

const born = aDeployment(
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

describe("what a workspace is told of an object that was born on a cluster", () => {
  it("is what people said, and its birthplace", () => {
    const made = upstreamObject(normalizeDownstream(born), aBirthplace());
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
    expect(upsyncOriginOf(made, "2xk3tenant")).toEqual(aBirthplace());
  });

  it("has the same print as what the workspace then has, in whatever order", () => {
    const stored = upstreamObject(normalizeDownstream({ ...born, spec: { a: 1, b: 2 } }), aBirthplace());
    const upstream = { ...stored, spec: { b: 2, a: 1 }, status: { replicas: 9 } };
    expect(hashOfNormalized(normalizeUpstream(upstream))).toBe(
      hashOfNormalized(normalizeDownstream({ ...born, spec: { a: 1, b: 2 } })),
    );
  });

  it.each([
    ["spec", { spec: { replicas: 3 } }],
    ["labels", { metadata: { ...born.metadata, labels: { app: "api" } } }],
    ["annotations", { metadata: { ...born.metadata, annotations: { team: "bank" } } }],
  ])("has another print with other %s", (_, change) => {
    expect(hashOfNormalized(normalizeDownstream({ ...born, ...change }))).not.toBe(
      hashOfNormalized(normalizeDownstream(born)),
    );
  });

  it("leaves what is for kcp and TMC in the workspace as it is there, and nothing else", () => {
    const seen = aDeployment({
      labels: { extra: "1", "kcp.io/y": "2" },
      annotations: { extra: "1", "tmc.kcp.io/sync": "paused" },
    });
    const { metadata } = upstreamObject(normalizeDownstream(born), aBirthplace(), seen);
    expect(metadata.labels).toEqual({ app: "web", "kcp.io/y": "2" });
    expect(metadata.annotations).toMatchObject({ team: "shop", "tmc.kcp.io/sync": "paused" });
    expect(metadata.annotations).not.toHaveProperty("extra");
  });

  it("says nothing that holds on that cluster alone", () => {
    const service = {
      ...aDeployment(),
      apiVersion: "v1",
      kind: "Service",
      spec: { clusterIP: "10.0.0.7", clusterIPs: ["10.0.0.7"], ports: [{ port: 80, nodePort: 30001 }] },
    };
    expect(normalizeDownstream(service).body).toEqual({ spec: { ports: [{ port: 80 }] } });
  });
});

describe("the mark of a birthplace", () => {
  const marked = upstreamObject(normalizeDownstream(born), aBirthplace());
  it.each([
    ["another name", { metadata: { ...marked.metadata, name: "web2" } }, "2xk3tenant"],
    ["another namespace", { metadata: { ...marked.metadata, namespace: "bank" } }, "2xk3tenant"],
    ["another kind", { kind: "StatefulSet" }, "2xk3tenant"],
    ["another workspace", {}, "3abcother"],
  ])("does not count on a copy under %s", (_, change, cluster) => {
    expect(upsyncOriginOf({ ...marked, ...change }, cluster)).toBeUndefined();
  });
  it("does not count when it cannot be read", () => {
    expect(upsyncOriginOf(aDeployment({ annotations: { "tmc.kcp.io/upsync-origin": "east" } }), "x")).toBeUndefined();
  });
});
