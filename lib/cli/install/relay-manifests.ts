import { exportAddressForm, parseExportAddress } from "../../upstream/export/address.ts";
import { isWorkspaceAddress } from "../../upstream/logical-cluster.ts";
import {
  defaultNamespace,
  deploymentManifests,
  imageErrors,
  kubeconfigFolder,
  nameErrors,
} from "./deployment-manifests.ts";

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

export const relayDefaults = { stage: "default" } as const;

const name = "tmc-relay";
const ports = { metrics: 8080, health: 8081 } as const;

/** Validates the options; returns all errors, and the settings, which are only meaningful without errors. */
export function parseRelayFlags(flags: RelayFlags): readonly [errors: readonly string[], RelayManifestSettings] {
  const errors = [...imageErrors(flags.image, "the relay's image, such as example.com/tmc-relay:1.2.3")];
  const checked = (option: string, value: string | undefined, pattern: RegExp, form: string): string => {
    if (value === undefined) errors.push(`--${option} is required: ${form}`);
    else if (!pattern.test(value)) errors.push(`--${option} must be ${form}`);
    return value ?? "";
  };
  const { kcpSecret, kubeconfigSecret, hub = "kcp", workspace: workspaces = [], apiExport, roleArn } = flags;
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
  const names = { namespace: flags.namespace ?? defaultNamespace, "kubeconfig-secret": kubeconfigSecret };
  errors.push(...nameErrors(names));
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
  const [{ namespace }, image] = [names, flags.image ?? ""];
  return [errors, { image, queueUrl, kubeconfig, workspaces, apiExport, namespace, region, stage, roleArn }];
}

/**
 * Returns the manifests of a relay in a Kubernetes cluster: two pods, spread over nodes and zones. The pods need no
 * permissions in that cluster; in AWS they may only send to the work queue and read one secret.
 */
export function relayManifests(settings: RelayManifestSettings): readonly object[] {
  const { namespace, roleArn, kubeconfig } = settings;
  return deploymentManifests({
    name,
    container: "relay",
    namespace,
    labels: { "app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "tmc" },
    replicas: 2,
    image: settings.image,
    command: { env: environmentVariables(settings) },
    ports,
    kubeconfigSecret: "secret" in kubeconfig ? kubeconfig.secret : undefined,
    serviceAccountAnnotations: roleArn === undefined ? undefined : { "eks.amazonaws.com/role-arn": roleArn },
    usesServiceAccountToken: false,
    resources: { requests: { cpu: "50m", memory: "128Mi" }, limits: { memory: "512Mi" } },
    // On shutdown the relay sends its queued keys for up to 25 seconds.
    terminationGracePeriodSeconds: 40,
  });
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
