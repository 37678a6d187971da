import type { ClusterRegistration } from "../../lib/api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../lib/api/workload-placement.ts";
import { drainTaint } from "../../lib/sync/targets/target-cluster.ts";
import { aWorkloadSelector } from "./desired-workloads.ts";
import type { Seeded } from "./seeded.ts";
import type { Physical } from "./servers.ts";

/** How the controller is let into a cluster: by the operator, or by a secret of the tenant's in one of two forms. */
export type CredentialKind = "operator" | "kubeconfig" | "token";

/** A registration as its owner wants it. */
export type DesiredRegistration = Readonly<{
  cluster: Physical;
  credentialKind: CredentialKind;
  labels: Readonly<Record<string, string>>;
  spec: ClusterRegistration["spec"];
}>;

/** A placement as its owner wants it. */
export type DesiredPlacement = Readonly<{
  annotations: Readonly<Record<string, string>>;
  spec: WorkloadPlacement["spec"];
}>;

const locations = ["us-west-2", "us-east-1", "eu-central-1", "cellar"] as const;
const environments = ["prod", "dev"] as const;
const taints: NonNullable<ClusterRegistration["spec"]["taints"]> = [
  { key: "maintenance", effect: "NoSchedule" },
  { key: "maintenance", effect: "NoExecute" },
  { key: "evicted", value: "soon", effect: "NoExecute", timeAdded: "2026-01-01T00:01:00Z" },
  { key: "crowded", effect: "PreferNoSchedule" },
  { key: drainTaint, effect: "NoExecute" },
];

/** Chooses what a registration says. */
export function aDesiredRegistration(seeded: Seeded, cluster: Physical): DesiredRegistration {
  const capabilities: NonNullable<ClusterRegistration["spec"]["capabilities"]> = [
    { type: "gpu", available: seeded.chance(0.8), version: seeded.pick(["1.0", "2.1"]) },
  ];
  return {
    cluster,
    credentialKind: seeded.pick(["operator", "operator", "kubeconfig", "token"]),
    labels: { env: seeded.pick(environments), ...(seeded.chance(0.3) && { rack: seeded.pick(["1", "2"]) }) },
    spec: {
      location: seeded.pick(locations),
      ...(seeded.chance(0.25) && { capabilities }),
      ...(seeded.chance(0.2) && { taints: [seeded.pick(taints)] }),
      ...(seeded.chance(0.12) && { unschedulable: true }),
    },
  };
}

/** Chooses what a placement of a name asks for; now and then it makes no sense. */
export function aDesiredPlacement(seeded: Seeded, name: string, names: readonly string[]): DesiredPlacement {
  type Spec = WorkloadPlacement["spec"];
  const env = { matchLabels: { env: seeded.pick(environments) } };
  const places = [...seeded.some(locations), "us-east-1"];
  const parts: Partial<Spec>[] = [
    { locationSelector: env },
    { locationSelector: { matchExpressions: [{ key: "location", operator: "In", values: [...new Set(places)] }] } },
    // An operator that needs values, without any: the user's mistake.
    { locationSelector: { matchExpressions: [{ key: "env", operator: "In" }] } },
    { clusterNames: [...new Set([seeded.pick(names), seeded.pick(names)])] },
    { preferredClusters: [seeded.pick(names)] },
    { capabilityRequirements: [{ type: seeded.pick(["compute", "gpu", "storage"]), required: seeded.chance(0.6) }] },
    { capabilityRequirements: [{ type: "gpu", required: true, minVersion: "2.0" }] },
    {
      tolerations: [
        { operator: "Exists", ...(seeded.chance(0.5) && { tolerationSeconds: seeded.pick([0, 20, 200]) }) },
      ],
    },
    {
      tolerations: [
        {
          key: "tmc.kcp.io/not-ready",
          operator: "Exists",
          effect: "NoExecute",
          tolerationSeconds: seeded.pick([0, 30]),
        },
      ],
    },
    { affinity: { clusterAffinity: { preferred: [{ weight: seeded.between(1, 100), term: env }] } } },
    { affinity: { clusterAffinity: { required: [env] } } },
    { affinity: { clusterAntiAffinity: { required: [{ matchLabels: { rack: "1" } }] } } },
    {
      spreadConstraints: [
        {
          topologyKey: seeded.pick(["env", "location", "rack"]),
          maxSkew: 1,
          whenUnsatisfiable: seeded.pick(["DoNotSchedule", "ScheduleAnyway"]),
        },
      ],
    },
    { resources: { cpu: seeded.pick(["1", "100000"]) } },
  ];
  const hints = [
    { "tmc.kcp.io/preferred-cluster": seeded.pick(names) },
    { "tmc.kcp.io/avoid-cluster": seeded.pick(names) },
    { "tmc.kcp.io/preferred-location": seeded.pick(locations) },
  ];
  return {
    annotations: seeded.chance(0.2) ? seeded.pick(hints) : {},
    spec: {
      strategy: seeded.pick(["RoundRobin", "RoundRobin", "Spread", "Affinity"]),
      ...(seeded.chance(0.4) && { numberOfClusters: seeded.between(1, 3) }),
      ...Object.assign({}, ...seeded.some(parts, seeded.pick([0, 0.06, 0.12]))),
      ...aWorkloadSelector(seeded, name),
    },
  };
}
