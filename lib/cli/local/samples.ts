import { type ClusterRegistration, clusterRegistration } from "../../api/cluster-registration.ts";
import { apiVersionOf } from "../../api/kind.ts";
import { type WorkloadPlacement, workloadPlacement } from "../../api/workload-placement.ts";
import type { KubeClient } from "../../kube/client.ts";
import { resourceTypes } from "../workspace.ts";

type SampleCluster = Readonly<{ location: string; labels: Record<string, string> }>;

const places: Readonly<Record<string, SampleCluster>> = {
  east: { location: "us-east-1", labels: { region: "us-east", tier: "gold" } },
  west: { location: "us-west-2", labels: { region: "us-west", tier: "silver" } },
};

/** A registration for a cluster of that name, with a place on the map. */
export function sampleRegistration(name: string): ClusterRegistration {
  const { location, labels } = places[name] ?? { location: name, labels: {} };
  return {
    apiVersion: apiVersionOf(clusterRegistration),
    kind: "ClusterRegistration",
    metadata: { name, labels },
    spec: { location },
  };
}

/** One placement for each strategy, and one that finds no cluster, so that its explanation can be seen. */
export const samplePlacements: readonly WorkloadPlacement[] = [
  placement("shop", { strategy: "RoundRobin" }),
  placement("edge", { strategy: "Spread", spreadConstraints: [{ topologyKey: "region", maxSkew: 1 }] }),
  placement("reports", {
    strategy: "Affinity",
    affinity: {
      clusterAffinity: { preferred: [{ weight: 80, term: { matchLabels: { region: "us-west" } } }] },
    },
  }),
  placement("training", {
    strategy: "Affinity",
    capabilityRequirements: [{ type: "gpu", required: true }],
  }),
];

const written = { fieldManager: "tmc-cli" } as const;

/** Registers the clusters of these names in a workspace. */
export async function createSampleRegistrations(workspace: KubeClient, clusters: readonly string[]): Promise<void> {
  for (const name of clusters) {
    await workspace.create({ type: resourceTypes.clusters }, sampleRegistration(name), written);
  }
}

/** Puts the sample placements into a workspace. */
export async function createSamplePlacements(workspace: KubeClient): Promise<void> {
  for (const sample of samplePlacements) await workspace.create({ type: resourceTypes.placements }, sample, written);
}

function placement(name: string, spec: WorkloadPlacement["spec"]): WorkloadPlacement {
  return { apiVersion: apiVersionOf(workloadPlacement), kind: "WorkloadPlacement", metadata: { name }, spec };
}
