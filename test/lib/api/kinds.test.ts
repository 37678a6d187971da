import { readFile } from "node:fs/promises";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { load } from "js-yaml";
import { describe, expect, expectTypeOf, it } from "vitest";
import { type ClusterRegistration, clusterRegistration } from "../../../lib/api/cluster-registration.ts";
import type { ServedKind } from "../../../lib/api/kind.ts";
import { kinds } from "../../../lib/api/kinds.ts";
import { type WorkloadPlacement, workloadPlacement } from "../../../lib/api/workload-placement.ts";
import { workloadSync } from "../../../lib/api/workload-sync.ts";
import { workloadTypes } from "../../../lib/api/workload-types.ts";
import { faultsOf } from "./validate.ts";

const registration = (spec: object, status?: object) => made("ClusterRegistration", spec, status);
const placement = (spec: object, status?: object) => made("WorkloadPlacement", spec, status);
const sync = (spec: object, status?: object) => made("WorkloadSync", spec, status);
const ready = {
  type: "Ready",
  status: "True",
  reason: "ClusterReady",
  message: "",
  lastTransitionTime: "2030-01-01T00:00:00Z",
};

function made(kind: string, spec: object, status?: object) {
  return { apiVersion: "tmc.kcp.io/v1alpha1", kind, metadata: { name: "x" }, spec, ...(status ? { status } : {}) };
}

describe("valid objects", () => {
  const good: Record<string, readonly [ServedKind, object]> = {
    "a registration with only a location": [clusterRegistration, registration({ location: "us-west-2" })],
    "a registration with a location that contains spaces": [
      clusterRegistration,
      registration({ location: "Frankfurt am Main" }),
    ],
    "a registration with capabilities": [
      clusterRegistration,
      registration({ location: "a", capabilities: [{ type: "compute", available: true }, { type: "gpu" }] }),
    ],
    "a registration with a Secret": [
      clusterRegistration,
      registration({ location: "a", credentials: { secretRef: { namespace: "default", name: "east" } } }),
    ],
    "a registration of an EKS cluster": [
      clusterRegistration,
      registration({ location: "a", credentials: { eks: { clusterName: "East_1", region: "us-gov-west-1" } } }),
    ],
    "a registration of an EKS cluster in another account": [
      clusterRegistration,
      registration({
        location: "a",
        credentials: { eks: { clusterName: "east", region: "eu-central-1", account: "123456789012" } },
      }),
    ],
    "a registration with Secrets Manager": [
      clusterRegistration,
      registration({ location: "a", credentials: { secretsManager: {} } }),
    ],
    "a registration with a status": [
      clusterRegistration,
      registration(
        { location: "a" },
        { conditions: [{ ...ready, severity: "Info", observedGeneration: 1 }], lastHeartbeat: "2030-01-01T00:00:00Z" },
      ),
    ],
    "an empty placement": [workloadPlacement, placement({})],
    "a placement with all fields": [
      workloadPlacement,
      placement({
        strategy: "Spread",
        clusterNames: ["east", "west"],
        preferredClusters: ["east"],
        numberOfClusters: 2,
        capabilityRequirements: [{ type: "gpu", required: false, minVersion: "12.4" }],
        tolerations: [{ key: "a", operator: "Exists", effect: "NoExecute", tolerationSeconds: 60 }],
        affinity: {
          clusterAffinity: { required: [{ matchLabels: { a: "b" } }] },
          clusterAntiAffinity: { preferred: [{ weight: 1, term: { matchLabels: { a: "c" } } }] },
        },
        spreadConstraints: [{ topologyKey: "zone", maxSkew: 2, whenUnsatisfiable: "ScheduleAnyway" }],
        resources: { cpu: "500m", memory: "1Gi" },
        workloadSelector: {
          labelSelector: { matchLabels: { app: "web" } },
          workloadTypes: [{ apiVersion: "apps/v1", kind: "Deployment" }],
          namespaces: ["shop"],
          excludedNamespaces: ["test"],
        },
        replicas: { mode: "Divided", divideBy: "Weights", max: 5, clusters: [{ name: "east", weight: 2, min: 1 }] },
        overrides: [
          {
            clusterNames: ["east"],
            imageHosts: [{ from: "docker.io", to: "mirror.example" }],
            labels: { where: "{{cluster.name}}" },
            env: { REGION: "{{cluster.location}}" },
            patches: [
              { op: "add", path: "/spec/paused", value: true },
              { op: "remove", path: "/spec/minReadySeconds" },
            ],
          },
        ],
        deletionPolicy: "Orphan",
        drift: "Report",
        adoption: "IfNoDiff",
      }),
    ],
    "a placement with only a strategy": [workloadPlacement, placement({ strategy: "Affinity" })],
    "a placement with match expressions": [
      workloadPlacement,
      placement({
        strategy: "Spread",
        locationSelector: { matchExpressions: [{ key: "region", operator: "In", values: ["a", "b"] }] },
      }),
    ],
    "a placement with a status": [
      workloadPlacement,
      placement(
        { strategy: "Spread" },
        { selectedClusters: ["east", "west"], conditions: [ready], observedGeneration: 2 },
      ),
    ],
    "a WorkloadSync with a status": [
      workloadSync,
      sync(
        { workload: { apiVersion: "apps/v1", kind: "Deployment", name: "web" }, clusters: ["east"] },
        {
          clusters: [{ name: "east", state: "Ready", generation: 3, lastObservedTime: "2030-01-01T00:00:00Z" }],
          conditions: [ready],
        },
      ),
    ],
  };
  it.each(Object.entries(good))("the schema accepts %s", (_, [kind, object]) => {
    expect(faultsOf(kind, object)).toEqual([]);
  });
});

