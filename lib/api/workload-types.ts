import type { Column, ScalePaths, ServedKind } from "./kind.ts";
import {
  anyObject,
  atomicList,
  boolean,
  count,
  dateTime,
  int32,
  int64,
  intOrString,
  labelSelector,
  openObject,
  podTemplate,
  quantityMap,
  string,
  stringMap,
  templateSchema,
} from "./open-schema.ts";
import type { OpenApiSchema } from "./schema.ts";

type Fields = Readonly<Record<string, OpenApiSchema>>;

const age: Column = { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" };
const integerColumn = (name: string, jsonPath: string, rest: Partial<Column> = {}): Column => ({
  name,
  type: "integer",
  jsonPath,
  ...rest,
});
const stringColumn = (name: string, jsonPath: string, rest: Partial<Column> = {}): Column => ({
  name,
  type: "string",
  jsonPath,
  ...rest,
});

const scale = { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" };
/** The default is that of Kubernetes, and kcp's scale subresource fails for an object without the field. */
const replicas: OpenApiSchema = { ...count, default: 1 };

const podLists = "lists of the pod template (containers, volumes ...)";

type Definition = Pick<ServedKind, "group" | "version" | "kind" | "plural"> &
  Readonly<{
    shortName?: string;
    /** Whether the type is in the category `all`, as on a Kubernetes cluster. */
    isInCategoryAll: boolean;
    scale?: ScalePaths;
    /** Lists that only server-side apply can change, for the warning. */
    mergedLists?: string;
    columns: readonly Column[];
    required?: readonly string[];
    spec: Fields;
    status: Fields;
  }>;

function workloadType(definition: Definition): ServedKind {
  const { shortName, isInCategoryAll, mergedLists, required, spec, status, columns, ...names } = definition;
  const { kind } = names;
  const hint =
    mergedLists === undefined
      ? ""
      : ` Use kubectl apply --server-side: the server rejects other patches of ${mergedLists}.`;
  return {
    ...names,
    // kcp's error names the field that it could not merge, but not the remedy.
    ...(mergedLists === undefined
      ? {}
      : { warning: `use "kubectl apply --server-side" to change ${mergedLists}; kcp rejects other patches of them` }),
    singular: kind.toLowerCase(),
    shortNames: shortName === undefined ? [] : [shortName],
    categories: isInCategoryAll ? ["all"] : [],
    scope: "Namespaced",
    description: `${kind} is a Kubernetes ${kind}. TMC syncs it to the clusters that a WorkloadPlacement selects.`,
    columns: [...columns, age],
    spec: openObject(spec, {
      description: `Desired state. Accepts every field of a Kubernetes ${kind}; the clusters that run it validate the fields that are not described here.${hint}`,
      ...(required === undefined ? {} : { required }),
    }),
    status: openObject(status, {
      description: "Status of the clusters that run the object, combined into one. Written by TMC.",
    }),
  };
}

const deployment = workloadType({
  group: "apps",
  version: "v1",
  kind: "Deployment",
  plural: "deployments",
  mergedLists: podLists,
  shortName: "deploy",
  isInCategoryAll: true,
  scale,
  columns: [
    integerColumn("Desired", ".spec.replicas"),
    integerColumn("Ready", ".status.readyReplicas"),
    integerColumn("Up-to-date", ".status.updatedReplicas"),
    integerColumn("Available", ".status.availableReplicas"),
  ],
  required: ["selector", "template"],
  spec: {
    replicas,
    paused: boolean,
    minReadySeconds: count,
    progressDeadlineSeconds: int32,
    revisionHistoryLimit: count,
    selector: labelSelector,
    strategy: openObject({
      type: string,
      rollingUpdate: openObject({ maxSurge: intOrString, maxUnavailable: intOrString }),
    }),
    template: podTemplate,
  },
  status: {
    observedGeneration: int64,
    replicas: int32,
    updatedReplicas: int32,
    readyReplicas: int32,
    availableReplicas: int32,
    unavailableReplicas: int32,
    terminatingReplicas: int32,
    collisionCount: int32,
  },
});

const statefulSet = workloadType({
  group: "apps",
  version: "v1",
  kind: "StatefulSet",
  plural: "statefulsets",
  mergedLists: podLists,
  shortName: "sts",
  isInCategoryAll: true,
  scale,
  columns: [integerColumn("Desired", ".spec.replicas"), integerColumn("Ready", ".status.readyReplicas")],
  required: ["selector", "template"],
  spec: {
    replicas,
    minReadySeconds: count,
    podManagementPolicy: string,
    revisionHistoryLimit: count,
    serviceName: string,
    selector: labelSelector,
    ordinals: openObject({ start: count }),
    persistentVolumeClaimRetentionPolicy: openObject({ whenDeleted: string, whenScaled: string }),
    updateStrategy: openObject({
      type: string,
      rollingUpdate: openObject({ partition: int32, maxUnavailable: intOrString }),
    }),
    template: podTemplate,
    volumeClaimTemplates: atomicList(anyObject),
  },
  status: {
    observedGeneration: int64,
    replicas: int32,
    readyReplicas: int32,
    currentReplicas: int32,
    updatedReplicas: int32,
    availableReplicas: int32,
    currentRevision: string,
    updateRevision: string,
    collisionCount: int32,
  },
});

const daemonSet = workloadType({
  group: "apps",
  version: "v1",
  kind: "DaemonSet",
  plural: "daemonsets",
  mergedLists: podLists,
  shortName: "ds",
  isInCategoryAll: true,
  columns: [
    integerColumn("Desired", ".status.desiredNumberScheduled"),
    integerColumn("Current", ".status.currentNumberScheduled"),
    integerColumn("Ready", ".status.numberReady"),
    integerColumn("Up-to-date", ".status.updatedNumberScheduled"),
    integerColumn("Available", ".status.numberAvailable"),
  ],
  required: ["selector", "template"],
  spec: {
    minReadySeconds: count,
    revisionHistoryLimit: count,
    selector: labelSelector,
    updateStrategy: openObject({
      type: string,
      rollingUpdate: openObject({ maxSurge: intOrString, maxUnavailable: intOrString }),
    }),
    template: podTemplate,
  },
  status: {
    observedGeneration: int64,
    currentNumberScheduled: int32,
    desiredNumberScheduled: int32,
    numberMisscheduled: int32,
    numberReady: int32,
    updatedNumberScheduled: int32,
    numberAvailable: int32,
    numberUnavailable: int32,
    collisionCount: int32,
  },
});

const replicaSet = workloadType({
  group: "apps",
  version: "v1",
  kind: "ReplicaSet",
  plural: "replicasets",
  mergedLists: podLists,
  shortName: "rs",
  isInCategoryAll: true,
  scale,
  columns: [
    integerColumn("Desired", ".spec.replicas"),
    integerColumn("Current", ".status.replicas"),
    integerColumn("Ready", ".status.readyReplicas"),
  ],
  required: ["selector"],
  spec: { replicas, minReadySeconds: count, selector: labelSelector, template: podTemplate },
  status: {
    observedGeneration: int64,
    replicas: int32,
    fullyLabeledReplicas: int32,
    readyReplicas: int32,
    availableReplicas: int32,
    terminatingReplicas: int32,
  },
});

const jobSpec: Fields = {
  activeDeadlineSeconds: int64,
  backoffLimit: count,
  backoffLimitPerIndex: count,
  completionMode: string,
  completions: count,
  managedBy: string,
  manualSelector: boolean,
  maxFailedIndexes: count,
  parallelism: count,
  podReplacementPolicy: string,
  suspend: boolean,
  ttlSecondsAfterFinished: count,
  podFailurePolicy: openObject({ rules: atomicList(anyObject) }),
  successPolicy: openObject({ rules: atomicList(anyObject) }),
  selector: labelSelector,
  template: podTemplate,
};

const job = workloadType({
  group: "batch",
  version: "v1",
  kind: "Job",
  plural: "jobs",
  mergedLists: podLists,
  isInCategoryAll: true,
  columns: [
    integerColumn("Completions", ".spec.completions"),
    integerColumn("Active", ".status.active"),
    integerColumn("Succeeded", ".status.succeeded"),
    integerColumn("Failed", ".status.failed"),
  ],
  required: ["template"],
  spec: jobSpec,
  status: {
    active: int32,
    ready: int32,
    succeeded: int32,
    failed: int32,
    terminating: int32,
    completedIndexes: string,
    failedIndexes: string,
    startTime: dateTime,
    completionTime: dateTime,
  },
});

const cronJob = workloadType({
  group: "batch",
  version: "v1",
  kind: "CronJob",
  plural: "cronjobs",
  mergedLists: podLists,
  shortName: "cj",
  isInCategoryAll: true,
  columns: [
    stringColumn("Schedule", ".spec.schedule"),
    stringColumn("Timezone", ".spec.timeZone"),
    { name: "Suspend", type: "boolean", jsonPath: ".spec.suspend" },
    { name: "Last Schedule", type: "date", jsonPath: ".status.lastScheduleTime" },
  ],
  required: ["schedule", "jobTemplate"],
  spec: {
    schedule: { ...string, minLength: 1 },
    timeZone: string,
    concurrencyPolicy: string,
    suspend: boolean,
    startingDeadlineSeconds: int64,
    successfulJobsHistoryLimit: count,
    failedJobsHistoryLimit: count,
    jobTemplate: templateSchema(openObject(jobSpec)),
  },
  status: { active: atomicList(anyObject), lastScheduleTime: dateTime, lastSuccessfulTime: dateTime },
});

const service = workloadType({
  group: "",
  version: "v1",
  kind: "Service",
  plural: "services",
  mergedLists: "ports",
  shortName: "svc",
  isInCategoryAll: true,
  columns: [
    stringColumn("Type", ".spec.type"),
    stringColumn("Cluster-IP", ".spec.clusterIP"),
    stringColumn("External-IP", ".status.loadBalancer.ingress[*].ip", {
      description: "IP address of the first load balancer.",
    }),
    integerColumn("Port", ".spec.ports[*].port", { description: "Number of the first port." }),
  ],
  spec: {
    // kubectl prints the type. The protocol of a port cannot have its default here: `ports` must not be described.
    type: { ...string, default: "ClusterIP" },
    clusterIP: string,
    clusterIPs: atomicList(string),
    externalIPs: atomicList(string),
    externalName: string,
    externalTrafficPolicy: string,
    internalTrafficPolicy: string,
    trafficDistribution: string,
    ipFamilies: atomicList(string),
    ipFamilyPolicy: string,
    allocateLoadBalancerNodePorts: boolean,
    healthCheckNodePort: int32,
    loadBalancerClass: string,
    loadBalancerIP: string,
    loadBalancerSourceRanges: atomicList(string),
    publishNotReadyAddresses: boolean,
    selector: { ...stringMap, "x-kubernetes-map-type": "atomic" },
    sessionAffinity: string,
    sessionAffinityConfig: openObject({ clientIP: openObject({ timeoutSeconds: int32 }) }),
  },
  status: { loadBalancer: openObject({ ingress: atomicList(anyObject) }) },
});

const persistentVolumeClaim = workloadType({
  group: "",
  version: "v1",
  kind: "PersistentVolumeClaim",
  plural: "persistentvolumeclaims",
  shortName: "pvc",
  isInCategoryAll: false,
  columns: [
    stringColumn("Status", ".status.phase"),
    stringColumn("Volume", ".spec.volumeName"),
    stringColumn("Capacity", ".status.capacity.storage"),
    stringColumn("Access Modes", ".spec.accessModes"),
    stringColumn("StorageClass", ".spec.storageClassName"),
  ],
  required: ["accessModes", "resources"],
  spec: {
    accessModes: atomicList(string),
    storageClassName: string,
    volumeAttributesClassName: string,
    volumeMode: string,
    volumeName: string,
    resources: openObject({ requests: quantityMap, limits: quantityMap }),
    selector: labelSelector,
    dataSource: openObject({ apiGroup: string, kind: string, name: string }, { "x-kubernetes-map-type": "atomic" }),
    dataSourceRef: openObject({ apiGroup: string, kind: string, name: string, namespace: string }),
  },
  status: {
    phase: string,
    accessModes: atomicList(string),
    capacity: quantityMap,
    allocatedResources: quantityMap,
    currentVolumeAttributesClassName: string,
  },
});

const backend = openObject({
  service: openObject({
    name: string,
    port: openObject({ name: string, number: int32 }, { "x-kubernetes-map-type": "atomic" }),
  }),
  resource: openObject({ apiGroup: string, kind: string, name: string }, { "x-kubernetes-map-type": "atomic" }),
});

const ingress = workloadType({
  group: "networking.k8s.io",
  version: "v1",
  kind: "Ingress",
  plural: "ingresses",
  shortName: "ing",
  isInCategoryAll: false,
  columns: [
    stringColumn("Class", ".spec.ingressClassName"),
    stringColumn("Host", ".spec.rules[*].host", { description: "Host of the first rule." }),
    stringColumn("Address", ".status.loadBalancer.ingress[*].ip", {
      description: "IP address of the first load balancer.",
    }),
  ],
  spec: {
    ingressClassName: string,
    defaultBackend: backend,
    rules: atomicList(anyObject),
    tls: atomicList(anyObject),
  },
  status: { loadBalancer: openObject({ ingress: atomicList(anyObject) }) },
});

const scalingRules = openObject({
  stabilizationWindowSeconds: int32,
  selectPolicy: string,
  tolerance: intOrString,
  policies: atomicList(anyObject),
});

const horizontalPodAutoscaler = workloadType({
  group: "autoscaling",
  version: "v2",
  kind: "HorizontalPodAutoscaler",
  plural: "horizontalpodautoscalers",
  shortName: "hpa",
  isInCategoryAll: true,
  columns: [
    stringColumn("Reference", ".spec.scaleTargetRef.name"),
    integerColumn("MinPods", ".spec.minReplicas"),
    integerColumn("MaxPods", ".spec.maxReplicas"),
    integerColumn("Replicas", ".status.currentReplicas"),
  ],
  required: ["scaleTargetRef", "maxReplicas"],
  spec: {
    minReplicas: count,
    maxReplicas: { ...int32, minimum: 1 },
    scaleTargetRef: openObject({ apiVersion: string, kind: string, name: string }, { required: ["kind", "name"] }),
    metrics: atomicList(anyObject),
    behavior: openObject({ scaleUp: scalingRules, scaleDown: scalingRules }),
  },
  status: {
    observedGeneration: int64,
    lastScaleTime: dateTime,
    currentReplicas: int32,
    desiredReplicas: int32,
    currentMetrics: atomicList(anyObject),
  },
});

/** Built-in Kubernetes types that kcp does not serve; TMC's export serves them. */
export const workloadTypes: readonly ServedKind[] = [
  deployment,
  statefulSet,
  daemonSet,
  replicaSet,
  job,
  cronJob,
  service,
  persistentVolumeClaim,
  ingress,
  horizontalPodAutoscaler,
];
