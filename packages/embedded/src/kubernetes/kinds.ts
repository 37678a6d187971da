import type { KubeObject, ObjectMeta, OwnerReference } from "@tmc/kube/kube-object.ts";
import type { LabelSelectorObject } from "@tmc/kube/selector.ts";

/** Metadata of a stored object. */
export type StoredMeta = ObjectMeta & { name: string; uid: string; creationTimestamp: string };
type Stored<Spec, State> = KubeObject & { metadata: StoredMeta; spec: Spec; status?: State };

export type ObjectCondition = {
  type: string;
  status: "True" | "False" | "Unknown";
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
  lastUpdateTime?: string;
  lastProbeTime?: string | null;
  lastHeartbeatTime?: string;
  observedGeneration?: number;
};

export type Container = {
  name: string;
  image?: string;
  ports?: { containerPort: number; protocol?: string; name?: string; hostPort?: number }[];
  resources?: { requests?: Record<string, string | number>; limits?: Record<string, string | number> };
  env?: { name: string; [field: string]: unknown }[];
  [field: string]: unknown;
};
export type Toleration = {
  key?: string;
  operator?: string;
  value?: string;
  effect?: string;
  tolerationSeconds?: number;
};
type NodeSelectorRequirement = { key: string; operator: string; values?: string[] };
export type NodeSelectorTerm = {
  matchExpressions?: NodeSelectorRequirement[];
  matchFields?: NodeSelectorRequirement[];
};
export type PodSpec = {
  containers: Container[];
  initContainers?: Container[];
  nodeName?: string;
  nodeSelector?: Record<string, string>;
  affinity?: {
    nodeAffinity?: { requiredDuringSchedulingIgnoredDuringExecution?: { nodeSelectorTerms: NodeSelectorTerm[] } };
    [field: string]: unknown;
  };
  tolerations?: Toleration[];
  restartPolicy?: string;
  serviceAccountName?: string;
  schedulerName?: string;
  terminationGracePeriodSeconds?: number;
  hostname?: string;
  subdomain?: string;
  hostNetwork?: boolean;
  volumes?: { name: string; persistentVolumeClaim?: { claimName: string }; [field: string]: unknown }[];
  [field: string]: unknown;
};
export type PodTemplate = { metadata?: ObjectMeta; spec: PodSpec };
export type ContainerState = {
  waiting?: { reason: string; message?: string };
  running?: { startedAt: string };
  terminated?: { exitCode: number; reason: string; startedAt?: string; finishedAt: string; containerID?: string };
};
export type ContainerStatus = {
  name: string;
  image: string;
  imageID: string;
  containerID?: string;
  ready: boolean;
  started?: boolean;
  restartCount: number;
  state: ContainerState;
  lastState: ContainerState;
};
export type PodStatus = {
  phase?: "Pending" | "Running" | "Succeeded" | "Failed";
  conditions?: ObjectCondition[];
  containerStatuses?: ContainerStatus[];
  podIP?: string;
  podIPs?: { ip: string }[];
  hostIP?: string;
  hostIPs?: { ip: string }[];
  startTime?: string;
  qosClass?: string;
  observedGeneration?: number;
  reason?: string;
  message?: string;
};
export type Pod = Stored<PodSpec, PodStatus>;

export type Taint = { key: string; value?: string; effect: string; timeAdded?: string };
export type Node = Stored<
  { unschedulable?: boolean; taints?: Taint[]; podCIDR?: string },
  {
    allocatable?: Record<string, string | number>;
    capacity?: Record<string, string | number>;
    conditions?: ObjectCondition[];
    addresses?: { type: string; address: string }[];
    [field: string]: unknown;
  }
>;

export type IntOrString = number | string;
export type DeploymentStatus = {
  observedGeneration?: number;
  replicas?: number;
  updatedReplicas?: number;
  readyReplicas?: number;
  availableReplicas?: number;
  unavailableReplicas?: number;
  terminatingReplicas?: number;
  conditions?: ObjectCondition[];
  collisionCount?: number;
};
export type Deployment = Stored<
  {
    replicas?: number;
    selector: LabelSelectorObject;
    template: PodTemplate;
    strategy?: { type?: string; rollingUpdate?: { maxSurge?: IntOrString; maxUnavailable?: IntOrString } };
    minReadySeconds?: number;
    progressDeadlineSeconds?: number;
    revisionHistoryLimit?: number;
    paused?: boolean;
  },
  DeploymentStatus
>;
export type ReplicaSetStatus = {
  replicas: number;
  fullyLabeledReplicas?: number;
  readyReplicas?: number;
  availableReplicas?: number;
  terminatingReplicas?: number;
  observedGeneration?: number;
  conditions?: ObjectCondition[];
};
export type ReplicaSet = Stored<
  { replicas?: number; selector: LabelSelectorObject; template: PodTemplate; minReadySeconds?: number },
  ReplicaSetStatus
