import { subdomainProblems } from "@tmc/kube/selector.ts";
import { exportAddressForm, parseExportAddress } from "../upstream/export/address.ts";
import { isWorkspaceAddress } from "../upstream/logical-cluster.ts";

/** What the command line gave for the relay, as text. */
export type RelayFlags = Readonly<{
  image?: string | undefined;
  queueUrl?: string | undefined;
  kcpSecret?: string | undefined;
  kubeconfigSecret?: string | undefined;
  /** `kcp`, or `kubernetes` for a plain cluster that has our kinds. */
  hub?: "kcp" | "kubernetes" | undefined;
  workspace?: readonly string[] | undefined;
  /** In place of workspaces: the export whose tenants are all watched. */
  apiExport?: string | undefined;
  namespace?: string | undefined;
  region?: string | undefined;
  stage?: string | undefined;
  roleArn?: string | undefined;
}>;

/** Everything that the relay's manifests are made from, checked. */
export type RelayManifestSettings = Readonly<{
  image: string;
  queueUrl: string;
  /** A secret of AWS Secrets Manager, or a Secret beside the relay that has an entry `kubeconfig`. */
  kubeconfig: Readonly<{ secretsManager: string } | { secret: string }>;
  /** Empty for a plain Kubernetes hub, and where an export is named. */
  workspaces: readonly string[];
  apiExport: string | undefined;
  namespace: string;
  region: string;
  stage: string;
  roleArn: string | undefined;
}>;

/** What each option is when it is not given. */
export const relayDefaults = { namespace: "tmc-system", stage: "default" } as const;

const name = "tmc-relay";
const labels = { "app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "tmc" } as const;
const user = 1000;
const ports = { metrics: 8080, health: 8081 } as const;
const kubeconfigFolder = "/etc/tmc/kcp";

/** Checks the options and gives them their types; the first of the answers is what is wrong, all of it. */
export function parseRelayFlags(flags: RelayFlags): readonly [problems: readonly string[], RelayManifestSettings] {
  const problems: string[] = [];
  const given = (option: string, value: string | undefined, form: RegExp, is: string): string => {
    if (value === undefined) problems.push(`--${option} is missing: ${is}`);
    else if (!form.test(value)) problems.push(`--${option} is not ${is}`);
    return value ?? "";
  };
  const { kcpSecret, kubeconfigSecret, hub = "kcp", workspace: workspaces = [], apiExport, roleArn } = flags;
  const image = given(
    "image",
    flags.image,
    /^[\w.-][\w./:@-]*$/,
    "the relay's image, such as example.com/tmc-relay:1.2.3",
  );
  if (/:latest$|^[^:@]+$/.test(image)) problems.push("--image names no version: two relays would not be the same");
  const queueUrl = given("queue-url", flags.queueUrl, /^https?:\/\/\S+\.fifo$/, "the URL of the work queue");
  const region = given(
    "region",
    flags.region,
    /^[a-z]{2}(-[a-z]+){1,2}-\d{1,2}$/,
    "an AWS region, such as eu-central-1",
  );
  if ((kcpSecret === undefined) === (kubeconfigSecret === undefined)) {
    problems.push("one of --kcp-secret and --kubeconfig-secret is needed, and not both");
  }
  if (kcpSecret !== undefined && !/^[\w/+=.@:-]+$/.test(kcpSecret)) {
    problems.push("--kcp-secret is not the name or ARN of a secret");
  }
  const names = { namespace: flags.namespace ?? relayDefaults.namespace, "kubeconfig-secret": kubeconfigSecret };
  for (const [option, value] of Object.entries(names)) {
    for (const problem of value === undefined ? [] : subdomainProblems(value)) problems.push(`--${option} ${problem}`);
  }
  if (apiExport !== undefined) {
    if (hub === "kubernetes") problems.push("--api-export is for kcp: a plain cluster has no exports");
    else if (workspaces.length > 0) problems.push("--api-export takes the place of --workspace: leave one out");
    else if (parseExportAddress(apiExport) === undefined) problems.push(`--api-export is not ${exportAddressForm}`);
  } else if (hub === "kcp" && workspaces.length === 0) {
    problems.push("--workspace is missing: a path like root:org:team; or --api-export");
  }
  if (hub === "kubernetes" && workspaces.length > 0) problems.push("--workspace is for kcp: a plain cluster has none");
  for (const path of workspaces) {
    if (!isWorkspaceAddress(path)) problems.push(`--workspace "${path}" is not a path like root:org:team`);
  }
  if (roleArn !== undefined && !/^arn:[\w-]+:iam::\d{12}:role\/\S+$/.test(roleArn)) {
    problems.push("--role-arn is not the ARN of a role");
  }
  const kubeconfig = kcpSecret === undefined ? { secret: kubeconfigSecret ?? "" } : { secretsManager: kcpSecret };
  const stage = flags.stage ?? relayDefaults.stage;
  const { namespace } = names;
  return [problems, { image, queueUrl, kubeconfig, workspaces, apiExport, namespace, region, stage, roleArn }];
}

/**
 * The relay in a Kubernetes cluster: two pods, on different nodes and in different zones where there are several. They need
 * no rights in that cluster, and in AWS only those to send to the work queue and to read the one secret.
 */
export function relayManifests(settings: RelayManifestSettings): readonly object[] {
  const { namespace, roleArn } = settings;
  const metadata = { name, namespace, labels };
  return [
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
        // A new relay watches before an old one goes.
        strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
        selector: { matchLabels: labels },
        template: { metadata: { labels, annotations: scraped }, spec: podSpec(settings) },
      },
    },
  ];
}

const scraped = {
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
    // It sends what is left for up to 25 seconds.
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
        env: environmentOf(settings),
        ports: Object.entries(ports).map(([portName, containerPort]) => ({ name: portName, containerPort })),
        startupProbe: { ...probeOf("/livez"), periodSeconds: 2, failureThreshold: 30 },
        livenessProbe: { ...probeOf("/livez"), periodSeconds: 30, timeoutSeconds: 5, failureThreshold: 3 },
        readinessProbe: { ...probeOf("/readyz"), periodSeconds: 10, timeoutSeconds: 5 },
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

function probeOf(path: string): object {
  return { httpGet: { path, port: "health" } };
}

function environmentOf(settings: RelayManifestSettings): object[] {
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
    TMC_METRICS_PORT: String(ports.metrics),
    TMC_HEALTH_PORT: String(ports.health),
  };
  return Object.entries(variables).map(([variable, value]) => ({ name: variable, value }));
}
