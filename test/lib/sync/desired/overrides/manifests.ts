import type { Manifest } from "../../../../../lib/sync/sync-objects.ts";

const pods = {
  metadata: { labels: { app: "web" } },
  spec: {
    initContainers: [{ name: "prepare", image: "busybox" }],
    containers: [
      {
        name: "web",
        image: "nginx:1.29",
        env: [
          { name: "MODE", value: "plain" },
          { name: "KEY", valueFrom: { secretKeyRef: { name: "web", key: "key" } } },
        ],
        resources: { requests: { cpu: "1", memory: "64Mi" }, limits: { cpu: "2" } },
      },
      { name: "log", image: "quay.io/log/agent:2" },
    ],
    ephemeralContainers: [{ name: "debug", image: "alpine" }],
  },
};

const metadata = {
  name: "web",
  namespace: "tmc-shop-1",
  labels: { app: "web", "tmc.kcp.io/synced": "tenant" },
  annotations: { "tmc.kcp.io/owner": "{}" },
};

/** A Deployment with everything that an override can change. */
export const deployment: Manifest = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata,
  spec: { replicas: 3, selector: { matchLabels: { app: "web" } }, template: pods },
};

export const cronJob: Manifest = {
  apiVersion: "batch/v1",
  kind: "CronJob",
  metadata,
  spec: { schedule: "@daily", jobTemplate: { spec: { template: pods } } },
};

export const service: Manifest = { apiVersion: "v1", kind: "Service", metadata, spec: { ports: [{ port: 80 }] } };

export const configMap: Manifest = { apiVersion: "v1", kind: "ConfigMap", metadata, data: { mode: "plain" } };

/** Other types that have pods, each as it has them. */
export const withPods: readonly Manifest[] = [
  deployment,
  cronJob,
  ...(["StatefulSet", "DaemonSet", "ReplicaSet"] as const).map((kind) => ({ ...deployment, kind })),
  { apiVersion: "batch/v1", kind: "Job", metadata, spec: { template: pods } },
  { apiVersion: "example.com/v1", kind: "Rollout", metadata, spec: { template: pods } },
];
