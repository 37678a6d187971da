import type { JsonObject } from "@tmc/kube/kube-object.ts";

export type Sample = Readonly<{
  apiVersion: string;
  kind: string;
  spec?: JsonObject;
  /** The copy's own. */
  generation?: number;
  /** As a Kubernetes 1.36 writes it for something that is as it should be. */
  status?: JsonObject;
}>;

export const deployment: Sample = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  spec: { replicas: 3 },
  generation: 2,
  status: {
    observedGeneration: 2,
    replicas: 3,
    updatedReplicas: 3,
    readyReplicas: 3,
    availableReplicas: 3,
    terminatingReplicas: 0,
    conditions: [
      {
        type: "Available",
        status: "True",
        lastUpdateTime: "2026-03-01T10:00:05Z",
        lastTransitionTime: "2026-03-01T10:00:05Z",
        reason: "MinimumReplicasAvailable",
        message: "Deployment has minimum availability.",
      },
      {
        type: "Progressing",
        status: "True",
        lastUpdateTime: "2026-03-01T10:00:05Z",
        lastTransitionTime: "2026-03-01T10:00:00Z",
        reason: "NewReplicaSetAvailable",
        message: 'ReplicaSet "web-5d9f7b" has successfully progressed.',
      },
    ],
  },
};

export const statefulSet: Sample = {
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  spec: { replicas: 2 },
  generation: 1,
  status: {
    observedGeneration: 1,
    replicas: 2,
    readyReplicas: 2,
    currentReplicas: 2,
    updatedReplicas: 2,
    availableReplicas: 2,
    currentRevision: "db-6c7f",
    updateRevision: "db-6c7f",
  },
};

export const daemonSet: Sample = {
  apiVersion: "apps/v1",
  kind: "DaemonSet",
  spec: {},
  generation: 4,
  status: {
    observedGeneration: 4,
    currentNumberScheduled: 5,
    desiredNumberScheduled: 5,
    numberMisscheduled: 0,
    numberReady: 5,
    updatedNumberScheduled: 5,
    numberAvailable: 5,
  },
};

export const replicaSet: Sample = {
  apiVersion: "apps/v1",
  kind: "ReplicaSet",
  spec: { replicas: 2 },
  generation: 1,
  status: {
    observedGeneration: 1,
    replicas: 2,
    fullyLabeledReplicas: 2,
    readyReplicas: 2,
    availableReplicas: 2,
    terminatingReplicas: 0,
  },
};

export const job: Sample = {
  apiVersion: "batch/v1",
  kind: "Job",
  spec: { completions: 2, parallelism: 2 },
  generation: 1,
  status: {
    succeeded: 2,
    ready: 0,
    terminating: 0,
    startTime: "2026-03-01T10:00:00Z",
    completionTime: "2026-03-01T10:01:00Z",
    conditions: [
      {
        type: "SuccessCriteriaMet",
        status: "True",
        lastProbeTime: "2026-03-01T10:01:00Z",
        lastTransitionTime: "2026-03-01T10:01:00Z",
        reason: "CompletionsReached",
        message: "Reached expected number of succeeded pods",
      },
      {
        type: "Complete",
        status: "True",
        lastProbeTime: "2026-03-01T10:01:00Z",
        lastTransitionTime: "2026-03-01T10:01:00Z",
        reason: "CompletionsReached",
        message: "Reached expected number of succeeded pods",
      },
    ],
  },
};

export const runningJob: Sample = {
  ...job,
  status: { active: 2, ready: 2, terminating: 0, startTime: "2026-03-01T10:00:30Z" },
};

export const cronJob: Sample = {
  apiVersion: "batch/v1",
  kind: "CronJob",
  spec: { schedule: "*/5 * * * *" },
  generation: 1,
  status: {
    active: [{ apiVersion: "batch/v1", kind: "Job", name: "report-2", namespace: "tmc-shop-1", uid: "u2" }],
    lastScheduleTime: "2026-03-01T10:05:00Z",
    lastSuccessfulTime: "2026-03-01T10:00:20Z",
  },
};

export const service: Sample = {
  apiVersion: "v1",
  kind: "Service",
  spec: { type: "LoadBalancer" },
  status: { loadBalancer: { ingress: [{ ip: "203.0.113.7", ipMode: "VIP" }] } },
};

export const ingress: Sample = {
  apiVersion: "networking.k8s.io/v1",
  kind: "Ingress",
  spec: { ingressClassName: "nginx" },
  generation: 1,
  status: { loadBalancer: { ingress: [{ hostname: "lb-1.example.com", ports: [{ port: 443, protocol: "TCP" }] }] } },
};

export const claim: Sample = {
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  spec: { storageClassName: "standard", resources: { requests: { storage: "8Gi" } } },
  status: { phase: "Bound", accessModes: ["ReadWriteOnce"], capacity: { storage: "8Gi" } },
};

export const autoscaler: Sample = {
  apiVersion: "autoscaling/v2",
  kind: "HorizontalPodAutoscaler",
  spec: { maxReplicas: 10 },
  status: {
    lastScaleTime: "2026-03-01T10:00:00Z",
    currentReplicas: 3,
    desiredReplicas: 3,
    currentMetrics: [{ type: "Resource", resource: { name: "cpu", current: { averageUtilization: 40 } } }],
    conditions: [
      {
        type: "AbleToScale",
        status: "True",
        lastTransitionTime: "2026-03-01T09:00:00Z",
        reason: "ReadyForNewScale",
        message: "recommended size matches current size",
      },
      {
        type: "ScalingActive",
        status: "True",
        lastTransitionTime: "2026-03-01T09:00:00Z",
        reason: "ValidMetricFound",
        message: "the HPA was able to successfully calculate a replica count",
      },
      {
        type: "ScalingLimited",
        status: "False",
        lastTransitionTime: "2026-03-01T09:00:00Z",
        reason: "DesiredWithinRange",
        message: "the desired count is within the acceptable range",
      },
    ],
  },
};

export const configMap: Sample = { apiVersion: "v1", kind: "ConfigMap" };
export const secret: Sample = { apiVersion: "v1", kind: "Secret" };
export const serviceAccount: Sample = { apiVersion: "v1", kind: "ServiceAccount" };

export const database: Sample = {
  apiVersion: "example.com/v1",
  kind: "Database",
  spec: { engine: "postgres" },
  generation: 3,
  status: {
    observedGeneration: 3,
    phase: "Running",
    endpoint: { host: "db.example.com", port: 5432 },
    size: 10,
    tags: ["blue", "small"],
    conditions: [
      {
        type: "Ready",
        status: "True",
        observedGeneration: 3,
        lastTransitionTime: "2026-03-01T10:00:00Z",
        reason: "Up",
        message: "serves",
      },
    ],
  },
};

/** Every type of the published list, and a custom resource. */
export const samples: readonly Sample[] = [
  deployment,
  statefulSet,
  daemonSet,
  replicaSet,
  job,
  runningJob,
  cronJob,
  service,
  ingress,
  claim,
  autoscaler,
  configMap,
  secret,
  serviceAccount,
  database,
];
