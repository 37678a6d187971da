import { describe, expect, it } from "vitest";
import { toTable } from "../../src/definitions/table.ts";
import { builtinDefinitions, definitionOf } from "./fixed-access.ts";

const now = Date.parse("2026-11-16T12:00:00Z");
const ago = (minutes: number) => new Date(now - minutes * 60_000).toISOString();

/** A row of `kubectl get -o wide`, by column. */
function row(kind: string, fields: object): Record<string, unknown> {
  const definition = definitionOf(kind);
  const metadata = { name: "x", namespace: "default", creationTimestamp: ago(5) };
  const table = toTable(definition, [{ apiVersion: "v1", kind, metadata, ...fields }], { now });
  const cells = table.rows[0]?.cells ?? [];
  return Object.fromEntries(table.columnDefinitions.map(({ name }, index) => [name, cells[index]]));
}

const running = (name: string, restartCount = 0) => ({
  name,
  ready: true,
  restartCount,
  state: { running: { startedAt: ago(5) } },
});
const containers = [
  { name: "a", image: "nginx" },
  { name: "b", image: "envoy" },
];

const pods: Record<string, { pod: object; ready: string; status: string; restarts: string }> = {
  "not placed yet": {
    pod: { spec: { containers }, status: { phase: "Pending" } },
    ready: "0/2",
    status: "Pending",
    restarts: "0",
  },
  "all well": {
    pod: { spec: { containers }, status: { phase: "Running", containerStatuses: [running("a"), running("b")] } },
    ready: "2/2",
    status: "Running",
    restarts: "0",
  },
  "one crashing": {
    pod: {
      spec: { containers },
      status: {
        phase: "Running",
        containerStatuses: [
          running("a"),
          {
            name: "b",
            ready: false,
            restartCount: 4,
            state: { waiting: { reason: "CrashLoopBackOff" } },
            lastState: { terminated: { exitCode: 1, finishedAt: ago(3) } },
          },
        ],
      },
    },
    ready: "1/2",
    status: "CrashLoopBackOff",
    restarts: "4 (3m ago)",
  },
  "still initializing": {
    pod: {
      spec: { containers, initContainers: [{ name: "i" }, { name: "j" }] },
      status: {
        phase: "Pending",
        initContainerStatuses: [
          { name: "i", restartCount: 0, state: { terminated: { exitCode: 0 } } },
          { name: "j", restartCount: 0, state: { running: {} } },
        ],
      },
    },
    ready: "0/2",
    status: "Init:1/2",
    restarts: "0",
  },
  "failed to initialize": {
    pod: {
      spec: { containers, initContainers: [{ name: "i" }] },
      status: {
        phase: "Pending",
        initContainerStatuses: [{ name: "i", restartCount: 1, state: { terminated: { exitCode: 3 } } }],
      },
    },
    ready: "0/2",
    status: "Init:ExitCode:3",
    restarts: "1",
  },
  "with a sidecar": {
    pod: {
      spec: { containers: [{ name: "a" }], initContainers: [{ name: "i", restartPolicy: "Always" }] },
      status: {
        phase: "Running",
        initContainerStatuses: [{ ...running("i"), started: true }],
        containerStatuses: [running("a")],
      },
    },
    ready: "2/2",
    status: "Running",
    restarts: "0",
  },
  completed: {
    pod: {
      spec: { containers: [{ name: "a" }] },
      status: {
        phase: "Succeeded",
        containerStatuses: [
          { name: "a", ready: false, restartCount: 0, state: { terminated: { exitCode: 0, reason: "Completed" } } },
        ],
      },
    },
    ready: "0/1",
    status: "Completed",
    restarts: "0",
  },
  "being deleted": {
    pod: {
      metadata: { name: "x", deletionTimestamp: ago(0) },
      spec: { containers },
      status: { phase: "Running", containerStatuses: [running("a"), running("b")] },
    },
    ready: "2/2",
    status: "Terminating",
    restarts: "0",
  },
};

