import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, it } from "vitest";
import { clusterFactsHash } from "../../../lib/placement/observed.ts";
import { toSourceCluster } from "../../../lib/sources/cluster.ts";
import { parseSecretTemplate } from "../../../lib/sources/secret-template.ts";
import { readSyncTarget } from "../../../lib/sources/sync-target.ts";
import { aSyncTarget, ready } from "./objects.ts";

const nowMs = Date.parse("2026-01-01T12:00:00Z");
const read = (object: KubeObject, template?: string) =>
  readSyncTarget(object, {
    logicalCluster: "abc",
    template: template === undefined ? undefined : parseSecretTemplate(template),
    nowMs,
  });
const factsOf = (object: KubeObject) => toSourceCluster(read(object)).facts;
const ago = (seconds: number): string => new Date(nowMs - seconds * 1000).toISOString();

describe("access to a SyncTarget", () => {
  const secretRef = { name: "east", namespace: "kcp-system" };
  const cases: Record<string, { spec: object; template?: string; expected: object }> = {
    "a SyncTarget provides endpoint and Secret": {
      spec: { workloadCluster: { name: "e", endpoint: "https://east.example/", credentials: { secretRef } } },
      expected: {
        endpoint: { server: "https://east.example" },
        credentials: { secretRef: { ...secretRef, key: "kubeconfig" } },
      },
    },
    "a SyncTarget can name the key of the Secret": {
      spec: { workloadCluster: { credentials: { secretRef: { ...secretRef, key: "admin" } } } },
      expected: { credentials: { secretRef: { ...secretRef, key: "admin" } } },
    },
    "apiServerURL is used as endpoint": {
      spec: { apiServerURL: "https://east.example" },
      expected: { endpoint: { server: "https://east.example" } },
    },
    "a SyncTarget without credentials uses the default source": { spec: {}, expected: {} },
    "a SyncTarget without credentials uses the secret template": {
      spec: {},
      template: "clusters/{name}",
      expected: { credentials: { secretRef: { namespace: "clusters", name: "east", key: "kubeconfig" } } },
    },
    "the Secret of a SyncTarget takes precedence over the template": {
      spec: { workloadCluster: { credentials: { secretRef } } },
      template: "clusters/{name}",
      expected: { credentials: { secretRef: { ...secretRef, key: "kubeconfig" } } },
    },
  };
  it.each(Object.entries(cases))("%s", (_, { spec, template, expected }) => {
    const { registration, pending } = read(aSyncTarget("east", { spec }), template);
    expect(pending).toBeUndefined();
    const { endpoint, credentials } = registration.spec;
    expect({ ...(endpoint && { endpoint }), ...(credentials && { credentials }) }).toEqual(expected);
  });

  const pendingCases: Record<string, { spec: object; expected: string }> = {
    "its endpoint is not a URL": {
      spec: { workloadCluster: { endpoint: "east.example" } },
      expected: "EndpointInvalid: the endpoint is invalid: server: is not a URL",
    },
    "its endpoint contains credentials": {
      spec: { workloadCluster: { endpoint: "https://me:hidden@east.example" } },
      expected: "EndpointInvalid: the endpoint is invalid: server east.example: has credentials in its URL",
    },
    "its Secret has no namespace": {
      spec: { workloadCluster: { credentials: { secretRef: { name: "east" } } } },
      expected: 'KubeconfigPending: secret "east": the namespace is missing',
    },
    "the name of its Secret is invalid": {
      spec: { workloadCluster: { credentials: { secretRef: { name: "../east", namespace: "x" } } } },
      expected: 'KubeconfigPending: secret name "../east" is not a valid name',
    },
    "it names a service account": {
      spec: { workloadCluster: { credentials: { serviceAccountRef: { name: "robot" } } } },
      expected: "KubeconfigPending: serviceAccountRef is not supported: use secretRef",
    },
  };
  it.each(Object.entries(pendingCases))("a SyncTarget is pending: %s", (_, { spec, expected }) => {
    const { pending } = read(aSyncTarget("east", { spec }));
    expect(`${pending?.reason}: ${pending?.message}`).toBe(expected);
  });
});

