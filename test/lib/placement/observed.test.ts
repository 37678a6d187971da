import { describe, expect, it } from "vitest";
import { clusterFacts, factsFingerprint, type Registration } from "../../../lib/placement/observed.ts";
import { aCluster, ago, aRegistration } from "./builders.ts";

describe("derived keys", () => {
  const cases: Record<
    string,
    { location: string; labels?: Record<string, string>; has: Record<string, string | undefined> }
  > = {
    "a location is its own region": {
      location: "us-west-2",
      has: { location: "us-west-2", region: "us-west-2", zone: undefined },
    },
    "a zone of one cloud names its region": {
      location: "us-west-2a",
      has: { region: "us-west-2", zone: "us-west-2a" },
    },
    "a zone of another cloud names its region": {
      location: "us-central1-b",
      has: { region: "us-central1", zone: "us-central1-b" },
    },
    "a known provider stands before a colon": {
      location: "aws:eu-west-1b",
      has: { provider: "aws", region: "eu-west-1", location: "aws:eu-west-1b" },
    },
    "an unknown word before a colon is no provider": {
      location: "eu:berlin",
      has: { provider: undefined, region: "eu:berlin" },
    },
    "well-known labels count more than the location": {
      location: "us-west-2a",
      labels: { "topology.kubernetes.io/region": "r", "topology.kubernetes.io/zone": "z", "tmc.kcp.io/provider": "p" },
      has: { region: "r", zone: "z", provider: "p" },
    },
    "the beta names of labels count too": {
      location: "x",
      labels: { "failure-domain.beta.kubernetes.io/region": "r", "failure-domain.beta.kubernetes.io/zone": "z" },
      has: { region: "r", zone: "z" },
    },
    "the environment comes from a label": { location: "x", labels: { env: "prod" }, has: { environment: "prod" } },
    "a label of that very name wins": {
      location: "us-west-2",
      labels: { region: "mine", "topology.kubernetes.io/region": "other", environment: "e", env: "f" },
      has: { region: "mine", environment: "e" },
    },
  };
  it.each(Object.entries(cases))("%s", (_, { location, labels = {}, has }) => {
    const facts = aCluster("a", { labels, spec: { location } });
    expect(Object.fromEntries(Object.keys(has).map((key) => [key, facts.labels.get(key)]))).toEqual(has);
  });
});

describe("what is known of a cluster", () => {
  it("counts a declared capability more than a detected one, and takes the detected version where none is declared", () => {
    const { capabilities } = aCluster("a", {
      spec: { capabilities: [{ type: "gpu", available: false }, { type: "storage" }] },
      status: { capabilities: [{ type: "gpu", version: "1" }, { type: "storage", version: "2" }, { type: "mesh" }] },
    });
    expect(Object.fromEntries(capabilities)).toMatchObject({
      gpu: { available: false, declared: true, version: "1" },
      storage: { available: true, declared: true, version: "2" },
      mesh: { available: true, declared: false, version: undefined },
    });
  });

  it("calls a cluster degraded when more than a tenth of its nodes are not ready", () => {
    const degraded = (ready: number, total: number) => aCluster("a", { status: { nodes: { ready, total } } }).degraded;
    expect([degraded(9, 10), degraded(8, 10), degraded(0, 0), degraded(2, 3)]).toEqual([false, true, false, true]);
  });

  it("counts the time of a cluster that nobody has seen from its creation", () => {
    expect(aCluster("a", { ready: "never" })).toMatchObject({
      ready: "Unknown",
      notReadySinceMs: Date.parse(ago(7200)),
    });
  });
});

describe("the fingerprint", () => {
  const base = aRegistration("a", {
    labels: { x: "1", y: "2" },
    spec: {
      taints: [
        { key: "k", effect: "NoSchedule" },
        { key: "j", effect: "NoExecute" },
      ],
    },
  });
  const printOf = (registration: Registration) => factsFingerprint(clusterFacts(registration));

  const same: Record<string, Registration> = {
    "a heartbeat": { ...base, metadata: { ...base.metadata, resourceVersion: "9" } },
    "the time since which it is Ready": {
      ...base,
      status: { ...base.status, conditions: aRegistration("a", { since: ago(5) }).status?.conditions },
    },
    "another reason for being Ready": {
      ...base,
      status: {
        ...base.status,
        conditions: base.status?.conditions?.map((condition) => ({ ...condition, reason: "ClusterFine" })),
      },
    },
    "a detection that found the same": { ...base, status: { ...base.status, capabilitiesDetected: ago(1) } },
    "another order": {
      ...base,
      metadata: { ...base.metadata, labels: { y: "2", x: "1" } },
      spec: { ...base.spec, taints: base.spec.taints?.toReversed() },
    },
    "another spelling of an amount": {
      ...base,
      status: { ...base.status, allocatable: { cpu: "8000m", memory: "32Gi" } },
    },
  };
  it.each(Object.entries(same))("survives %s", (_, registration) => {
    expect(printOf(registration)).toBe(printOf(base));
  });

  const different: Record<string, Registration> = {
    Ready: aRegistration("a", { ready: "False" }),
    "the time since which it is not Ready": aRegistration("a", { ready: "False", since: ago(5) }),
    "a label": aRegistration("a", { labels: { x: "2" } }),
    "the location": aRegistration("a", { spec: { location: "elsewhere" } }),
    "a taint": aRegistration("a", { spec: { taints: [{ key: "k", effect: "NoSchedule" }] } }),
    "a cordon": aRegistration("a", { spec: { unschedulable: true } }),
    "a capability": aRegistration("a", { spec: { capabilities: [] } }),
    "a detected capability": aRegistration("a", { status: { capabilities: [{ type: "gpu" }] } }),
    "a served type": aRegistration("a", { status: { apis: [] } }),
    "an amount": aRegistration("a", { status: { allocatable: { cpu: "9" } } }),
    "a deletion": aRegistration("a", { deleting: true }),
    nodes: aRegistration("a", { status: { nodes: { ready: 1, total: 2 } } }),
  };
  it("tells apart all that placement uses", () => {
    const prints = [aRegistration("a"), ...Object.values(different)].map(printOf);
    expect(new Set(prints).size).toBe(prints.length);
    expect(prints.every((print) => /^[0-9a-f]{16}$/.test(print))).toBe(true);
  });
});
