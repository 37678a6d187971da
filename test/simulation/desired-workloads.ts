import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { WorkloadPlacement } from "../../lib/api/workload-placement.ts";
import { controlAnnotations } from "../../lib/sync/control-annotations.ts";
import type { Seeded } from "./seeded.ts";
import type { WorkloadNamespace } from "./servers.ts";

/** Where the kinds of workloads and of their dependencies are served, in kcp and on clusters alike. */
export const workloadResources = {
  Deployment: { group: "apps", version: "v1", plural: "deployments" },
  Service: { group: "", version: "v1", plural: "services" },
  ConfigMap: { group: "", version: "v1", plural: "configmaps" },
  Secret: { group: "", version: "v1", plural: "secrets" },
  ServiceAccount: { group: "", version: "v1", plural: "serviceaccounts" },
  PersistentVolumeClaim: { group: "", version: "v1", plural: "persistentvolumeclaims" },
  StatefulSet: { group: "apps", version: "v1", plural: "statefulsets" },
  DaemonSet: { group: "apps", version: "v1", plural: "daemonsets" },
  Job: { group: "batch", version: "v1", plural: "jobs" },
  CronJob: { group: "batch", version: "v1", plural: "cronjobs" },
  Ingress: { group: "networking.k8s.io", version: "v1", plural: "ingresses" },
  HorizontalPodAutoscaler: { group: "autoscaling", version: "v2", plural: "horizontalpodautoscalers" },
} as const;
export type WorkloadKind = keyof typeof workloadResources;

/** Kinds that are synced only with the workloads that reference them, unless a placement lists them. */
const dependencyKinds: ReadonlySet<string> = new Set([
  "ConfigMap",
  "Secret",
  "ServiceAccount",
] satisfies WorkloadKind[]);
/** Kinds whose status counts ready replicas. */
export const replicatedKinds: ReadonlySet<string> = new Set(["Deployment", "StatefulSet"] satisfies WorkloadKind[]);

export function isWorkloadKind(kind: string): kind is WorkloadKind {
  return Object.hasOwn(workloadResources, kind);
}

/** Whether placements select objects of a kind without listing it. */
export function isPlacedKind(kind: string): kind is WorkloadKind {
  return isWorkloadKind(kind) && !dependencyKinds.has(kind);
}

/** A workload as its owner wants it, or something that workloads refer to. */
export type DesiredWorkload = Readonly<{
  namespace: WorkloadNamespace;
  labels: Readonly<Record<string, string>>;
  annotations: Readonly<Record<string, string>>;
  body: Readonly<{ apiVersion: string; kind: WorkloadKind } & Record<string, unknown>>;
}>;

/** By this label workloads in `shop` choose their placement; there is one for each value at most. */
export const placeLabel = "place";
const configs = ["config-a", "config-b"] as const;
const secrets = ["secret-a"] as const;

/** The names of workloads, and of what they refer to. */
export const deploymentNames = ["d0", "d1", "d2", "d3", "d4"] as const;
export const serviceNames = ["s0", "s1"] as const;
export const dependencyNames = [...configs, ...secrets] as const;

type Spec = WorkloadPlacement["spec"];

/** Chooses which workloads a placement is about, and what is done with them; many are about none. */
export function aWorkloadSelector(seeded: Seeded, name: string): Partial<Spec> {
  const kind = seeded.next();
  const divided: Partial<Spec> = {
    replicas: { mode: "Divided", ...(seeded.chance(0.2) && { min: 1 }), ...(seeded.chance(0.2) && { max: 2 }) },
  };
  if (kind < 0.7) {
    const labelSelector = { matchLabels: { [placeLabel]: name } };
    return {
      workloadSelector: { labelSelector, namespaces: ["shop"] },
      // Where all are taken, two runs end with the same ones.
      ...(seeded.chance(0.6) && { strategy: "Spread", numberOfClusters: 4 }),
      ...(seeded.chance(0.25) && divided),
    };
  }
  if (kind > 0.85) return {};
  const wild: NonNullable<Spec["workloadSelector"]>[] = [
    { namespaces: ["wild"] },
    { namespaces: ["wild"], labelSelector: { matchLabels: { tier: seeded.pick(["front", "back"]) } } },
    // An operator that needs values, without any: the user's mistake.
    { namespaces: ["wild"], labelSelector: { matchExpressions: [{ key: "tier", operator: "In" }] } },
    { namespaces: ["wild"], workloadTypes: [{ apiVersion: "apps/v1", kind: seeded.pick(["Deployment", "Nothing"]) }] },
    { namespaces: ["wild"], workloadTypes: [{ apiVersion: "v1", kind: seeded.pick(["ConfigMap", "Secret"]) }] },
  ];
  return {
    workloadSelector: seeded.pick(wild),
    ...(seeded.chance(0.3) && divided),
    ...(seeded.chance(0.4) && { deletionPolicy: "Orphan" }),
    ...(seeded.chance(0.5) && { drift: seeded.pick(["Revert", "Report", "Pause"]) }),
    ...(seeded.chance(0.3) && { adoption: seeded.pick(["Never", "IfNoDiff", "Always"]) }),
  };
}