describe("invalid objects", () => {
  const bad: Record<string, readonly [ServedKind, object, string]> = {
    "a registration without a spec": [
      clusterRegistration,
      { apiVersion: "tmc.kcp.io/v1alpha1", kind: "ClusterRegistration" },
      ": must have",
    ],
    "a registration without a location": [
      clusterRegistration,
      registration({}),
      ".spec: must have required property 'location'",
    ],
    "an empty location": [clusterRegistration, registration({ location: "" }), ".spec.location"],
    "a location with surrounding spaces": [clusterRegistration, registration({ location: " a " }), ".spec.location"],
    "a location that is a number": [clusterRegistration, registration({ location: 4 }), ".spec.location"],
    "a capability without a type": [
      clusterRegistration,
      registration({ location: "a", capabilities: [{ available: true }] }),
      ".spec.capabilities.0",
    ],
    "an availability that is not a boolean": [
      clusterRegistration,
      registration({ location: "a", capabilities: [{ type: "gpu", available: "yes" }] }),
      ".spec.capabilities.0.available",
    ],
    "too many capabilities": [
      clusterRegistration,
      registration({ location: "a", capabilities: Array.from({ length: 65 }, (_, index) => ({ type: `c${index}` })) }),
      ".spec.capabilities",
    ],
    "empty credentials": [clusterRegistration, registration({ location: "a", credentials: {} }), ".spec.credentials"],
    "credentials with two fields": [
      clusterRegistration,
      registration({
        location: "a",
        credentials: { secretsManager: {}, eks: { clusterName: "east", region: "eu-central-1" } },
      }),
      ".spec.credentials",
    ],
    "the name of a Secrets Manager secret": [
      clusterRegistration,
      registration({ location: "a", credentials: { secretsManager: { name: "tmc/other/east" } } }),
      ".spec.credentials.secretsManager.name",
    ],
    "a region that contains a host name": [
      clusterRegistration,
      registration({ location: "a", credentials: { eks: { clusterName: "east", region: "x.evil.example.com" } } }),
      ".spec.credentials.eks.region",
    ],
    "the ARN of a role": [
      clusterRegistration,
      registration({
        location: "a",
        credentials: { eks: { clusterName: "east", region: "eu-central-1", roleArn: "arn:aws:iam::1:role/x" } },
      }),
      ".spec.credentials.eks.roleArn",
    ],
    "an unknown field": [clusterRegistration, registration({ location: "a", place: "b" }), ".spec.place"],
    "an unknown condition status": [
      clusterRegistration,
      registration({ location: "a" }, { conditions: [{ ...ready, status: "Maybe" }] }),
      ".status.conditions.0.status",
    ],
    "a condition without a reason": [
      clusterRegistration,
      registration({ location: "a" }, { conditions: [{ ...ready, reason: "" }] }),
      ".status.conditions.0.reason",
    ],
    "an invalid heartbeat time": [
      clusterRegistration,
      registration({ location: "a" }, { lastHeartbeat: "just now" }),
      ".status.lastHeartbeat",
    ],
    "zero clusters": [workloadPlacement, placement({ numberOfClusters: 0 }), ".spec.numberOfClusters"],
    "a weight above 100": [
      workloadPlacement,
      placement({ affinity: { clusterAffinity: { preferred: [{ weight: 101, term: {} }] } } }),
      ".spec.affinity.clusterAffinity.preferred.0.weight",
    ],
    "an unknown taint effect": [
      workloadPlacement,
      placement({ tolerations: [{ operator: "Exists", effect: "NoSelect" }] }),
      ".spec.tolerations.0.effect",
    ],
    "negative tolerationSeconds": [
      workloadPlacement,
      placement({ tolerations: [{ key: "a", tolerationSeconds: -1 }] }),
      ".spec.tolerations.0.tolerationSeconds",
    ],
    "a maxSkew of zero": [
      workloadPlacement,
      placement({ spreadConstraints: [{ topologyKey: "zone", maxSkew: 0 }] }),
      ".spec.spreadConstraints.0.maxSkew",
    ],
    "an unknown strategy": [workloadPlacement, placement({ strategy: "Random" }), ".spec.strategy"],
    "an unknown operator": [
      workloadPlacement,
      placement({ strategy: "Spread", locationSelector: { matchExpressions: [{ key: "a", operator: "Near" }] } }),
      ".spec.locationSelector.matchExpressions.0.operator",
    ],
    "a label value that is not a string": [
      workloadPlacement,
      placement({ strategy: "Spread", locationSelector: { matchLabels: { zone: 1 } } }),
      ".spec.locationSelector.matchLabels.zone",
    ],
    "a capability requirement without a type": [
      workloadPlacement,
      placement({ strategy: "Spread", capabilityRequirements: [{ required: true }] }),
      ".spec.capabilityRequirements.0",
    ],
    "an invalid name of a selected cluster": [
      workloadPlacement,
      placement({ strategy: "Spread" }, { selectedClusters: ["East!"] }),
      ".status.selectedClusters.0",
    ],
    "a WorkloadSync without a workload": [
      workloadSync,
      sync({ clusters: [] }),
      ".spec: must have required property 'workload'",
    ],
    "a negative generation": [
      workloadSync,
      sync(
        { workload: { apiVersion: "v1", kind: "Service", name: "a" } },
        { clusters: [{ name: "east", observedGeneration: -1 }] },
      ),
      ".status.clusters.0.observedGeneration",
    ],
  };
  it.each(Object.entries(bad))("the schema rejects %s and names the field", (_, [kind, object, field]) => {
    const faults = faultsOf(kind, object);
    expect(faults.filter((fault) => fault.startsWith(field))).not.toEqual([]);
  });
});

