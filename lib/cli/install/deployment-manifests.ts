import { subdomainErrors } from "@tmc/kube/selector.ts";

/** The namespace of TMC's processes unless another one is given. */
export const defaultNamespace = "tmc-system";

/** Folder in the container in which the Secret with the kubeconfig is mounted. */
export const kubeconfigFolder = "/etc/tmc/kcp";

/** User and group of the images, by number, so that Kubernetes can see that it is not root. */
const user = 1000;

/** A process of TMC in a Kubernetes cluster. */
export type DeploymentManifestSettings = Readonly<{
  /** Name of all objects. */
  name: string;
  /** Name of the container. */
  container: string;
  namespace: string;
  labels: Readonly<Record<string, string>>;
  replicas: number;
  image: string;
  command: Readonly<{ args: readonly string[] } | { env: readonly object[] }>;
  ports: Readonly<{ metrics: number; health: number }>;
  /** Secret in the namespace with the kubeconfig for kcp under the key `kubeconfig`. */
  kubeconfigSecret: string | undefined;
  serviceAccountAnnotations?: Readonly<Record<string, string>> | undefined;
  /** Whether the process calls the API server of the cluster that it runs in. */
  usesServiceAccountToken: boolean;
  resources: object;
  terminationGracePeriodSeconds: number;
}>;

/**
 * Returns the Namespace, ServiceAccount, PodDisruptionBudget and Deployment of a process: without root, without capabilities,
 * with a read-only root file system, spread over nodes and zones.
 */
export function deploymentManifests(settings: DeploymentManifestSettings): readonly object[] {
  const { name, namespace, labels, ports } = settings;
  const metadata = { name, namespace, labels };
  const scrapeAnnotations = {
    "prometheus.io/scrape": "true",
    "prometheus.io/port": String(ports.metrics),
    "prometheus.io/path": "/metrics",
  };
  return [
    namespaceManifest(namespace),
    {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: {
        ...metadata,
        ...(settings.serviceAccountAnnotations !== undefined && { annotations: settings.serviceAccountAnnotations }),
      },
      automountServiceAccountToken: false,
    },
    {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata,
      spec: { maxUnavailable: 1, selector: { matchLabels: labels } },
    },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata,
      spec: {
        replicas: settings.replicas,
        // A new pod must be ready before an old one stops.
        strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
        selector: { matchLabels: labels },
        template: { metadata: { labels, annotations: scrapeAnnotations }, spec: podSpec(settings) },
      },
    },
  ];
}

/** The labels are only on TMC's own namespace: in another one they could reject pods that run there already. */
function namespaceManifest(namespace: string): object {
  const labels = { "pod-security.kubernetes.io/enforce": "restricted" };
  const metadata = namespace === defaultNamespace ? { name: namespace, labels } : { name: namespace };
  return { apiVersion: "v1", kind: "Namespace", metadata };
}

function podSpec(settings: DeploymentManifestSettings): object {
  const { labels, ports, kubeconfigSecret: secretName } = settings;
  const volumeName = "kubeconfig";
  return {
    serviceAccountName: settings.name,
    automountServiceAccountToken: settings.usesServiceAccountToken,
    terminationGracePeriodSeconds: settings.terminationGracePeriodSeconds,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: user,
      runAsGroup: user,
      fsGroup: user,
      seccompProfile: { type: "RuntimeDefault" },
    },
    topologySpreadConstraints: ["topology.kubernetes.io/zone", "kubernetes.io/hostname"].map((topologyKey) => ({
      maxSkew: 1,
      topologyKey,
      whenUnsatisfiable: "ScheduleAnyway",
      labelSelector: { matchLabels: labels },
    })),
    containers: [
      {
        name: settings.container,
        image: settings.image,
        ...settings.command,
        ports: Object.entries(ports).map(([portName, containerPort]) => ({ name: portName, containerPort })),
        startupProbe: { ...httpProbe("/livez"), periodSeconds: 2, failureThreshold: 30 },
        livenessProbe: { ...httpProbe("/livez"), periodSeconds: 30, timeoutSeconds: 5, failureThreshold: 3 },
        readinessProbe: { ...httpProbe("/readyz"), periodSeconds: 10, timeoutSeconds: 5 },
        resources: settings.resources,
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"] },
        },
        ...(secretName !== undefined && {
          volumeMounts: [{ name: volumeName, mountPath: kubeconfigFolder, readOnly: true }],
        }),
      },
    ],
    ...(secretName !== undefined && { volumes: [{ name: volumeName, secret: { secretName, defaultMode: 0o440 } }] }),
  };
}

function httpProbe(path: string): object {
  return { httpGet: { path, port: "health" } };
}

/** Validates the value of `--image`; `form` says what it must be. */
export function imageErrors(image: string | undefined, form: string): readonly string[] {
  if (image === undefined) return [`--image is required: ${form}`];
  const errors = /^[\w.-][\w./:@-]*$/.test(image) ? [] : [`--image must be ${form}`];
  const isVersioned = !/:latest$|^[^:@]+$/.test(image);
  return isVersioned ? errors : [...errors, "--image must have a version, so that all pods run the same one"];
}

/** Validates names of Kubernetes objects, by the option that they come from. */
export function nameErrors(names: Readonly<Record<string, string | undefined>>): readonly string[] {
  return Object.entries(names).flatMap(([option, name]) =>
    name === undefined ? [] : subdomainErrors(name).map((error) => `--${option} ${error}`),
  );
}