>;
export type StatefulSetStatus = {
  observedGeneration?: number;
  replicas: number;
  readyReplicas?: number;
  currentReplicas?: number;
  updatedReplicas?: number;
  availableReplicas: number;
  currentRevision?: string;
  updateRevision?: string;
  collisionCount?: number;
};
export type ClaimTemplate = { metadata: ObjectMeta; spec: ClaimSpec };
export type StatefulSet = Stored<
  {
    replicas?: number;
    selector: LabelSelectorObject;
    template: PodTemplate;
    serviceName?: string;
    volumeClaimTemplates?: ClaimTemplate[];
    podManagementPolicy?: string;
    updateStrategy?: { type?: string; rollingUpdate?: { partition?: number } };
    minReadySeconds?: number;
    revisionHistoryLimit?: number;
    ordinals?: { start?: number };
    persistentVolumeClaimRetentionPolicy?: { whenDeleted?: string; whenScaled?: string };
  },
  StatefulSetStatus
>;
export type DaemonSetStatus = {
  currentNumberScheduled: number;
  numberMisscheduled: number;
  desiredNumberScheduled: number;
  numberReady: number;
  observedGeneration?: number;
  updatedNumberScheduled?: number;
  numberAvailable?: number;
  numberUnavailable?: number;
};
export type DaemonSet = Stored<
  {
    selector: LabelSelectorObject;
    template: PodTemplate;
    updateStrategy?: { type?: string; rollingUpdate?: { maxUnavailable?: IntOrString } };
    minReadySeconds?: number;
    revisionHistoryLimit?: number;
  },
  DaemonSetStatus
>;
export type ControllerRevision = KubeObject & {
  metadata: StoredMeta;
  revision: number;
  data?: { spec?: { template?: PodTemplate & { $patch?: string } } };
};

export type JobSpec = {
  parallelism?: number;
  completions?: number;
  backoffLimit?: number;
  activeDeadlineSeconds?: number;
  ttlSecondsAfterFinished?: number;
  suspend?: boolean;
  completionMode?: string;
  selector?: LabelSelectorObject;
  template: PodTemplate;
};
export type JobStatus = {
  active?: number;
  ready?: number;
  succeeded?: number;
  failed?: number;
  terminating?: number;
  completedIndexes?: string;
  startTime?: string;
  completionTime?: string;
  conditions?: ObjectCondition[];
  uncountedTerminatedPods?: Record<string, never>;
};
export type Job = Stored<JobSpec, JobStatus>;
export type ObjectReference = {
  apiVersion: string;
  kind: string;
  namespace?: string;
  name: string;
  uid: string;
  resourceVersion?: string;
};
export type CronJobStatus = { active?: ObjectReference[]; lastScheduleTime?: string; lastSuccessfulTime?: string };
export type CronJob = Stored<
  {
    schedule: string;
    timeZone?: string;
    suspend?: boolean;
    concurrencyPolicy?: string;
    startingDeadlineSeconds?: number;
    successfulJobsHistoryLimit?: number;
    failedJobsHistoryLimit?: number;
    jobTemplate: { metadata?: ObjectMeta; spec: JobSpec };
  },
  CronJobStatus
>;

export type ServicePort = {
  name?: string;
  port: number;
  protocol?: string;
  targetPort?: IntOrString;
  nodePort?: number;
  appProtocol?: string;
};
export type LoadBalancerStatus = {
  loadBalancer?: { ingress?: { ip?: string; hostname?: string; ipMode?: string }[] };
  conditions?: ObjectCondition[];
};
export type Service = Stored<
  {
    type?: string;
    selector?: Record<string, string>;
    ports?: ServicePort[];
    clusterIP?: string;
    clusterIPs?: string[];
    allocateLoadBalancerNodePorts?: boolean;
    loadBalancerIP?: string;
    loadBalancerClass?: string;
    publishNotReadyAddresses?: boolean;
    [field: string]: unknown;
  },
  LoadBalancerStatus
>;
export type Endpoints = KubeObject & { metadata: StoredMeta; subsets?: unknown[] };
export type EndpointSlice = KubeObject & {
  metadata: StoredMeta;
  addressType: string;
  endpoints: unknown[];
  ports?: unknown[];
};
export type Ingress = Stored<{ ingressClassName?: string; [field: string]: unknown }, LoadBalancerStatus>;

