import { describe, expect, it } from "vitest";
import { objectSchema, type ServedKind } from "../../../lib/api/kind.ts";
import type { OpenApiSchema } from "../../../lib/api/schema.ts";
import { workloadTypes } from "../../../lib/api/workload-types.ts";
import { subSchemas } from "./structural.ts";
import { faultsOf } from "./validate.ts";

const byKind = (kind: string): ServedKind => {
  const type = workloadTypes.find((candidate) => candidate.kind === kind);
  if (type === undefined) throw new Error(`no workload type ${kind}`);
  return type;
};

/** The lists that Kubernetes merges by key in a strategic merge patch (`patchStrategy: merge` in its Go types). */
const podLists = [
  "containers",
  "ephemeralContainers",
  "hostAliases",
  "imagePullSecrets",
  "initContainers",
  "resourceClaims",
  "schedulingGates",
  "topologySpreadConstraints",
  "volumes",
].map((list) => `.spec.template.spec.${list}`);
const mergedByKey: Record<string, readonly string[]> = {
  Deployment: [...podLists, ".status.conditions"],
  StatefulSet: [...podLists, ".status.conditions"],
  DaemonSet: [...podLists, ".status.conditions"],
  ReplicaSet: [...podLists, ".status.conditions"],
  Job: [...podLists, ".status.conditions"],
  CronJob: podLists.map((path) => path.replace(".spec", ".spec.jobTemplate.spec")),
  Service: [".spec.ports", ".status.conditions"],
  PersistentVolumeClaim: [".status.conditions"],
  Ingress: [],
  HorizontalPodAutoscaler: [".status.conditions"],
};

/** The lists that Kubernetes replaces as a whole, so that a schema may describe them. */
const replacedWhole: Record<string, readonly string[]> = {
  Deployment: [".spec.selector.matchExpressions", ".spec.template.spec.tolerations"],
  StatefulSet: [".spec.selector.matchExpressions", ".spec.template.spec.tolerations", ".spec.volumeClaimTemplates"],
  DaemonSet: [".spec.selector.matchExpressions", ".spec.template.spec.tolerations"],
  ReplicaSet: [".spec.selector.matchExpressions", ".spec.template.spec.tolerations"],
  Job: [
    ".spec.podFailurePolicy.rules",
    ".spec.successPolicy.rules",
    ".spec.selector.matchExpressions",
    ".spec.template.spec.tolerations",
  ],
  CronJob: [
    ".spec.jobTemplate.spec.podFailurePolicy.rules",
    ".spec.jobTemplate.spec.successPolicy.rules",
    ".spec.jobTemplate.spec.selector.matchExpressions",
    ".spec.jobTemplate.spec.template.spec.tolerations",
    ".status.active",
  ],
  Service: [
    ".spec.clusterIPs",
    ".spec.externalIPs",
    ".spec.ipFamilies",
    ".spec.loadBalancerSourceRanges",
    ".status.loadBalancer.ingress",
  ],
  PersistentVolumeClaim: [".spec.accessModes", ".spec.selector.matchExpressions", ".status.accessModes"],
  Ingress: [".spec.rules", ".spec.tls", ".status.loadBalancer.ingress"],
  HorizontalPodAutoscaler: [
    ".spec.metrics",
    ".spec.behavior.scaleUp.policies",
    ".spec.behavior.scaleDown.policies",
    ".status.currentMetrics",
  ],
};

