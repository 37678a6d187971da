import type {
  CronJob,
  DaemonSet,
  Deployment,
  Job,
  Node,
  Pod,
  PodTemplate,
  ReplicaSet,
  StatefulSet,
  StoredMeta,
} from "../../src/kubernetes/kinds.ts";
import { formatTime } from "../../src/kubernetes/kinds.ts";

export const noon = Date.parse("2026-03-02T12:00:00Z");

const meta = (name: string, own: Partial<StoredMeta> = {}): StoredMeta => ({
  name,
  namespace: "default",
  uid: `uid-${name}`,
  creationTimestamp: formatTime(noon),
  generation: 1,
  ...own,
});

export const aTemplate = (image = "web:1", labels: Record<string, string> = { app: "web" }): PodTemplate => ({
  metadata: { labels },
  spec: { containers: [{ name: "c", image }] },
});

type Parts<T extends { spec: unknown; status?: unknown }> = {
  metadata?: Partial<StoredMeta>;
  spec?: Partial<T["spec"]>;
  status?: T["status"];
};
const statusOf = <T>(status: T | undefined): { status?: T } => (status === undefined ? {} : { status });

export function aDeployment({ metadata, spec, status }: Parts<Deployment> = {}): Deployment {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: meta("web", metadata),
    spec: {
      replicas: 3,
      selector: { matchLabels: { app: "web" } },
      template: aTemplate(),
      strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      progressDeadlineSeconds: 600,
      revisionHistoryLimit: 2,
      ...spec,
    },
    ...statusOf(status),
  };
}

export function aReplicaSet(name: string, { metadata, spec, status }: Parts<ReplicaSet> = {}): ReplicaSet {
  return {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: meta(name, metadata),
    spec: { replicas: 3, selector: { matchLabels: { app: "web" } }, template: aTemplate(), ...spec },
    ...statusOf(status),
  };
}

/** A pod; by default ready on node n1. */
export function aPod(name: string, { metadata, spec, status }: Parts<Pod> = {}): Pod {
  const since = formatTime(noon - 60_000);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: meta(name, { labels: { app: "web" }, ...metadata }),
    spec: { containers: [{ name: "c", image: "web:1" }], nodeName: "n1", ...spec },
    status: { phase: "Running", conditions: [{ type: "Ready", status: "True", lastTransitionTime: since }], ...status },
  };
}

export const aPendingPod = (name: string, parts: Parts<Pod> = {}): Pod => {
  const { nodeName: _, ...spec } = aPod(name, parts).spec;
  return { ...aPod(name, parts), spec, status: { phase: "Pending", ...parts.status } };
};

export const notReady: NonNullable<Pod["status"]> = {
  phase: "Running",
  conditions: [{ type: "Ready", status: "False" }],
};

export function aNode(name: string, { metadata, spec, status }: Parts<Node> = {}): Node {
  const amounts = { cpu: "4", memory: "8Gi", pods: "110" };
  const { namespace: _, ...own } = meta(name, metadata);
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { ...own, labels: { "kubernetes.io/hostname": name, ...metadata?.labels } },
    spec: { ...spec },
    status: { allocatable: amounts, capacity: amounts, ...status },
  };
}

export function aStatefulSet({ metadata, spec, status }: Parts<StatefulSet> = {}): StatefulSet {
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: meta("db", metadata),
    spec: {
      replicas: 3,
      selector: { matchLabels: { app: "db" } },
      template: aTemplate("db:1", { app: "db" }),
      serviceName: "db",
      podManagementPolicy: "OrderedReady",
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 0 } },
      ...spec,
    },
    ...statusOf(status),
  };
}

export function aDaemonSet({ metadata, spec, status }: Parts<DaemonSet> = {}): DaemonSet {
  return {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: meta("agent", metadata),
    spec: {
      selector: { matchLabels: { app: "agent" } },
      template: aTemplate("agent:1", { app: "agent" }),
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 1 } },
      ...spec,
    },
    ...statusOf(status),
  };
}

export function aJob({ metadata, spec, status }: Parts<Job> = {}): Job {
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: meta("job", metadata),
    spec: { parallelism: 1, completions: 1, backoffLimit: 2, template: aTemplate("job:1", {}), ...spec },
    ...statusOf(status),
  };
}

export function aCronJob({ metadata, spec, status }: Parts<CronJob> = {}): CronJob {
  return {
    apiVersion: "batch/v1",
    kind: "CronJob",
    metadata: meta("tick", metadata),
    spec: { schedule: "*/5 * * * *", jobTemplate: { spec: { template: aTemplate("job:1", {}) } }, ...spec },
    ...statusOf(status),
  };
}
