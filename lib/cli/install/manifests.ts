import { Command, Option } from "commander";
import { dump } from "js-yaml";
import { apiExport, type ExportVersion, exportVersions, localPermissionPolicy } from "../../api/api-export.ts";
import { permissionPolicy } from "../../api/export-access.ts";
import { exportWorkspace } from "../../api/group.ts";
import { kinds, offeredKindsWith } from "../../api/kinds.ts";
import { clusterRoles } from "../../api/rbac.ts";
import { apiResourceSchema, customResourceDefinition } from "../../api/resource-schema.ts";

import { clusterAccess } from "../../install/cluster-access.ts";
import { collectList, commandName } from "../names.ts";
import { type AccessTypeFlags, accessTypeOptions, readAccessTypes } from "./access-options.ts";
import {
  type ControllerManifestFlags,
  controllerDefaults,
  controllerManifests,
  parseControllerManifestFlags,
} from "./controller-manifests.ts";
import { defaultNamespace } from "./deployment-manifests.ts";
import { parseRelayFlags, type RelayFlags, relayDefaults, relayManifests } from "./relay-manifests.ts";

const upstreamFormats = ["kcp", "crd"] as const;
export type ManifestFormat = (typeof upstreamFormats)[number];
const formats = [...upstreamFormats, "controller", "relay", "cluster-access"] as const;

const outputs = ["yaml", "json"] as const;
type Output = (typeof outputs)[number];

export type ManifestOptions = Readonly<{
  /**
   * API version of the APIExport.
   *
   * @default "v1alpha2"
   */
  exportVersion?: ExportVersion;
  /**
   * Whether the server answers with a warning for types that kubectl can change fully only by server-side apply.
   *
   * @default true
   */
  warnings?: boolean;
}>;

/** Returns the objects that upstream needs: for the provider workspace of kcp, or for a plain Kubernetes cluster. */
export function manifests(format: ManifestFormat, options: ManifestOptions = {}): readonly object[] {
  if (format === "crd") return [...kinds.map(customResourceDefinition), ...clusterRoles];
  const exported = offeredKindsWith(options);
  const { spec, ...object } = apiExport(exported, options.exportVersion);
  return [
    ...exported.map(apiResourceSchema),
    ...permissionPolicy(exported),
    { ...object, spec: { ...spec, ...localPermissionPolicy } },
    ...clusterRoles,
  ];
}

export type RenderOptions = ManifestOptions & Readonly<{ output?: Output }>;

/** Returns the manifests as text for `kubectl apply -f -`: a stream of YAML documents, or one JSON List. */
export function renderManifests(format: ManifestFormat, { output = "yaml", ...options }: RenderOptions = {}): string {
  return renderItems(manifests(format, options), output);
}

function renderItems(items: readonly object[], output: Output): string {
  if (output === "json") return `${JSON.stringify({ apiVersion: "v1", kind: "List", items }, null, 2)}\n`;
  // Without YAML aliases, for readability; kubectl would accept them.
  return items.map((item) => `---\n${dump(item, { noRefs: true, lineWidth: 120 })}`).join("");
}

const examples = `
Examples:
  # Export TMC's API from the workspace ${exportWorkspace} of kcp
  tmc manifests --format kcp | kubectl apply --server-side -f - \\
    --server https://kcp.example.com/clusters/${exportWorkspace}

  # Install TMC's CRDs in a plain Kubernetes cluster
  tmc manifests --format crd | kubectl apply --server-side -f -

  # Print the manifests for a kcp older than 0.28
  tmc manifests --format kcp --export-version v1alpha1

  # Give TMC access to a member cluster; tmc cluster join does this and
  # registers the cluster
  tmc manifests --format cluster-access --type deployments.apps \\
    --type services | kubectl apply -f -

  # Run two controllers, of which one works and one waits, in a Kubernetes
  # cluster
  kubectl create namespace tmc-system
  kubectl --namespace tmc-system create secret generic tmc-kcp \\
    --from-file kubeconfig=worker.kubeconfig
  tmc manifests --format controller --image example.com/tmc-controller:1.2.3 \\
    --api-export root:tmc:tmc.kcp.io | kubectl apply --server-side -f -

  # Run the relay in a Kubernetes cluster instead of Fargate
  tmc manifests --format relay --image example.com/tmc-relay:1.2.3 \\
    --region eu-central-1 \\
    --queue-url https://sqs.eu-central-1.amazonaws.com/123456789012/tmc.fifo \\
    --kcp-secret tmc-prod-kcp --workspace root:production \\
    | kubectl apply --server-side -f -
`;