describe("facts of a SyncTarget", () => {
  it("labels of a SyncTarget provide its location", () => {
    const labels = { "topology.kubernetes.io/region": "us-west-2", env: "production" };
    const facts = factsOf(aSyncTarget("east", { metadata: { labels } }));
    expect(Object.fromEntries(facts.labels)).toMatchObject({
      location: "us-west-2",
      region: "us-west-2",
      environment: "production",
    });
  });

  it("a SyncTarget without labels has no location", () => {
    expect([...factsOf(aSyncTarget("east")).labels]).toEqual([]);
  });

  const capabilities: Record<string, { given: unknown; expected: object }> = {
    "with one entry per resource": {
      given: [
        { type: "compute", resource: "cpu", capacity: "100" },
        { type: "compute", resource: "memory", capacity: "1Ti" },
      ],
      expected: { compute: true },
    },
    "with the field available": {
      given: [
        { type: "storage", available: false },
        { type: "compute", available: true, metadata: { arch: "arm64" } },
      ],
      expected: { storage: false, compute: true },
    },
    "merged by type": {
      given: [
        { type: "gpu", available: true },
        { type: "gpu", available: false },
      ],
      expected: { gpu: false },
    },
    "without invalid entries": { given: [{}, "compute", null, { type: 5 }], expected: {} },
  };
  it.each(Object.entries(capabilities))("a SyncTarget has capabilities %s", (_, { given, expected }) => {
    const facts = factsOf(aSyncTarget("east", { spec: { capabilities: given } }));
    const found = [...facts.capabilities].map(([type, { available }]) => [type, available]);
    expect(Object.fromEntries(found)).toEqual(expected);
  });

  it("unschedulable of a SyncTarget is a fact", () => {
    expect(factsOf(aSyncTarget("east", { spec: { unschedulable: true } })).unschedulable).toBe(true);
    expect(factsOf(aSyncTarget("east")).unschedulable).toBe(false);
  });

  it.each([
    { status: { allocatable: { cpu: "4", memory: "8Gi" } }, cpu: 4, memory: 8 * 2 ** 30 },
    { status: { allocatable: { cpu: 4 } }, cpu: 4, memory: undefined },
    { status: { allocatableCapacity: { cpu: 4000, memory: 1024 } }, cpu: 4, memory: 1024 },
    { status: { allocatable: { cpu: "many" } }, cpu: undefined, memory: undefined },
  ])("allocatable resources are parsed from every schema: $status", ({ status, cpu, memory }) => {
    const { allocatable } = factsOf(aSyncTarget("east", { status }));
    expect([allocatable.cpu?.units, allocatable.memory?.units]).toEqual([cpu, memory]);
  });
});

describe("evictAfter of a SyncTarget", () => {
  it("a SyncTarget has an eviction taint after the time in evictAfter", () => {
    const facts = factsOf(aSyncTarget("east", { spec: { evictAfter: ago(1) } }));
    expect(facts.taints).toEqual([
      { key: "workload.kcp.io/evict", value: "", effect: "NoExecute", addedMs: nowMs - 1000 },
    ]);
  });

  it("a SyncTarget has no eviction taint before the time in evictAfter", () => {
    const cluster = toSourceCluster(read(aSyncTarget("east", { spec: { evictAfter: ago(-30) } })));
    expect(cluster.facts.taints).toEqual([]);
    expect(cluster.changesAtMs).toBe(nowMs + 30_000);
  });

  it("a duration in evictAfter is the eviction delay", () => {
    const cluster = toSourceCluster(read(aSyncTarget("east", { spec: { evictAfter: "1m30s" } })));
    expect(cluster).toMatchObject({ registration: { spec: { taints: [], evictAfterSeconds: 90 } } });
    expect(cluster.changesAtMs).toBeUndefined();
    expect(cluster.facts.evictAfterSeconds).toBe(90);
  });

  it.each(["", "soon", "5"])("evictAfter %j is ignored", (evictAfter) => {
    const { registration } = read(aSyncTarget("east", { spec: { evictAfter } }));
    expect(registration.spec).toMatchObject({ taints: [] });
    expect(registration.spec.evictAfterSeconds).toBeUndefined();
  });
});

describe("Ready condition of a SyncTarget", () => {
  const fields = ["lastSyncerHeartbeatTime", "lastHeartbeatTime", "lastHeartbeat", "heartbeatTime"];
  const reported = (field: string, seconds: number): object => ({ conditions: [ready()], [field]: ago(seconds) });

  it.each(fields)("Ready is trusted for a minute after %s", (field) => {
    const cluster = toSourceCluster(read(aSyncTarget("east", { status: reported(field, 59) })));
    expect(cluster.facts.ready).toBe("True");
    expect(cluster.changesAtMs).toBe(nowMs + 1000);
  });

  it.each(fields)("Ready is Unknown a minute after %s", (field) => {
    const cluster = toSourceCluster(read(aSyncTarget("east", { status: reported(field, 60) })));
    expect(cluster.facts).toMatchObject({ ready: "Unknown", readyReason: "HeartbeatStale", notReadySinceMs: nowMs });
    expect(cluster.changesAtMs).toBeUndefined();
  });

  it("the latest of several heartbeats counts", () => {
    const status = { ...reported("lastHeartbeat", 600), heartbeat: { lastHeartbeat: ago(5), count: 7 } };
    expect(factsOf(aSyncTarget("east", { status })).ready).toBe("True");
  });

  it("Ready is trusted without heartbeats", () => {
    expect(factsOf(aSyncTarget("east", { status: { conditions: [ready()] } })).ready).toBe("True");
  });

  it("a heartbeat without a Ready condition does not make a cluster Ready", () => {
    const facts = factsOf(aSyncTarget("east", { status: { lastSyncerHeartbeatTime: ago(1) } }));
    expect(facts).toMatchObject({ ready: "Unknown", readyReason: "NeverSeen" });
  });

  it("a new heartbeat does not change the facts", () => {
    const [one, other] = [30, 10].map((seconds) =>
      clusterFactsHash(factsOf(aSyncTarget("east", { status: reported("lastSyncerHeartbeatTime", seconds) }))),
    );
    expect(one).toBe(other);
  });
});

it.each([null, [], "text", 7, { spec: null, status: [] }, { spec: { workloadCluster: [] } }])(
  "a SyncTarget of an unknown schema has unknown facts: %j",
  (fields) => {
    const object = { ...aSyncTarget("east"), ...(typeof fields === "object" && fields) };
    expect(factsOf(object)).toMatchObject({ name: "east", ready: "Unknown" });
  },
);