const others: Record<string, { kind: string; fields: object; shows: Record<string, unknown> }> = {
  "a deployment": {
    kind: "Deployment",
    fields: {
      spec: { replicas: 3, selector: { matchLabels: { app: "web" } }, template: { spec: { containers } } },
      status: { readyReplicas: 2, updatedReplicas: 3, availableReplicas: 2 },
    },
    shows: {
      Name: "x",
      Ready: "2/3",
      "Up-to-date": 3,
      Available: 2,
      Age: "5m",
      Containers: "a,b",
      Images: "nginx,envoy",
      Selector: "app=web",
    },
  },
  "a job that runs": {
    kind: "Job",
    fields: { spec: { completions: 3 }, status: { succeeded: 1, startTime: ago(2) } },
    shows: { Status: "Running", Completions: "1/3", Duration: "2m" },
  },
  "a job that is complete": {
    kind: "Job",
    fields: {
      spec: { completions: 1 },
      status: {
        succeeded: 1,
        startTime: ago(4),
        completionTime: ago(3),
        conditions: [{ type: "Complete", status: "True" }],
      },
    },
    shows: { Status: "Complete", Completions: "1/1", Duration: "60s" },
  },
  "a cron job": {
    kind: "CronJob",
    fields: { spec: { schedule: "* * * * *", suspend: false }, status: {} },
    shows: { Schedule: "* * * * *", Timezone: "<none>", Suspend: "False", Active: 0, "Last Schedule": "<none>" },
  },
  "a service inside": {
    kind: "Service",
    fields: { spec: { type: "ClusterIP", clusterIPs: ["10.0.0.1"], ports: [{ port: 80, protocol: "TCP" }] } },
    shows: {
      Type: "ClusterIP",
      "Cluster-IP": "10.0.0.1",
      "External-IP": "<none>",
      "Port(s)": "80/TCP",
      Selector: "<none>",
    },
  },
  "a service that waits for its balancer": {
    kind: "Service",
    fields: {
      spec: { type: "LoadBalancer", ports: [{ port: 80, nodePort: 30080, protocol: "TCP" }] },
      status: { loadBalancer: {} },
    },
    shows: { "External-IP": "<pending>", "Port(s)": "80:30080/TCP" },
  },
  "a node that is cordoned": {
    kind: "Node",
    fields: {
      metadata: { name: "x", labels: { "node-role.kubernetes.io/worker": "" } },
      spec: { unschedulable: true },
      status: {
        conditions: [{ type: "Ready", status: "True" }],
        nodeInfo: { kubeletVersion: "v1.36.3", kernelVersion: "6.1", architecture: "amd64" },
        addresses: [{ type: "InternalIP", address: "10.1.0.1" }],
      },
    },
    shows: {
      Status: "Ready,SchedulingDisabled",
      Roles: "worker",
      Version: "v1.36.3",
      "Internal-IP": "10.1.0.1",
      "External-IP": "<none>",
      "Kernel-Version": "6.1 (amd64)",
      Age: "<unknown>",
    },
  },
  "an ingress": {
    kind: "Ingress",
    fields: {
      spec: { rules: [{ host: "a.b" }, { host: "c.d" }, {}, { host: "e.f" }], tls: [{}] },
      status: { loadBalancer: { ingress: [{ ip: "10.9.8.7" }] } },
    },
    shows: { Class: "<none>", Hosts: "a.b,c.d,* + 1 more...", Address: "10.9.8.7", Ports: "80, 443" },
  },
  "a claim that is bound": {
    kind: "PersistentVolumeClaim",
    fields: {
      spec: { volumeName: "pv", storageClassName: "fast", volumeMode: "Filesystem" },
      status: { phase: "Bound", capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"] },
    },
    shows: {
      Status: "Bound",
      Volume: "pv",
      Capacity: "1Gi",
      "Access Modes": "RWO",
      StorageClass: "fast",
      VolumeAttributesClass: "<unset>",
    },
  },
  "an event": {
    kind: "Event",
    fields: {
      involvedObject: { kind: "Pod", name: "web" },
      type: "Normal",
      reason: "Pulled",
      message: "done ",
      lastTimestamp: ago(1),
      firstTimestamp: ago(9),
      count: 3,
      source: { component: "kubelet", host: "n" },
    },
    shows: {
      "Last Seen": "60s",
      Object: "pod/web",
      Message: "done",
      "First Seen": "9m",
      Count: 3,
      Source: "kubelet, n",
    },
  },
  "an autoscaler": {
    kind: "HorizontalPodAutoscaler",
    fields: {
      spec: {
        minReplicas: 1,
        maxReplicas: 5,
        scaleTargetRef: { kind: "Deployment", name: "web" },
        metrics: [
          { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 50 } } },
        ],
      },
      status: {
        currentReplicas: 2,
        currentMetrics: [{ type: "Resource", resource: { name: "cpu", current: { averageUtilization: 12 } } }],
      },
    },
    shows: { Reference: "Deployment/web", Targets: "cpu: 12%/50%", MinPods: "1", MaxPods: 5, Replicas: 2 },
  },
};

describe("the tables of built-in types", () => {
  it.each(Object.entries(pods))("tell of a pod that is %s", (_name, { pod, ready, status, restarts }) => {
    expect(row("Pod", pod)).toMatchObject({ Ready: ready, Status: status, Restarts: restarts });
  });

  it.each(Object.entries(others))("show %s", (_name, { kind, fields, shows }) => {
    expect(row(kind, fields)).toMatchObject(shows);
  });

  it("have a value in every cell, even for an empty object", () => {
    const empty = builtinDefinitions
      .filter(({ verbs }) => verbs.includes("list"))
      .flatMap((definition) => {
        const object = { apiVersion: "v1", kind: definition.kind, metadata: { name: "x" } };
        const table = toTable(definition, [object], { now });
        const cells = table.rows[0]?.cells ?? [];
        return table.columnDefinitions
          .filter((_column, index) => cells[index] === null || cells[index] === undefined)
          .map(({ name }) => `${definition.kind}: ${name}`);
      });
    expect(empty).toEqual([]);
  });
});
