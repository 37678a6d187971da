import type { KubeClient } from "@tmc/kube/client.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { type ClusterRegistration, clusterRegistration } from "../../api/cluster-registration.ts";
import { formatApiVersion } from "../../api/kind.ts";
import { type WorkloadPlacement, workloadPlacement } from "../../api/workload-placement.ts";
import { resourceTypes } from "../workspace.ts";

type SampleCluster = Readonly<{ location: string; labels: Record<string, string> }>;

const sampleLocations: Readonly<Record<string, SampleCluster>> = {
  east: { location: "us-east-1", labels: { region: "us-east", tier: "gold" } },
  west: { location: "us-west-2", labels: { region: "us-west", tier: "silver" } },
};

/** Returns a registration for a sample cluster. */
export function sampleRegistration(name: string): ClusterRegistration {
  const { location, labels } = sampleLocations[name] ?? { location: name, labels: {} };
  return {
    apiVersion: formatApiVersion(clusterRegistration),
    kind: "ClusterRegistration",
    metadata: { name, labels },
    spec: { location },
  };
}

/** One placement for each strategy, the first one with an application, and one that fits no cluster, to demonstrate `tmc explain`. */
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

const webMetadata = { name: "web", namespace: "shop" };
const labels = { app: "web" };

/** The application of examples/shop.yaml on both clusters, in the order of creation. */
export const sampleApplication: readonly Readonly<{ type: ResourceType; object: KubeObject }>[] = [
  {
    type: { group: "", version: "v1", plural: "namespaces" },
    object: { apiVersion: "v1", kind: "Namespace", metadata: { name: webMetadata.namespace } },
  },
  {
    type: { group: "", version: "v1", plural: "configmaps" },
    object: { apiVersion: "v1", kind: "ConfigMap", metadata: webMetadata, data: { GREETING: "Welcome to the shop" } },
  },
  {
    type: { group: "apps", version: "v1", plural: "deployments" },
    object: {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { ...webMetadata, labels },
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
      metadata: { ...webMetadata, labels },
      spec: { selector: labels, ports: [{ name: "http", port: 80, targetPort: "http" }] },
    },
  },
];

/** The names of the workloads of the application. */
export const sampleWorkloads: readonly string[] = ["deployment.apps/web", "service/web"];

const writeOptions = { fieldManager: "tmc-cli" } as const;

export async function createSampleRegistrations(workspace: KubeClient, clusters: readonly string[]): Promise<void> {
  for (const name of clusters) {
    await workspace.create({ type: resourceTypes.registrations }, sampleRegistration(name), writeOptions);
  }
}

export async function createSamplePlacements(workspace: KubeClient): Promise<void> {
  for (const sample of samplePlacements)
    await workspace.create({ type: resourceTypes.placements }, sample, writeOptions);
}

export async function createSampleApplication(workspace: KubeClient): Promise<void> {
  for (const { type, object } of sampleApplication) {
    await workspace.create({ type, namespace: object.metadata.namespace }, object, writeOptions);
  }
}

function placement(name: string, spec: WorkloadPlacement["spec"]): WorkloadPlacement {
  return { apiVersion: formatApiVersion(workloadPlacement), kind: "WorkloadPlacement", metadata: { name }, spec };
}
