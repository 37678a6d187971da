import { subdomainErrors } from "@tmc/kube/selector.ts";
import { exportAddressForm, parseExportAddress } from "../../upstream/export/address.ts";
import { isWorkspaceAddress } from "../../upstream/logical-cluster.ts";

/** The options of the command line that describe the relay, unvalidated. */
export type RelayFlags = Readonly<{
  image?: string | undefined;
  queueUrl?: string | undefined;
  kcpSecret?: string | undefined;
  kubeconfigSecret?: string | undefined;
  /** `kcp`, or `kubernetes` for a plain cluster with TMC's CRDs. */
  hub?: "kcp" | "kubernetes" | undefined;
  workspace?: readonly string[] | undefined;
  /** The APIExport whose tenant workspaces are all watched; excludes `workspace`. */
  apiExport?: string | undefined;
  namespace?: string | undefined;
  region?: string | undefined;
  stage?: string | undefined;
  roleArn?: string | undefined;
}>;

/** The validated settings of the relay. */
export type RelayManifestSettings = Readonly<{
  image: string;
  queueUrl: string;
  /** A secret in AWS Secrets Manager, or a Kubernetes Secret in the relay's namespace with the key `kubeconfig`. */
  kubeconfig: Readonly<{ secretsManager: string } | { secret: string }>;
  /** Empty for a plain Kubernetes cluster, and when an APIExport is set. */
  workspaces: readonly string[];
  apiExport: string | undefined;
  namespace: string;
  region: string;
  stage: string;
  roleArn: string | undefined;
}>;

export const relayDefaults = { namespace: "tmc-system", stage: "default" } as const;

const name = "tmc-relay";
const labels = { "app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "tmc" } as const;
const user = 1000;
const ports = { metrics: 8080, health: 8081 } as const;
const kubeconfigFolder = "/etc/tmc/kcp";

/** Validates the options; returns all errors, and the settings, which are only meaningful without errors. */
export function parseRelayFlags(flags: RelayFlags): readonly [errors: readonly string[], RelayManifestSettings] {
  const errors: string[] = [];
  const checked = (option: string, value: string | undefined, pattern: RegExp, form: string): string => {
    if (value === undefined) errors.push(`--${option} is required: ${form}`);
    else if (!pattern.test(value)) errors.push(`--${option} must be ${form}`);
    return value ?? "";
  };
  const { kcpSecret, kubeconfigSecret, hub = "kcp", workspace: workspaces = [], apiExport, roleArn } = flags;
  const image = checked(
    "image",
    flags.image,
    /^[\w.-][\w./:@-]*$/,
    "the relay's image, such as example.com/tmc-relay:1.2.3",
  );
  if (/:latest$|^[^:@]+$/.test(image)) errors.push("--image must have a version, so that all relays run the same one");
  const queueUrl = checked("queue-url", flags.queueUrl, /^https?:\/\/\S+\.fifo$/, "the URL of the work queue");
  const region = checked(
    "region",
    flags.region,
    /^[a-z]{2}(-[a-z]+){1,2}-\d{1,2}$/,
    "an AWS region, such as eu-central-1",
  );
  if ((kcpSecret === undefined) === (kubeconfigSecret === undefined)) {
    errors.push("exactly one of --kcp-secret and --kubeconfig-secret is required");
  }
  if (kcpSecret !== undefined && !/^[\w/+=.@:-]+$/.test(kcpSecret)) {
    errors.push("--kcp-secret must be the name or ARN of a secret");
  }
  const names = { namespace: flags.namespace ?? relayDefaults.namespace, "kubeconfig-secret": kubeconfigSecret };
  for (const [option, value] of Object.entries(names)) {
    for (const error of value === undefined ? [] : subdomainErrors(value)) errors.push(`--${option} ${error}`);
  }
  if (apiExport !== undefined) {
    if (hub === "kubernetes") errors.push("--api-export requires --hub kcp");
    else if (workspaces.length > 0) errors.push("--api-export and --workspace exclude each other");
    else if (parseExportAddress(apiExport) === undefined) errors.push(`--api-export must be ${exportAddressForm}`);
  } else if (hub === "kcp" && workspaces.length === 0) {
    errors.push("--workspace is required: a path such as root:org:team; or --api-export");
  }
  if (hub === "kubernetes" && workspaces.length > 0) errors.push("--workspace requires --hub kcp");
  for (const path of workspaces) {
    if (!isWorkspaceAddress(path)) errors.push(`--workspace "${path}" is not a workspace path such as root:org:team`);
  }
  if (roleArn !== undefined && !/^arn:[\w-]+:iam::\d{12}:role\/\S+$/.test(roleArn)) {
    errors.push("--role-arn must be the ARN of an IAM role");
  }
  const kubeconfig = kcpSecret === undefined ? { secret: kubeconfigSecret ?? "" } : { secretsManager: kcpSecret };
  const stage = flags.stage ?? relayDefaults.stage;
  const { namespace } = names;
  return [errors, { image, queueUrl, kubeconfig, workspaces, apiExport, namespace, region, stage, roleArn }];
}

/**
 * Returns the manifests of a relay in a Kubernetes cluster, in the order in which they can be applied: two pods, spread over nodes and zones. The pods need no
 * permissions in that cluster; in AWS they may only send to the work queue and read one secret.
 */
export function relayManifests(settings: RelayManifestSettings): readonly object[] {
  const { namespace, roleArn } = settings;
  const metadata = { name, namespace, labels };
  return [
    {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: namespace, labels: { "app.kubernetes.io/part-of": "tmc" } },
    },
    {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: {
        ...metadata,
        ...(roleArn !== undefined && { annotations: { "eks.amazonaws.com/role-arn": roleArn } }),
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
        replicas: 2,
        // A new relay must be watching before an old one stops.
        strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
        selector: { matchLabels: labels },
        template: { metadata: { labels, annotations: scrapeAnnotations }, spec: podSpec(settings) },
      },
    },
  ];
}

