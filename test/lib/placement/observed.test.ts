import { describe, expect, it } from "vitest";
import { clusterFacts, clusterFactsHash, type RegistrationInput } from "../../../lib/placement/observed.ts";
import { aCluster, ago, aRegistration } from "../../support/placement-builders.ts";

describe("derived label keys", () => {
  const cases: Record<
    string,
    { location: string; labels?: Record<string, string>; has: Record<string, string | undefined> }
  > = {
    "uses a location without a zone as region": {
      location: "us-west-2",
      has: { location: "us-west-2", region: "us-west-2", zone: undefined },
    },
    "derives region and zone from an AWS zone": {
      location: "us-west-2a",
      has: { region: "us-west-2", zone: "us-west-2a" },
    },
    "derives region and zone from a Google Cloud zone": {
      location: "us-central1-b",
      has: { region: "us-central1", zone: "us-central1-b" },
    },
    "derives a known provider from the prefix of the location": {
      location: "aws:eu-west-1b",
      has: { provider: "aws", region: "eu-west-1", location: "aws:eu-west-1b" },
    },
    "does not use an unknown prefix of the location as provider": {
      location: "eu:berlin",
      has: { provider: undefined, region: "eu:berlin" },
    },
    "prefers well-known labels over the location": {
      location: "us-west-2a",
      labels: { "topology.kubernetes.io/region": "r", "topology.kubernetes.io/zone": "z", "tmc.kcp.io/provider": "p" },
      has: { region: "r", zone: "z", provider: "p" },
    },
    "reads the beta names of topology labels": {
      location: "x",
      labels: { "failure-domain.beta.kubernetes.io/region": "r", "failure-domain.beta.kubernetes.io/zone": "z" },
      has: { region: "r", zone: "z" },
    },
    "derives the environment from the label env": {
      location: "x",
      labels: { env: "prod" },
      has: { environment: "prod" },
    },
    "prefers a label with the name of the derived key": {
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

describe("clusterFacts", () => {
  it("prefers a declared capability over a detected one, and uses the detected version if none is declared", () => {
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

  it("marks a cluster as degraded if more than 10 % of its nodes are not ready", () => {
    const degraded = (ready: number, total: number) => aCluster("a", { status: { nodes: { ready, total } } }).degraded;
    expect([degraded(9, 10), degraded(8, 10), degraded(0, 0), degraded(2, 3)]).toEqual([false, true, false, true]);
  });

  it("counts the not-ready time of a cluster that was never probed from the creation of its registration", () => {
    expect(aCluster("a", { ready: "never" })).toMatchObject({
      ready: "Unknown",
      notReadySinceMs: Date.parse(ago(7200)),
    });
  });
});

describe("clusterFactsHash", () => {
  const base = aRegistration("a", {
    labels: { x: "1", y: "2" },
    spec: {
      taints: [
        { key: "k", effect: "NoSchedule" },
        { key: "j", effect: "NoExecute" },
      ],
    },
  });
  const hashOf = (registration: RegistrationInput) => clusterFactsHash(clusterFacts(registration));

  const same: Record<string, RegistrationInput> = {
    "a new resourceVersion": { ...base, metadata: { ...base.metadata, resourceVersion: "9" } },
    "another time since which the cluster is Ready": {
      ...base,
      status: { ...base.status, conditions: aRegistration("a", { since: ago(5) }).status?.conditions },
    },
    "another reason while the cluster is Ready": {
      ...base,
      status: {
        ...base.status,
        conditions: base.status?.conditions?.map((condition) => ({ ...condition, reason: "ClusterFine" })),
      },
    },
    "a detection with the same result": { ...base, status: { ...base.status, capabilitiesDetected: ago(1) } },
    "another order of labels and taints": {
      ...base,
      metadata: { ...base.metadata, labels: { y: "2", x: "1" } },
      spec: { ...base.spec, taints: base.spec.taints?.toReversed() },
    },
    "other requests of pods that TMC did not place": {
      ...base,
      status: { ...base.status, otherPods: { cpu: "1", memory: "1Gi" } },
    },
    "another notation of a quantity": {
      ...base,
      status: { ...base.status, allocatable: { cpu: "8000m", memory: "32Gi" } },
    },
  };
  it.each(Object.entries(same))("does not change the facts hash for %s", (_, registration) => {
    expect(hashOf(registration)).toBe(hashOf(base));
  });

  const different: Record<string, RegistrationInput> = {
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
  it("changes the facts hash for every fact that placement reads", () => {
    const hashes = [aRegistration("a"), ...Object.values(different)].map(hashOf);
    expect(new Set(hashes).size).toBe(hashes.length);
    expect(hashes.every((hash) => /^[0-9a-f]{16}$/.test(hash))).toBe(true);
  });
});
