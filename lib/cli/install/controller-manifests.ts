import { type ControllerConfig, parseControllerFlags } from "../../controller/flags.ts";
import {
  defaultNamespace,
  deploymentManifests,
  imageErrors,
  kubeconfigFolder,
  nameErrors,
} from "./deployment-manifests.ts";

/** The options of the command line that describe the controller, unvalidated. */
export type ControllerManifestFlags = Readonly<{
  image?: string | undefined;
  /** Pods, of which one at a time works. */
  replicas?: string | undefined;
  namespace?: string | undefined;
  kubeconfigSecret?: string | undefined;
  hub?: "kcp" | "kubernetes" | undefined;
  workspace?: readonly string[] | undefined;
  apiExport?: string | undefined;
  serviceMonitor?: boolean | undefined;
}>;

/** The validated settings of the controller. */
export type ControllerManifestSettings = Readonly<{
  image: string;
  replicas: number;
  namespace: string;
  kubeconfigSecret: string;
  /** The arguments of `tmc controller` that select the upstream. */
  upstreamArgs: readonly string[];
  ports: Readonly<{ metrics: number; health: number }>;
  serviceMonitor: boolean;
}>;

export const controllerDefaults = { kubeconfigSecret: "tmc-kcp", replicas: "2" } as const;

const name = "tmc-controller";
const labels = { "app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "tmc" } as const;

/** Validates the options; returns all errors, and the settings, or only the errors. */
export function parseControllerManifestFlags(
  flags: ControllerManifestFlags,
): Readonly<{ errors: readonly string[]; settings: ControllerManifestSettings | undefined }> {
  const { namespace = defaultNamespace, kubeconfigSecret = controllerDefaults.kubeconfigSecret } = flags;
  const replicas = flags.replicas ?? controllerDefaults.replicas;
  const errors = [
    ...imageErrors(flags.image, "the controller's image, such as example.com/tmc-controller:1.2.3"),
    ...nameErrors({ namespace, "kubeconfig-secret": kubeconfigSecret }),
    ...(/^[1-9]$/.test(replicas) ? [] : [`--replicas "${replicas}" is not a whole number from 1 to 9`]),
  ];
  const { hub, workspace, apiExport } = flags;
  let config: ControllerConfig | undefined;
  try {
    // The same checks as at the start of the controller.
    const kcpKubeconfig = `${kubeconfigFolder}/kubeconfig`;
    config = parseControllerFlags({ kcpKubeconfig, hub, workspace, apiExport, clusterKubeconfigs: ["none"] });
  } catch (error) {
    errors.push(error instanceof Error ? error.message : String(error));
  }
  if (config === undefined || errors.length > 0) return { errors, settings: undefined };
  const settings = {
    image: flags.image ?? "",
    replicas: Number(replicas),
    namespace,
    kubeconfigSecret,
    upstreamArgs:
      apiExport !== undefined
        ? [`--api-export=${apiExport}`]
        : (config.workspaces?.map((path) => `--workspace=${path}`) ?? ["--hub=kubernetes"]),
    ports: { metrics: config.metricsPort, health: config.healthPort },
    serviceMonitor: flags.serviceMonitor === true,
  };
  return { errors, settings };
}

/**
 * Returns the manifests of a controller in a Kubernetes cluster. One pod at a time holds the Lease and works; the others wait.
 * In that cluster the pods may only use Leases of their namespace.
 */
export function controllerManifests(settings: ControllerManifestSettings): readonly object[] {
  const { namespace, ports } = settings;
  const metadata = { name, namespace, labels };
  const [namespaceObject, serviceAccount, disruptionBudget, deployment] = deploymentManifests({
    name,
    container: "controller",
    namespace,
    labels,
    replicas: settings.replicas,
    image: settings.image,
    command: { args: controllerArgs(settings) },
    ports,
    kubeconfigSecret: settings.kubeconfigSecret,
    usesServiceAccountToken: true,
    resources: { requests: { cpu: "100m", memory: "256Mi" }, limits: { memory: "1Gi" } },
    // On shutdown the controller finishes its running reconciles.
    terminationGracePeriodSeconds: 60,
  });
  const role = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name };
  return [
    namespaceObject,
    serviceAccount,
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "Role",
      metadata,
      rules: [{ apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "create", "update"] }],
    },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata,
      roleRef: role,
      subjects: [{ kind: "ServiceAccount", name, namespace }],
    },
    disruptionBudget,
    // Only metrics are served to other pods. Egress is open, because the addresses of kcp and the clusters are not known here.
    {
      apiVersion: "networking.k8s.io/v1",
      kind: "NetworkPolicy",
      metadata,
      spec: {
        podSelector: { matchLabels: labels },
        policyTypes: ["Ingress"],
        ingress: [{ ports: [{ port: "metrics", protocol: "TCP" }] }],
      },
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata,
      spec: {
        clusterIP: "None",
        selector: labels,
        ports: [{ name: "metrics", port: ports.metrics, targetPort: "metrics" }],
      },
    },
    deployment,
    ...(settings.serviceMonitor
      ? [
          {
            apiVersion: "monitoring.coreos.com/v1",
            kind: "ServiceMonitor",
            metadata,
            spec: { selector: { matchLabels: labels }, endpoints: [{ port: "metrics", path: "/metrics" }] },
          },
        ]
      : []),
  ].filter((object) => object !== undefined);
}

function controllerArgs({ upstreamArgs, ports }: ControllerManifestSettings): readonly string[] {
  return [
    "controller",
    "--leader-elect",
    `--kcp-kubeconfig=${kubeconfigFolder}/kubeconfig`,
    ...upstreamArgs,
    // Registrations refer to Secrets in their workspaces.
    "--cluster-kubeconfigs=none",
    `--metrics-port=${ports.metrics}`,
    `--health-port=${ports.health}`,
  ];
}