export type ClaimSpec = {
  accessModes?: string[];
  storageClassName?: string;
  volumeName?: string;
  volumeMode?: string;
  resources?: { requests?: Record<string, string | number> };
  [field: string]: unknown;
};
export type PersistentVolumeClaim = Stored<
  ClaimSpec,
  { phase?: string; accessModes?: string[]; capacity?: Record<string, string | number> }
>;
export type PersistentVolume = Stored<
  {
    claimRef?: ObjectReference;
    persistentVolumeReclaimPolicy?: string;
    storageClassName?: string;
    accessModes?: string[];
    capacity?: Record<string, string | number>;
    [field: string]: unknown;
  },
  { phase?: string; lastPhaseTransitionTime?: string }
>;
export type StorageClass = KubeObject & {
  metadata: StoredMeta;
  provisioner: string;
  reclaimPolicy?: string;
  volumeBindingMode?: string;
};

export type HorizontalPodAutoscaler = Stored<
  {
    scaleTargetRef: { apiVersion?: string; kind: string; name: string };
    minReplicas?: number;
    maxReplicas: number;
    metrics?: { type: string; resource?: { name: string } }[];
  },
  { currentReplicas?: number; desiredReplicas: number; conditions?: ObjectCondition[]; observedGeneration?: number }
>;
export type PodDisruptionBudget = Stored<
  { minAvailable?: IntOrString; maxUnavailable?: IntOrString; selector?: LabelSelectorObject },
  {
    observedGeneration?: number;
    disruptionsAllowed: number;
    currentHealthy: number;
    desiredHealthy: number;
    expectedPods: number;
    conditions?: ObjectCondition[];
  }
>;
export type Namespace = Stored<{ finalizers?: string[] }, { phase?: string }>;
type Plain = KubeObject & { metadata: StoredMeta };

/** Every type that the cluster's controllers read or write, by plural. */
export interface Kinds {
  pods: Pod;
  nodes: Node;
  namespaces: Namespace;
  services: Service;
  endpoints: Endpoints;
  configmaps: Plain;
  serviceaccounts: Plain;
  events: Plain;
  persistentvolumes: PersistentVolume;
  persistentvolumeclaims: PersistentVolumeClaim;
  deployments: Deployment;
  replicasets: ReplicaSet;
  statefulsets: StatefulSet;
  daemonsets: DaemonSet;
  controllerrevisions: ControllerRevision;
  jobs: Job;
  cronjobs: CronJob;
  endpointslices: EndpointSlice;
  ingresses: Ingress;
  horizontalpodautoscalers: HorizontalPodAutoscaler;
  poddisruptionbudgets: PodDisruptionBudget;
  storageclasses: StorageClass;
}
export type Resource = keyof Kinds;

export const servedAt: Readonly<Record<Resource, Readonly<{ group: string; version: string }>>> = {
  pods: { group: "", version: "v1" },
  nodes: { group: "", version: "v1" },
  namespaces: { group: "", version: "v1" },
  services: { group: "", version: "v1" },
  endpoints: { group: "", version: "v1" },
  configmaps: { group: "", version: "v1" },
  serviceaccounts: { group: "", version: "v1" },
  events: { group: "", version: "v1" },
  persistentvolumes: { group: "", version: "v1" },
  persistentvolumeclaims: { group: "", version: "v1" },
  deployments: { group: "apps", version: "v1" },
  replicasets: { group: "apps", version: "v1" },
  statefulsets: { group: "apps", version: "v1" },
  daemonsets: { group: "apps", version: "v1" },
  controllerrevisions: { group: "apps", version: "v1" },
  jobs: { group: "batch", version: "v1" },
  cronjobs: { group: "batch", version: "v1" },
  endpointslices: { group: "discovery.k8s.io", version: "v1" },
  ingresses: { group: "networking.k8s.io", version: "v1" },
  horizontalpodautoscalers: { group: "autoscaling", version: "v2" },
  poddisruptionbudgets: { group: "policy", version: "v1" },
  storageclasses: { group: "storage.k8s.io", version: "v1" },
};

/** The owner reference that a controller sets on objects it creates. */
export function controllerReference(owner: KubeObject & { metadata: StoredMeta }): OwnerReference {
  return {
    apiVersion: owner.apiVersion,
    kind: owner.kind,
    name: owner.metadata.name,
    uid: owner.metadata.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

/** The uid of an object's controller, if any. */
export function controllerOf(object: KubeObject): string | undefined {
  return object.metadata.ownerReferences?.find((reference) => reference.controller === true)?.uid;
}

/** Formats a timestamp with whole seconds. */
export const formatTime = (ms: number): string =>
  new Date(Math.floor(ms / 1000) * 1000).toISOString().replace(".000", "");

export const parseTime = (text: string): number => Date.parse(text);
