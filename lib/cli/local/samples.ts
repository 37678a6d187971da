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

type RegistrationOptions = Readonly<{ evictAfterSeconds?: number | undefined }>;

/** Returns a registration for a sample cluster. */
export function sampleRegistration(name: string, { evictAfterSeconds }: RegistrationOptions = {}): ClusterRegistration {
  const { location, labels } = sampleLocations[name] ?? { location: name, labels: {} };
  return {
    apiVersion: formatApiVersion(clusterRegistration),
    kind: "ClusterRegistration",
    metadata: { name, labels },
    spec: { location, ...(evictAfterSeconds === undefined ? {} : { evictAfterSeconds }) },
  };
}

/** One placement for each strategy, each with a namespace of workloads, and one that fits no cluster, to demonstrate `tmc explain`. */
export const samplePlacements: readonly WorkloadPlacement[] = [
  placement("shop", { strategy: "Spread", replicas: { mode: "Divided" } }),
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

/** An object to create: a workload, or what one needs. */
type Sample = Readonly<{ type: ResourceType; object: KubeObject }>;

const webLabels = { app: "web" };

/** The workloads of examples/shop.yaml, and one for each other placement, in the order of creation. */
const sampleObjects: readonly Sample[] = [
  sample({ group: "", version: "v1", plural: "configmaps" }, "ConfigMap", "shop/web", {
    data: { GREETING: "Welcome to the shop" },
  }),
  deployment("shop/web", 3, {
    image: "nginx:1.29",
    envFrom: [{ configMapRef: { name: "web" } }],
    ports: [{ name: "http", containerPort: 80 }],
  }),
  sample({ group: "", version: "v1", plural: "services" }, "Service", "shop/web", {
    spec: { selector: webLabels, ports: [{ name: "http", port: 80, targetPort: "http" }] },
  }),
  deployment("api/api", 2, { image: "nginx:1.29" }),
  sample({ group: "batch", version: "v1", plural: "cronjobs" }, "CronJob", "reports/monthly", {
    spec: { schedule: "0 6 1 * *", jobTemplate: { spec: jobSpec("report") } },
  }),
  sample({ group: "batch", version: "v1", plural: "jobs" }, "Job", "training/model", { spec: jobSpec("train") }),
];

/** The names of the sample workloads. */
export const sampleWorkloads: readonly string[] = [
  "deployment.apps/web",
  "service/web",
  "deployment.apps/api",
  "cronjob.batch/monthly",
  "job.batch/model",
];

const writeOptions = { fieldManager: "tmc-cli" } as const;

export async function createSampleRegistrations(
  workspace: KubeClient,
  clusters: readonly string[],
  options: RegistrationOptions,
): Promise<void> {
  for (const name of clusters) {
    await workspace.create({ type: resourceTypes.registrations }, sampleRegistration(name, options), writeOptions);
  }
}

export async function createSamplePlacements(workspace: KubeClient): Promise<void> {
  for (const sample of samplePlacements)
    await workspace.create({ type: resourceTypes.placements }, sample, writeOptions);
}

export async function createSampleWorkloads(workspace: KubeClient): Promise<void> {
  const type = { group: "", version: "v1", plural: "namespaces" };
  for (const { metadata } of samplePlacements) {
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: metadata.name ?? "" } };
    await workspace.create({ type }, namespace, writeOptions);
  }
  for (const { type: sampleType, object } of sampleObjects) {
    await workspace.create({ type: sampleType, namespace: object.metadata.namespace }, object, writeOptions);
  }
}

/** A placement for the workloads of the namespace with the same name. */
function placement(name: string, spec: WorkloadPlacement["spec"]): WorkloadPlacement {
  return {
    apiVersion: formatApiVersion(workloadPlacement),
    kind: "WorkloadPlacement",
    metadata: { name },
    spec: { ...spec, workloadSelector: { namespaces: [name] } },
  };
}

function sample(type: ResourceType, kind: string, path: string, content: Readonly<Record<string, unknown>>): Sample {
  const [namespace = "", name = ""] = path.split("/");
  const apiVersion = type.group === "" ? type.version : `${type.group}/${type.version}`;
  return { type, object: { apiVersion, kind, metadata: { name, namespace, labels: { app: name } }, ...content } };
}

function deployment(path: string, replicas: number, container: Readonly<Record<string, unknown>>): Sample {
  const name = path.split("/")[1] ?? "";
  const resources = { requests: { cpu: "50m", memory: "32Mi" } };
  return sample({ group: "apps", version: "v1", plural: "deployments" }, "Deployment", path, {
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers: [{ name, ...container, resources }] } },
    },
  });
}

function jobSpec(name: string): object {
  const containers = [{ name, image: "busybox:1.37", command: ["true"] }];
  return { template: { spec: { restartPolicy: "Never", containers } } };
}