/** Chooses what a Deployment says; `places` are the placements that it may choose. */
export function aDesiredDeployment(
  seeded: Seeded,
  namespace: WorkloadNamespace,
  { name, places, clusters }: Readonly<{ name: string; places: readonly string[]; clusters: readonly string[] }>,
): DesiredWorkload {
  const needed = seeded.some(dependencyNames, 0.3);
  const selector = { app: name };
  return {
    namespace,
    ...saidOf(seeded, places, clusters),
    body: {
      apiVersion: "apps/v1",
      kind: "Deployment",
      spec: {
        replicas: seeded.pick([0, 1, 1, 2, 3]),
        selector: { matchLabels: selector },
        template: {
          metadata: { labels: selector },
          spec: {
            terminationGracePeriodSeconds: 0,
            containers: [
              {
                name: "main",
                image: `registry.example/shop:${seeded.between(1, 3)}`,
                envFrom: needed.map((each) =>
                  each.startsWith("secret") ? { secretRef: { name: each } } : { configMapRef: { name: each } },
                ),
              },
            ],
          },
        },
      },
    },
  };
}

/** Chooses what a Service says. */
export function aDesiredService(
  seeded: Seeded,
  namespace: WorkloadNamespace,
  { places, clusters }: Readonly<{ places: readonly string[]; clusters: readonly string[] }>,
): DesiredWorkload {
  const ports = [{ name: "http", port: seeded.pick([80, 8080]), protocol: "TCP" }];
  const spec = { selector: { app: seeded.pick(deploymentNames) }, ports };
  return { namespace, ...saidOf(seeded, places, clusters), body: { apiVersion: "v1", kind: "Service", spec } };
}

/** Chooses what a ConfigMap or a Secret says, by its name. */
export function aDesiredDependency(
  seeded: Seeded,
  namespace: WorkloadNamespace,
  { name }: Readonly<{ name: string }>,
): DesiredWorkload {
  const word = seeded.pick(["b25l", "dHdv", "dGhyZWU="]);
  const kind = name.startsWith("secret") ? "Secret" : "ConfigMap";
  return {
    namespace,
    labels: {},
    annotations: {},
    body: { apiVersion: "v1", kind, ...(kind === "Secret" && { type: "Opaque" }), data: { word } },
  };
}

function saidOf(
  seeded: Seeded,
  places: readonly string[],
  clusters: readonly string[],
): Pick<DesiredWorkload, "labels" | "annotations"> {
  const controls = [
    { [controlAnnotations.sync]: seeded.pick(["paused", "disabled"]) },
    { [controlAnnotations.excludedClusters]: seeded.pick(clusters) },
    { [controlAnnotations.targetClusters]: `${seeded.pick(clusters)}, ${seeded.pick(clusters)}` },
  ];
  return {
    labels: { [placeLabel]: seeded.pick(places), tier: seeded.pick(["front", "back"]) },
    annotations: seeded.chance(0.15) ? seeded.pick(controls) : {},
  };
}

/** The object of a desired workload. */
export function workloadOf(name: string, { namespace, labels, annotations, body }: DesiredWorkload): KubeObject {
  return { ...body, metadata: { name, namespace, labels: { ...labels }, annotations: { ...annotations } } };
}
