import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, it } from "vitest";
import { factsFingerprint } from "../../../lib/placement/observed.ts";
import { asCluster } from "../../../lib/sources/cluster.ts";
import { parseSecretTemplate } from "../../../lib/sources/secret-template.ts";
import { readSyncTarget } from "../../../lib/sources/sync-target.ts";
import { aSyncTarget, ready } from "./objects.ts";

const nowMs = Date.parse("2026-01-01T12:00:00Z");
const read = (object: KubeObject, template?: string) =>
  readSyncTarget(object, {
    cluster: "abc",
    template: template === undefined ? undefined : parseSecretTemplate(template),
    nowMs,
  });
const factsOf = (object: KubeObject) => asCluster(read(object)).facts;
const ago = (seconds: number): string => new Date(nowMs - seconds * 1000).toISOString();

describe("the way into a sync target", () => {
  const secretRef = { name: "east", namespace: "kcp-system" };
  const cases: Record<string, { spec: object; template?: string; expected: object }> = {
    "is its endpoint and its secret": {
      spec: { workloadCluster: { name: "e", endpoint: "https://east.example/", credentials: { secretRef } } },
      expected: {
        endpoint: { server: "https://east.example" },
        credentials: { secretRef: { ...secretRef, key: "kubeconfig" } },
      },
    },
    "may name the secret's key": {
      spec: { workloadCluster: { credentials: { secretRef: { ...secretRef, key: "admin" } } } },
      expected: { credentials: { secretRef: { ...secretRef, key: "admin" } } },
    },
    "is an apiServerURL in another form of the kind": {
      spec: { apiServerURL: "https://east.example" },
      expected: { endpoint: { server: "https://east.example" } },
    },
    "is left to the operator where it says nothing": { spec: {}, expected: {} },
    "follows the operator's template where it says nothing": {
      spec: {},
      template: "clusters/{name}",
      expected: { credentials: { secretRef: { namespace: "clusters", name: "east", key: "kubeconfig" } } },
    },
    "is its own secret before the template's": {
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
    "an address that can be used": {
      spec: { workloadCluster: { endpoint: "east.example" } },
      expected: "EndpointInvalid: the endpoint cannot be used: server: is not a URL",
    },
    "an address without credentials in it": {
      spec: { workloadCluster: { endpoint: "https://me:hidden@east.example" } },
      expected: "EndpointInvalid: the endpoint cannot be used: server east.example: carries credentials in its URL",
    },
    "the secret's namespace": {
      spec: { workloadCluster: { credentials: { secretRef: { name: "east" } } } },
      expected: 'KubeconfigPending: secret "east": its namespace is missing',
    },
    "a secret that can be one": {
      spec: { workloadCluster: { credentials: { secretRef: { name: "../east", namespace: "x" } } } },
      expected: 'KubeconfigPending: its secret would be "../east", which is no name',
    },
    "a secret in place of a service account": {
      spec: { workloadCluster: { credentials: { serviceAccountRef: { name: "robot" } } } },
      expected: "KubeconfigPending: serviceAccountRef leads into no cluster: name a secret",
    },
  };
  it.each(Object.entries(pendingCases))("waits for %s", (_, { spec, expected }) => {
    const { pending } = read(aSyncTarget("east", { spec }));
    expect(`${pending?.reason}: ${pending?.message}`).toBe(expected);
  });
});

describe("the facts of a sync target", () => {
  it("are where its labels say it is", () => {
    const labels = { "topology.kubernetes.io/region": "us-west-2", env: "production" };
    const facts = factsOf(aSyncTarget("east", { metadata: { labels } }));
    expect(Object.fromEntries(facts.labels)).toMatchObject({
      location: "us-west-2",
      region: "us-west-2",
      environment: "production",
    });
  });

  it("have no location where nobody says one", () => {
    expect([...factsOf(aSyncTarget("east")).labels]).toEqual([]);
  });

  const capabilities: Record<string, { given: unknown; expected: object }> = {
    "of the form with a resource": {
      given: [
        { type: "compute", resource: "cpu", capacity: "100" },
        { type: "compute", resource: "memory", capacity: "1Ti" },
      ],
      expected: { compute: true },
    },
    "of the form that says whether they are there": {
      given: [
        { type: "storage", available: false },
        { type: "compute", available: true, metadata: { arch: "arm64" } },
      ],
      expected: { storage: false, compute: true },
    },
    "of a type that is there in part": {
      given: [
        { type: "gpu", available: true },
        { type: "gpu", available: false },
      ],
      expected: { gpu: false },
    },
    "that are none": { given: [{}, "compute", null, { type: 5 }], expected: {} },
  };
  it.each(Object.entries(capabilities))("have capabilities %s", (_, { given, expected }) => {
    const facts = factsOf(aSyncTarget("east", { spec: { capabilities: given } }));
    const found = [...facts.capabilities].map(([type, { available }]) => [type, available]);
    expect(Object.fromEntries(found)).toEqual(expected);
  });

  it("say whether it takes work", () => {
    expect(factsOf(aSyncTarget("east", { spec: { unschedulable: true } })).unschedulable).toBe(true);
    expect(factsOf(aSyncTarget("east")).unschedulable).toBe(false);
  });

  it.each([
    { status: { allocatable: { cpu: "4", memory: "8Gi" } }, cpu: 4, memory: 8 * 2 ** 30 },
    { status: { allocatable: { cpu: 4 } }, cpu: 4, memory: undefined },
    { status: { allocatableCapacity: { cpu: 4000, memory: 1024 } }, cpu: 4, memory: 1024 },
    { status: { allocatable: { cpu: "many" } }, cpu: undefined, memory: undefined },
  ])("have room as any form of the kind counts it: $status", ({ status, cpu, memory }) => {
    const { allocatable } = factsOf(aSyncTarget("east", { status }));
    expect([allocatable.cpu?.units, allocatable.memory?.units]).toEqual([cpu, memory]);
  });
});

describe("a sync target that is to be left", () => {
  it("sends its work away from that moment on", () => {
    const facts = factsOf(aSyncTarget("east", { spec: { evictAfter: ago(1) } }));
    expect(facts.taints).toEqual([
      { key: "workload.kcp.io/evict", value: "", effect: "NoExecute", addedMs: nowMs - 1000 },
    ]);
  });

  it("keeps it until then, and says when to look again", () => {
    const cluster = asCluster(read(aSyncTarget("east", { spec: { evictAfter: ago(-30) } })));
    expect(cluster.facts.taints).toEqual([]);
    expect(cluster.changesAtMs).toBe(nowMs + 30_000);
  });

  it("says by a length of time how long its work stays after it was lost", () => {
    const cluster = asCluster(read(aSyncTarget("east", { spec: { evictAfter: "1m30s" } })));
    expect(cluster).toMatchObject({ registration: { spec: { taints: [], evictAfterSeconds: 90 } } });
    expect(cluster.changesAtMs).toBeUndefined();
    expect(cluster.facts.evictAfterSeconds).toBe(90);
  });

  it.each(["", "soon", "5"])("says nothing by %j", (evictAfter) => {
    const { registration } = read(aSyncTarget("east", { spec: { evictAfter } }));
    expect(registration.spec).toMatchObject({ taints: [] });
    expect(registration.spec.evictAfterSeconds).toBeUndefined();
  });
});

describe("a syncer's word that the cluster is ready", () => {
  const fields = ["lastSyncerHeartbeatTime", "lastHeartbeatTime", "lastHeartbeat", "heartbeatTime"];
  const reported = (field: string, seconds: number): object => ({ conditions: [ready()], [field]: ago(seconds) });

  it.each(fields)("counts for a minute after %s", (field) => {
    const cluster = asCluster(read(aSyncTarget("east", { status: reported(field, 59) })));
    expect(cluster.facts.ready).toBe("True");
    expect(cluster.changesAtMs).toBe(nowMs + 1000);
  });

  it.each(fields)("is worth nothing a minute after %s", (field) => {
    const cluster = asCluster(read(aSyncTarget("east", { status: reported(field, 60) })));
    expect(cluster.facts).toMatchObject({ ready: "Unknown", readyReason: "HeartbeatStale", notReadySinceMs: nowMs });
    expect(cluster.changesAtMs).toBeUndefined();
  });

  it("counts by the last of several heartbeats", () => {
    const status = { ...reported("lastHeartbeat", 600), heartbeat: { lastHeartbeat: ago(5), count: 7 } };
    expect(factsOf(aSyncTarget("east", { status })).ready).toBe("True");
  });

  it("counts where nobody sends heartbeats", () => {
    expect(factsOf(aSyncTarget("east", { status: { conditions: [ready()] } })).ready).toBe("True");
  });

  it("is not made up where there is none", () => {
    const facts = factsOf(aSyncTarget("east", { status: { lastSyncerHeartbeatTime: ago(1) } }));
    expect(facts).toMatchObject({ ready: "Unknown", readyReason: "NeverSeen" });
  });

  it("leaves the facts as they are from one heartbeat to the next", () => {
    const [one, other] = [30, 10].map((seconds) =>
      factsFingerprint(factsOf(aSyncTarget("east", { status: reported("lastSyncerHeartbeatTime", seconds) }))),
    );
    expect(one).toBe(other);
  });
});

it.each([null, [], "text", 7, { spec: null, status: [] }, { spec: { workloadCluster: [] } }])(
  "an object of no known form is a cluster of which nothing is known: %j",
  (strange) => {
    const object = { ...aSyncTarget("east"), ...(typeof strange === "object" && strange) };
    expect(factsOf(object)).toMatchObject({ name: "east", ready: "Unknown" });
  },
);