describe.each(workloadTypes.map((type) => [type.kind, type] as const))("the schema of a %s", (kind, type) => {
  const found = subSchemas(objectSchema(type));

  it("the schema describes no list that Kubernetes merges by key", () => {
    const described = new Set(found.map(({ path }) => path));
    expect(mergedByKey[kind]?.filter((path) => described.has(path))).toEqual([]);
  });

  it("the parent of a list that Kubernetes merges by key has properties without that list, so that kcp rejects a patch of it", () => {
    for (const path of mergedByKey[kind] ?? []) {
      const parent = path.slice(0, path.lastIndexOf("."));
      const around = found.find((subSchema) => subSchema.path === parent)?.schema;
      expect(Object.keys(around?.properties ?? {}), parent).not.toEqual([]);
    }
  });

  it("the schema describes only lists that Kubernetes replaces as a whole", () => {
    const lists = found.filter(({ path, schema }) => schema.type === "array" && !path.includes("[]"));
    expect(lists.map(({ path }) => path).toSorted()).toEqual(replacedWhole[kind]?.toSorted());
    for (const { schema } of lists) expect(schema["x-kubernetes-list-type"]).toBe("atomic");
  });

  it("every field below spec and status has a type, because kcp replaces a field without one as a whole", () => {
    const untyped = found.filter(({ schema }) => schema.type === undefined && !schema["x-kubernetes-int-or-string"]);
    expect(untyped).toEqual([]);
  });

  it("the schema preserves unknown fields everywhere", () => {
    const isClosed = ({ path, schema }: { path: string; schema: OpenApiSchema }) =>
      /^\.(spec|status)/.test(path) &&
      schema.type === "object" &&
      schema.additionalProperties === undefined &&
      schema["x-kubernetes-preserve-unknown-fields"] !== true;
    expect(found.filter(isClosed)).toEqual([]);
  });

  it("description and warning name the remedy if kcp rejects patches of kubectl", () => {
    const refusedInSpec = (mergedByKey[kind] ?? []).some((path) => path.startsWith(".spec"));
    expect(type.spec.description?.includes("--server-side")).toBe(refusedInSpec);
    expect(type.warning?.includes("kubectl apply --server-side") ?? false).toBe(refusedInSpec);
    // Requirements of the server for a warning.
    expect(type.warning ?? "").toMatch(/^[\x20-\x7e]{0,256}$/);
  });
});

describe("workload types", () => {
  it("workload types have the short names of Kubernetes", () => {
    const names = workloadTypes.map((type) => `${type.shortNames.join()} ${type.plural}.${type.group} ${type.version}`);
    expect(names).toEqual([
      "deploy deployments.apps v1",
      "sts statefulsets.apps v1",
      "ds daemonsets.apps v1",
      "rs replicasets.apps v1",
      " jobs.batch v1",
      "cj cronjobs.batch v1",
      "svc services. v1",
      "pvc persistentvolumeclaims. v1",
      "ing ingresses.networking.k8s.io v1",
      "hpa horizontalpodautoscalers.autoscaling v2",
    ]);
  });

  it("workload types have a scale subresource as in Kubernetes, and a default for replicas", () => {
    const scalable = workloadTypes.filter((type) => type.scale !== undefined);
    expect(scalable.map((type) => type.kind)).toEqual(["Deployment", "StatefulSet", "ReplicaSet"]);
    for (const type of scalable) expect(type.spec.properties?.replicas?.default).toBe(1);
  });

  const bad: Record<string, readonly [string, object, string]> = {
    "a Deployment without a template": [
      "Deployment",
      { selector: {} },
      ".spec: must have required property 'template'",
    ],
    "a negative number of replicas": ["Deployment", { selector: {}, template: {}, replicas: -1 }, ".spec.replicas"],
    "replicas that are not a number": ["StatefulSet", { selector: {}, template: {}, replicas: "2" }, ".spec.replicas"],
    "a CronJob without a schedule": ["CronJob", { jobTemplate: {} }, ".spec: must have required property 'schedule'"],
    "a claim without resources": [
      "PersistentVolumeClaim",
      { accessModes: [] },
      ".spec: must have required property 'resources'",
    ],
    "an autoscaler without a target": ["HorizontalPodAutoscaler", { maxReplicas: 2 }, ".spec: must have"],
  };
  it.each(Object.entries(bad))("the schema rejects %s", (_, [kind, spec, fault]) => {
    expect(faultsOf(byKind(kind), { spec }).filter((found) => found.startsWith(fault))).not.toEqual([]);
  });
});
