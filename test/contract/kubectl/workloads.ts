/** A manifest that a case may change. */
export type Manifest = {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels?: Record<string, string>; annotations?: Record<string, string> };
  spec: Spec;
};
/** The parts of a workload's spec that cases change, and whatever else it has. */
export type Spec = Record<string, unknown>;
export type PodSpec = Record<string, unknown> & {
  containers: Container[];
  initContainers: Container[];
  volumes: object[];
};
export type Container = Record<string, unknown> & { name: string; image: string };

const labels = { app: "web" };

/** A pod that has something in each of the lists which Kubernetes merges by a key. */
const aPodTemplate = () => ({
  metadata: { labels: { ...labels }, annotations: { note: "kept" } },
  spec: {
    serviceAccountName: "default",
    nodeSelector: { disk: "ssd", zone: "a" },
    securityContext: { runAsUser: 1000, fsGroup: 2000 },
    imagePullSecrets: [{ name: "registry" }],
    hostAliases: [{ ip: "10.1.1.1", hostnames: ["db"] }],
    tolerations: [{ key: "dedicated", operator: "Exists" }],
    topologySpreadConstraints: [
      { maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "ScheduleAnyway", labelSelector: { matchLabels: labels } },
    ],
    volumes: [
      { name: "data", emptyDir: {} },
      { name: "settings", configMap: { name: "settings" } },
    ],
    initContainers: [{ name: "first", image: "busybox:1", command: ["true"] }],
    containers: [
      {
        name: "web",
        image: "nginx:1",
        args: ["--verbose"],
        ports: [
          { name: "http", containerPort: 80, protocol: "TCP" },
          { name: "metrics", containerPort: 9090, protocol: "TCP" },
        ],
        env: [
          { name: "A", value: "1" },
          { name: "B", value: "2" },
        ],
        volumeMounts: [
          { name: "data", mountPath: "/data" },
          { name: "settings", mountPath: "/settings" },
        ],
        resources: { requests: { cpu: "10m" } },
        readinessProbe: { httpGet: { path: "/", port: "http" } },
      },
      { name: "side", image: "busybox:1", env: [{ name: "S", value: "1" }] },
    ],
  },
});

const aWorkload = (apiVersion: string, kind: string, spec: Spec): Manifest => ({
  apiVersion,
  kind,
  metadata: { name: "web", labels: { ...labels }, annotations: { owner: "me" } },
  spec,
});
const selector = { matchLabels: labels };
const aJobSpec = (template: ReturnType<typeof aPodTemplate>) => ({
  backoffLimit: 3,
  template: { ...template, spec: { ...template.spec, restartPolicy: "Never" } },
});

/** One full manifest of each type that has a list which Kubernetes merges by a key; each call gives new ones. */
export const manifests = {
  // Nothing runs on the clusters, so that nothing but the command changes the object.
  Deployment: () => aWorkload("apps/v1", "Deployment", { replicas: 0, selector, template: aPodTemplate() }),
  StatefulSet: () =>
    aWorkload("apps/v1", "StatefulSet", {
      replicas: 0,
      serviceName: "web",
      selector,
      template: aPodTemplate(),
      volumeClaimTemplates: [
        {
          apiVersion: "v1",
          kind: "PersistentVolumeClaim",
          metadata: { name: "disk" },
          spec: {
            accessModes: ["ReadWriteOnce"],
            resources: { requests: { storage: "1Gi" } },
            volumeMode: "Filesystem",
          },
          // A cluster fills it in, and kubectl would call the next apply a change.
          status: { phase: "Pending" },
        },
      ],
    }),
  DaemonSet: () => aWorkload("apps/v1", "DaemonSet", { selector, template: aPodTemplate() }),
  ReplicaSet: () => aWorkload("apps/v1", "ReplicaSet", { replicas: 0, selector, template: aPodTemplate() }),
  Job: () => aWorkload("batch/v1", "Job", { suspend: true, ...aJobSpec(aPodTemplate()) }),
  CronJob: () =>
    aWorkload("batch/v1", "CronJob", {
      schedule: "0 0 1 1 *",
      suspend: true,
      jobTemplate: { spec: aJobSpec(aPodTemplate()) },
    }),
  Service: () =>
    aWorkload("v1", "Service", {
      selector: { app: "web", tier: "front" },
      ports: [
        { name: "http", port: 80, targetPort: "http", protocol: "TCP" },
        { name: "metrics", port: 9090, targetPort: 9090, protocol: "TCP" },
      ],
    }),
  Ingress: () =>
    aWorkload("networking.k8s.io/v1", "Ingress", {
      tls: [{ hosts: ["a.example.com"], secretName: "a" }],
      rules: ["a", "b"].map((host) => ({
        host: `${host}.example.com`,
        http: {
          paths: [{ path: "/", pathType: "Prefix", backend: { service: { name: "web", port: { name: "http" } } } }],
        },
      })),
    }),
  HorizontalPodAutoscaler: () =>
    aWorkload("autoscaling/v2", "HorizontalPodAutoscaler", {
      minReplicas: 1,
      maxReplicas: 5,
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
      metrics: ["cpu", "memory"].map((name) => ({
        type: "Resource",
        resource: { name, target: { type: "Utilization", averageUtilization: 50 } },
      })),
    }),
  PersistentVolumeClaim: () =>
    aWorkload("v1", "PersistentVolumeClaim", {
      accessModes: ["ReadWriteOnce"],
      storageClassName: "none",
      resources: { requests: { storage: "1Gi" } },
    }),
};

export type WorkloadKind = keyof typeof manifests;

/** The spec of a workload's pods, to be changed in place. */
export function podSpec({ kind, spec }: Pick<Manifest, "kind" | "spec">): PodSpec {
  const at = kind === "CronJob" ? ["jobTemplate", "spec", "template", "spec"] : ["template", "spec"];
  let value: unknown = spec;
  for (const key of at) value = Object(value)[key];
  if (!isPodSpec(value)) throw new Error(`no pod template in ${JSON.stringify(spec)}`);
  return value;
}

function isPodSpec(value: unknown): value is PodSpec {
  return typeof value === "object" && value !== null && "containers" in value;
}

/** A container of a workload, to be changed in place. */
export function container(object: Pick<Manifest, "kind" | "spec">, name = "web"): Container {
  const found = podSpec(object).containers.find((each) => each.name === name);
  if (found === undefined) throw new Error(`no container ${name}`);
  return found;
}