type Flags = RenderOptions &
  RelayFlags &
  ControllerManifestFlags &
  AccessTypeFlags &
  Readonly<{ group?: string }> &
  Readonly<{ format: (typeof formats)[number] }>;

/** Creates the `manifests` command. */
export function manifestsCommand(write: (text: string) => void = (text) => void process.stdout.write(text)): Command {
  const command = new Command("manifests")
    .summary("Print the manifests of TMC's API, of the controller, of the relay, or of its access to a cluster")
    .description(
      "Print the manifests that install TMC's API upstream: APIResourceSchemas and an APIExport for kcp, CRDs for a plain Kubernetes cluster, and ClusterRoles for both. With --format controller, print the manifests of a controller that runs in a Kubernetes cluster. With --format relay, print the manifests of a relay that runs in a Kubernetes cluster and sends to SQS. With --format cluster-access, print the manifests of a service account with the narrowest role that TMC needs on a member cluster.",
    )
    .addOption(
      new Option(
        "--format <format>",
        "Kind of manifests: kcp, crd (a plain Kubernetes cluster), controller, relay, or cluster-access (a member cluster)",
      )
        .choices(formats)
        .makeOptionMandatory(),
    )
    .addOption(new Option("-o, --output <output>", "Output format").choices(outputs).default("yaml"))
    .addOption(
      new Option("--export-version <version>", "API version of the APIExport (kcp only)")
        .choices(exportVersions)
        .default("v1alpha2"),
    )
    .option(
      "--no-warnings",
      "Omit the warnings for types that kubectl can change fully only with --server-side (kcp only)",
    )
    .option("--image <image>", "Container image, with a version (controller and relay only)")
    .option(
      "--replicas <number>",
      `Number of pods, of which one works (controller only) (default: ${controllerDefaults.replicas})`,
    )
    .option("--service-monitor", "Add a ServiceMonitor for the Prometheus operator (controller only)")
    .option("--queue-url <url>", "URL of the work queue (relay only)")
    .option("--region <region>", "AWS region of the work queue (relay only)")
    .option(
      "--kcp-secret <name>",
      "Name of the secret in AWS Secrets Manager that contains the kubeconfig for kcp (relay only)",
    )
    .option(
      "--kubeconfig-secret <name>",
      `Name of a Kubernetes Secret with the kubeconfig for kcp under the key kubeconfig, in the namespace of the pods; for the relay instead of --kcp-secret (controller and relay only) (default for the controller: ${controllerDefaults.kubeconfigSecret})`,
    )
    .addOption(
      new Option(
        "--workspace <path>",
        "Path of a workspace to serve; can be repeated or comma-separated (controller and relay only)",
      ).argParser(collectList),
    )
    .option(
      "--api-export <workspace:name>",
      "APIExport whose tenant workspaces are all served, instead of --workspace (controller and relay only)",
    )
    .addOption(
      new Option(
        "--hub <kind>",
        "Kind of the upstream server: kcp, or kubernetes for a plain cluster with TMC's CRDs (controller and relay only)",
      )
        .choices(["kcp", "kubernetes"])
        .default("kcp"),
    )
    .option("--namespace <name>", `Namespace of the pods (controller and relay only) (default: ${defaultNamespace})`)
    .option(
      "--stage <name>",
      `Name of the stage, for the log of the relay (relay only) (default: ${relayDefaults.stage})`,
    )
    .option("--role-arn <arn>", "ARN of the IAM role of the relay's pods, for EKS without Pod Identity (relay only)")
    .option("--group <name>", "Give access to this group instead of a service account (cluster-access only)")
    .addHelpText("after", examples);
  return accessTypeOptions(command, " (cluster-access only)")
    .showHelpAfterError(`(see ${commandName()} manifests --help)`)
    .action(({ format, output = "yaml", ...options }: Flags, command: Command) => {
      if (format === "cluster-access") {
        write(renderItems(clusterAccess({ ...readAccessTypes(options), group: options.group }), output));
        return;
      }
      if (format === "controller") {
        const { errors, settings } = parseControllerManifestFlags(options);
        if (settings === undefined) command.error(`error: ${errors.join("; ")}`);
        write(renderItems(controllerManifests(settings), output));
        return;
      }
      if (format !== "relay") {
        write(renderManifests(format, { ...options, output }));
        return;
      }
      const [errors, settings] = parseRelayFlags(options);
      if (errors.length > 0) command.error(`error: ${errors.join("; ")}`);
      write(renderItems(relayManifests(settings), output));
    });
}
