import { Command, Option } from "commander";
import { dump } from "js-yaml";
import { apiExport, type ExportVersion, exportVersions, localPolicy } from "../api/api-export.ts";
import { permissionPolicy } from "../api/export-access.ts";
import { exportWorkspace } from "../api/group.ts";
import type { ServedKind } from "../api/kind.ts";
import { kinds, offeredKinds } from "../api/kinds.ts";
import { clusterRoles } from "../api/rbac.ts";
import { apiResourceSchema, customResourceDefinition } from "../api/resource-schema.ts";

import { collectWords } from "./names.ts";
import { parseRelayFlags, type RelayFlags, relayDefaults, relayManifests } from "./relay-manifests.ts";

const hubFormats = ["kcp", "crd"] as const;
export type ManifestFormat = (typeof hubFormats)[number];
const formats = [...hubFormats, "relay"] as const;

const outputs = ["yaml", "json"] as const;
type Output = (typeof outputs)[number];

export type ManifestOptions = Readonly<{
  /**
   * The version of the APIExport.
   *
   * @default "v1alpha2"
   */
  exportVersion?: ExportVersion;
  /**
   * Whether types that kubectl can change only by server-side apply say so with every answer.
   *
   * @default true
   */
  warnings?: boolean;
}>;

/** What has to be on a hub before TMC can work with it: a kcp workspace that exports our API, or a plain cluster. */
export function manifests(format: ManifestFormat, options: ManifestOptions = {}): readonly object[] {
  if (format === "crd") return [...kinds.map(customResourceDefinition), ...clusterRoles];
  const exported = offeredKinds.map((kind) => (options.warnings === false ? withoutWarning(kind) : kind));
  const { spec, ...offer } = apiExport(exported, options.exportVersion);
  return [
    ...exported.map(apiResourceSchema),
    ...permissionPolicy(exported),
    { ...offer, spec: { ...spec, ...localPolicy } },
    ...clusterRoles,
  ];
}

function withoutWarning({ warning: _, ...kind }: ServedKind): ServedKind {
  return kind;
}

export type RenderOptions = ManifestOptions & Readonly<{ output?: Output }>;

/** The manifests of a format as text that `kubectl apply -f -` takes: a stream of YAML documents, or one JSON list. */
export function renderManifests(format: ManifestFormat, { output = "yaml", ...options }: RenderOptions = {}): string {
  return renderItems(manifests(format, options), output);
}

function renderItems(items: readonly object[], output: Output): string {
  if (output === "json") return `${JSON.stringify({ apiVersion: "v1", kind: "List", items }, null, 2)}\n`;
  // Shared parts are written out each time: kubectl reads aliases, people do not.
  return items.map((item) => `---\n${dump(item, { noRefs: true, lineWidth: 120 })}`).join("");
}

const examples = `
Examples:
  # kcp: offer the API to tenants from the workspace ${exportWorkspace}
  tmc manifests --format kcp | kubectl --server https://kcp.example.com/clusters/${exportWorkspace} apply --server-side -f -

  # a plain Kubernetes cluster as the hub
  tmc manifests --format crd | kubectl apply --server-side -f -

  # a kcp older than 0.28
  tmc manifests --format kcp --export-version v1alpha1

  # the relay of the deployed form, in a Kubernetes cluster in place of Fargate
  tmc manifests --format relay --image example.com/tmc-relay:1.2.3 --region eu-central-1 \\
    --queue-url https://sqs.eu-central-1.amazonaws.com/123456789012/tmc-prod-work.fifo \\
    --kcp-secret tmc/kcp --workspace root:production | kubectl apply --server-side -f -
`;

type Flags = RenderOptions & RelayFlags & Readonly<{ format: (typeof formats)[number] }>;

/** The command that prints what has to be applied to a hub, or where the relay is to run. */
export function manifestsCommand(write: (text: string) => void = (text) => void process.stdout.write(text)): Command {
  return new Command("manifests")
    .summary("print the manifests that a hub or a relay needs")
    .description(
      "Prints the manifests that a hub needs: for kcp APIResourceSchemas and an APIExport, for a plain cluster CRDs, and ClusterRoles for both; or those of a relay that runs in a Kubernetes cluster and sends to SQS.",
    )
    .addOption(new Option("--format <format>", "what the hub is, or relay").choices(formats).makeOptionMandatory())
    .addOption(new Option("-o, --output <output>", "how to print them").choices(outputs).default("yaml"))
    .addOption(
      new Option("--export-version <version>", "the version of the APIExport (kcp only)")
        .choices(exportVersions)
        .default("v1alpha2"),
    )
    .option("--no-warnings", "leave out the warnings of types that only --server-side can change fully (kcp only)")
    .option("--image <image>", "the relay's image, with its version (relay only)")
    .option("--queue-url <url>", "the URL of the work queue (relay only)")
    .option("--region <region>", "the AWS region of the queue (relay only)")
    .option("--kcp-secret <name>", "the secret of AWS Secrets Manager that holds the hub's kubeconfig (relay only)")
    .option(
      "--kubeconfig-secret <name>",
      "in its place, a Secret in the relay's namespace with an entry kubeconfig (relay only)",
    )
    .addOption(
      new Option(
        "--workspace <path>",
        "a workspace to watch; several with commas, or given again (relay only)",
      ).argParser(collectWords),
    )
    .option(
      "--api-export <workspace:name>",
      "in place of workspaces: every one that has bound this export (relay only)",
    )
    .addOption(
      new Option("--hub <kind>", "kcp, or kubernetes for a plain cluster with our CRDs (relay only)")
        .choices(["kcp", "kubernetes"])
        .default("kcp"),
    )
    .option("--namespace <name>", `where the relay runs (relay only) (default: ${relayDefaults.namespace})`)
    .option(
      "--stage <name>",
      `the stage that it belongs to, for its log (relay only) (default: ${relayDefaults.stage})`,
    )
    .option("--role-arn <arn>", "the AWS role of the relay's pods, on EKS without Pod Identity (relay only)")
    .addHelpText("after", examples)
    .showHelpAfterError("(tmc manifests --help says more)")
    .action(({ format, output = "yaml", ...options }: Flags, command: Command) => {
      if (format !== "relay") {
        write(renderManifests(format, { ...options, output }));
        return;
      }
      const [problems, settings] = parseRelayFlags(options);
      if (problems.length > 0) command.error(`error: ${problems.join("; ")}`);
      write(renderItems(relayManifests(settings), output));
    });
}