describe("examples", () => {
  it.each(["cluster-registration", "workload-placement", "database-placement", "deployment", "service"])(
    "examples/%s.yaml is valid",
    async (name) => {
      const object = load(
        await readFile(new URL(`../../../examples/${name}.yaml`, import.meta.url), "utf8"),
      ) as KubeObject;
      const kind = [...kinds, ...workloadTypes].find((candidate) => candidate.kind === object.kind);
      expect(kind).toBeDefined();
      if (kind !== undefined) expect(faultsOf(kind, object)).toEqual([]);
    },
  );
});

describe("TMC's kinds", () => {
  it("TMC's kinds have short names and printer columns", () => {
    expect(kinds.map((kind) => [kind.shortNames, kind.categories, kind.columns.map((column) => column.name)])).toEqual([
      [["cr"], ["kcp"], ["Ready", "Reason", "Version", "Location", "Age", "Message"]],
      [["wp"], ["kcp"], ["Strategy", "Clusters", "Ready", "Reason", "Age", "Message"]],
      [["wsync"], ["kcp"], ["Kind", "Workload", "Clusters", "Ready", "Reason", "Age", "Message"]],
    ]);
  });

  it("TMC's kinds describe every field", () => {
    for (const kind of kinds) expect(JSON.stringify(kind.spec)).not.toMatch(/"properties":\{"[a-zA-Z]+":\{"type"/);
  });

  it("the TypeScript types of TMC's kinds are derived from their schemas", () => {
    expectTypeOf<ClusterRegistration["kind"]>().toEqualTypeOf<"ClusterRegistration">();
    expectTypeOf<ClusterRegistration["spec"]["location"]>().toEqualTypeOf<string>();
    expectTypeOf<WorkloadPlacement["spec"]["strategy"]>().toEqualTypeOf<
      "RoundRobin" | "Spread" | "Affinity" | undefined
    >();
    expectTypeOf<ClusterRegistration>().toExtend<KubeObject>();
    const spec: WorkloadPlacement["spec"] = { strategy: "Spread" };
    expectTypeOf(spec.capabilityRequirements?.[0]?.required).toEqualTypeOf<boolean | undefined>();
  });
});
