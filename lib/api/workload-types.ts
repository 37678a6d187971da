import type { Column, ScalePaths, ServedKind } from "./kind.ts";
import {
  anyObject,
  boolean,
  count,
  int32,
  int64,
  intOrString,
  labelSelector,
  moment,
  open,
  podTemplate,
  quantityMap,
  string,
  stringMap,
  templateOf,
  wholeList,
} from "./open-schema.ts";
import type { OpenApiSchema } from "./schema.ts";

type Fields = Readonly<Record<string, OpenApiSchema>>;

const age: Column = { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" };
const integer = (name: string, jsonPath: string, rest: Partial<Column> = {}): Column => ({
  name,
  type: "integer",
  jsonPath,
  ...rest,
});
const words = (name: string, jsonPath: string, rest: Partial<Column> = {}): Column => ({
  name,
  type: "string",
  jsonPath,
  ...rest,
});

const scale = { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" };
/** As Kubernetes has it; and kcp answers no scale request for an object without the field. */
const replicas: OpenApiSchema = { ...count, default: 1 };

const podLists = "lists of the pod template (containers, volumes ...)";

type Definition = Pick<ServedKind, "group" | "version" | "kind" | "plural"> &
  Readonly<{
    short?: string;
    /** Whether `kubectl get all` shows it on a Kubernetes cluster. */
    inAll: boolean;
    scale?: ScalePaths;
    /** The lists that only a server-side apply can change. */
    mergedLists?: string;
    columns: readonly Column[];
    required?: readonly string[];
    spec: Fields;
    status: Fields;
  }>;

function workloadType(definition: Definition): ServedKind {
  const { short, inAll, mergedLists, required, spec, status, columns, ...names } = definition;
  const { kind } = names;
  const hint =
    mergedLists === undefined ? "" : ` Apply with --server-side: other patches of ${mergedLists} are refused.`;
  return {
    ...names,
    // kcp's own message names the field that it could not merge, and not the way out.
    ...(mergedLists === undefined
      ? {}
      : { warning: `use "kubectl apply --server-side" to change ${mergedLists}; kcp refuses other patches of them` }),
    singular: kind.toLowerCase(),
    shortNames: short === undefined ? [] : [short],
    categories: inAll ? ["all"] : [],
    scope: "Namespaced",
    description: `${kind} as Kubernetes has it. TMC runs it on the clusters that a WorkloadPlacement chooses.`,
    columns: [...columns, age],
    spec: open(spec, {
      description: `The wanted state, with every field of a Kubernetes ${kind}: those not described here are kept as they are and checked by the cluster that runs it.${hint}`,
      ...(required === undefined ? {} : { required }),
    }),
    status: open(status, { description: "The state on the clusters that run it, brought together by TMC." }),
  };
}

const deployment = workloadType({
  group: "apps",
  version: "v1",
  kind: "Deployment",
  plural: "deployments",
  mergedLists: podLists,
  short: "deploy",
  inAll: true,
  scale,
  columns: [
    integer("Desired", ".spec.replicas"),
    integer("Ready", ".status.readyReplicas"),
    integer("Up-to-date", ".status.updatedReplicas"),
    integer("Available", ".status.availableReplicas"),
  ],
  required: ["selector", "template"],
  spec: {
    replicas,
    paused: boolean,
    minReadySeconds: count,
    progressDeadlineSeconds: int32,
    revisionHistoryLimit: count,
    selector: labelSelector,
    strategy: open({ type: string, rollingUpdate: open({ maxSurge: intOrString, maxUnavailable: intOrString }) }),
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
  short: "sts",
  inAll: true,
  scale,
  columns: [integer("Desired", ".spec.replicas"), integer("Ready", ".status.readyReplicas")],
  required: ["selector", "template"],
  spec: {
    replicas,
    minReadySeconds: count,
    podManagementPolicy: string,
    revisionHistoryLimit: count,
    serviceName: string,
    selector: labelSelector,
    ordinals: open({ start: count }),
    persistentVolumeClaimRetentionPolicy: open({ whenDeleted: string, whenScaled: string }),
    updateStrategy: open({ type: string, rollingUpdate: open({ partition: int32, maxUnavailable: intOrString }) }),
    template: podTemplate,
    volumeClaimTemplates: wholeList(anyObject),
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
  short: "ds",
  inAll: true,
  columns: [
    integer("Desired", ".status.desiredNumberScheduled"),
    integer("Current", ".status.currentNumberScheduled"),
    integer("Ready", ".status.numberReady"),
    integer("Up-to-date", ".status.updatedNumberScheduled"),
    integer("Available", ".status.numberAvailable"),
  ],
  required: ["selector", "template"],
  spec: {
    minReadySeconds: count,
    revisionHistoryLimit: count,
    selector: labelSelector,
    updateStrategy: open({ type: string, rollingUpdate: open({ maxSurge: intOrString, maxUnavailable: intOrString }) }),
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
  short: "rs",
  inAll: true,
  scale,
  columns: [
    integer("Desired", ".spec.replicas"),
    integer("Current", ".status.replicas"),
    integer("Ready", ".status.readyReplicas"),
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
  podFailurePolicy: open({ rules: wholeList(anyObject) }),
  successPolicy: open({ rules: wholeList(anyObject) }),
  selector: labelSelector,
  template: podTemplate,
};

const job = workloadType({
  group: "batch",
  version: "v1",
  kind: "Job",
  plural: "jobs",
  mergedLists: podLists,
  inAll: true,
  columns: [
    integer("Completions", ".spec.completions"),
    integer("Active", ".status.active"),
    integer("Succeeded", ".status.succeeded"),
    integer("Failed", ".status.failed"),
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
    startTime: moment,
    completionTime: moment,
  },
});

const cronJob = workloadType({
  group: "batch",
  version: "v1",
  kind: "CronJob",
  plural: "cronjobs",
  mergedLists: podLists,
  short: "cj",
  inAll: true,
  columns: [
    words("Schedule", ".spec.schedule"),
    words("Timezone", ".spec.timeZone"),
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
    jobTemplate: templateOf(open(jobSpec)),
  },
  status: { active: wholeList(anyObject), lastScheduleTime: moment, lastSuccessfulTime: moment },
});

const service = workloadType({
  group: "",
  version: "v1",
  kind: "Service",
  plural: "services",
  mergedLists: "ports",
  short: "svc",
  inAll: true,
  columns: [
    words("Type", ".spec.type"),
    words("Cluster-IP", ".spec.clusterIP"),
    words("External-IP", ".status.loadBalancer.ingress[*].ip", { description: "The first address." }),
    integer("Port", ".spec.ports[*].port", { description: "The first port." }),
  ],
  spec: {
    type: string,
    clusterIP: string,
    clusterIPs: wholeList(string),
    externalIPs: wholeList(string),
    externalName: string,
    externalTrafficPolicy: string,
    internalTrafficPolicy: string,
    trafficDistribution: string,
    ipFamilies: wholeList(string),
    ipFamilyPolicy: string,
    allocateLoadBalancerNodePorts: boolean,
    healthCheckNodePort: int32,
    loadBalancerClass: string,
    loadBalancerIP: string,
    loadBalancerSourceRanges: wholeList(string),
    publishNotReadyAddresses: boolean,
    selector: { ...stringMap, "x-kubernetes-map-type": "atomic" },
    sessionAffinity: string,
    sessionAffinityConfig: open({ clientIP: open({ timeoutSeconds: int32 }) }),
  },
  status: { loadBalancer: open({ ingress: wholeList(anyObject) }) },
});

const persistentVolumeClaim = workloadType({
  group: "",
  version: "v1",
  kind: "PersistentVolumeClaim",
  plural: "persistentvolumeclaims",
  short: "pvc",
  inAll: false,
  columns: [
    words("Status", ".status.phase"),
    words("Volume", ".spec.volumeName"),
    words("Capacity", ".status.capacity.storage"),
    words("Access Modes", ".spec.accessModes"),
    words("StorageClass", ".spec.storageClassName"),
  ],
  required: ["accessModes", "resources"],
  spec: {
    accessModes: wholeList(string),
    storageClassName: string,
    volumeAttributesClassName: string,
    volumeMode: string,
    volumeName: string,
    resources: open({ requests: quantityMap, limits: quantityMap }),
    selector: labelSelector,
    dataSource: open({ apiGroup: string, kind: string, name: string }, { "x-kubernetes-map-type": "atomic" }),
    dataSourceRef: open({ apiGroup: string, kind: string, name: string, namespace: string }),
  },
  status: {
    phase: string,
    accessModes: wholeList(string),
    capacity: quantityMap,
    allocatedResources: quantityMap,
    currentVolumeAttributesClassName: string,
  },
});

const backend = open({
  service: open({ name: string, port: open({ name: string, number: int32 }, { "x-kubernetes-map-type": "atomic" }) }),
  resource: open({ apiGroup: string, kind: string, name: string }, { "x-kubernetes-map-type": "atomic" }),
});

const ingress = workloadType({
  group: "networking.k8s.io",
  version: "v1",
  kind: "Ingress",
  plural: "ingresses",
  short: "ing",
  inAll: false,
  columns: [
    words("Class", ".spec.ingressClassName"),
    words("Host", ".spec.rules[*].host", { description: "The first host." }),
    words("Address", ".status.loadBalancer.ingress[*].ip", { description: "The first address." }),
  ],
  spec: {
    ingressClassName: string,
    defaultBackend: backend,
    rules: wholeList(anyObject),
    tls: wholeList(anyObject),
  },
  status: { loadBalancer: open({ ingress: wholeList(anyObject) }) },
});

const scalingRules = open({
  stabilizationWindowSeconds: int32,
  selectPolicy: string,
  tolerance: intOrString,
  policies: wholeList(anyObject),
});

const horizontalPodAutoscaler = workloadType({
  group: "autoscaling",
  version: "v2",
  kind: "HorizontalPodAutoscaler",
  plural: "horizontalpodautoscalers",
  short: "hpa",
  inAll: true,
  columns: [
    words("Reference", ".spec.scaleTargetRef.name"),
    integer("MinPods", ".spec.minReplicas"),
    integer("MaxPods", ".spec.maxReplicas"),
    integer("Replicas", ".status.currentReplicas"),
  ],
  required: ["scaleTargetRef", "maxReplicas"],
  spec: {
    minReplicas: count,
    maxReplicas: { ...int32, minimum: 1 },
    scaleTargetRef: open({ apiVersion: string, kind: string, name: string }, { required: ["kind", "name"] }),
    metrics: wholeList(anyObject),
    behavior: open({ scaleUp: scalingRules, scaleDown: scalingRules }),
  },
  status: {
    observedGeneration: int64,
    lastScaleTime: moment,
    currentReplicas: int32,
    desiredReplicas: int32,
    currentMetrics: wholeList(anyObject),
  },
});

/** The types of Kubernetes that kcp does not serve by itself and that our export therefore carries. */
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
