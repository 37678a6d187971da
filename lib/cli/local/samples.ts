import type { KubeClient } from "@tmc/kube/client.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { type ClusterRegistration, clusterRegistration } from "../../api/cluster-registration.ts";
import { apiVersionOf } from "../../api/kind.ts";
import { type WorkloadPlacement, workloadPlacement } from "../../api/workload-placement.ts";
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

/** One placement for each strategy, the first with an application, and one that finds no cluster, so that its explanation can be seen. */
export const samplePlacements: readonly WorkloadPlacement[] = [
  placement("shop", {
    strategy: "Spread",
    workloadSelector: { namespaces: ["shop"] },
    replicas: { mode: "Divided" },
  }),
  placement("api", { strategy: "RoundRobin" }),
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

const inShop = { name: "web", namespace: "shop" };
const labels = { app: "web" };

/** An application over both clusters, as examples/shop.yaml has it; in the order in which it is created. */
export const sampleApplication: readonly Readonly<{ type: ResourceType; object: KubeObject }>[] = [
  {
    type: { group: "", version: "v1", plural: "namespaces" },
    object: { apiVersion: "v1", kind: "Namespace", metadata: { name: inShop.namespace } },
  },
  {
    type: { group: "", version: "v1", plural: "configmaps" },
    object: { apiVersion: "v1", kind: "ConfigMap", metadata: inShop, data: { GREETING: "Welcome to the shop" } },
  },
  {
    type: { group: "apps", version: "v1", plural: "deployments" },
    object: {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { ...inShop, labels },
      spec: {
        replicas: 3,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            containers: [
              {
                name: "web",
                image: "nginx:1.29",
                envFrom: [{ configMapRef: { name: "web" } }],
                ports: [{ name: "http", containerPort: 80 }],
                resources: { requests: { cpu: "50m", memory: "32Mi" } },
              },
            ],
          },
        },
      },
    },
  },
  {
    type: { group: "", version: "v1", plural: "services" },
    object: {
      apiVersion: "v1",
      kind: "Service",
      metadata: { ...inShop, labels },
      spec: { selector: labels, ports: [{ name: "http", port: 80, targetPort: "http" }] },
    },
  },
];

/** The workloads of the application, as their records name them. */
export const sampleWorkloads: readonly string[] = ["deployment.apps/web", "service/web"];

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

/** Puts the sample application into a workspace. */
export async function createSampleApplication(workspace: KubeClient): Promise<void> {
  for (const { type, object } of sampleApplication) {
    await workspace.create({ type, namespace: object.metadata.namespace }, object, written);
  }
}

function placement(name: string, spec: WorkloadPlacement["spec"]): WorkloadPlacement {
  return { apiVersion: apiVersionOf(workloadPlacement), kind: "WorkloadPlacement", metadata: { name }, spec };
}