const scrapeAnnotations = {
  "prometheus.io/scrape": "true",
  "prometheus.io/port": String(ports.metrics),
  "prometheus.io/path": "/metrics",
} as const;

function podSpec(settings: RelayManifestSettings): object {
  const { kubeconfig } = settings;
  const volumeName = "kubeconfig";
  const secretName = "secret" in kubeconfig ? kubeconfig.secret : undefined;
  return {
    serviceAccountName: name,
    automountServiceAccountToken: false,
    // On shutdown the relay sends its queued keys for up to 25 seconds.
    terminationGracePeriodSeconds: 40,
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
        name: "relay",
        image: settings.image,
        env: environmentVariables(settings),
        ports: Object.entries(ports).map(([portName, containerPort]) => ({ name: portName, containerPort })),
        startupProbe: { ...httpProbe("/livez"), periodSeconds: 2, failureThreshold: 30 },
        livenessProbe: { ...httpProbe("/livez"), periodSeconds: 30, timeoutSeconds: 5, failureThreshold: 3 },
        readinessProbe: { ...httpProbe("/readyz"), periodSeconds: 10, timeoutSeconds: 5 },
        resources: { requests: { cpu: "50m", memory: "128Mi" }, limits: { memory: "512Mi" } },
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

function environmentVariables(settings: RelayManifestSettings): object[] {
  const { stage, region, queueUrl, kubeconfig, workspaces, apiExport } = settings;
  const variables: Readonly<Record<string, string>> = {
    TMC_STAGE: stage,
    AWS_REGION: region,
    TMC_WORK_QUEUE_URL: queueUrl,
    ...("secret" in kubeconfig
      ? { TMC_KCP_KUBECONFIG: `${kubeconfigFolder}/kubeconfig` }
      : { TMC_KCP_SECRET: kubeconfig.secretsManager }),
    ...(apiExport !== undefined
      ? { TMC_API_EXPORT: apiExport }
      : workspaces.length === 0
        ? { TMC_HUB: "kubernetes" }
        : { TMC_WORKSPACES: workspaces.join(",") }),
    // No CloudWatch agent is needed in the cluster: the alarms of the stacks read what the relay reports itself.
    TMC_CLOUDWATCH_METRICS: "api",
    TMC_METRICS_PORT: String(ports.metrics),
    TMC_HEALTH_PORT: String(ports.health),
  };
  return Object.entries(variables).map(([variable, value]) => ({ name: variable, value }));
}
