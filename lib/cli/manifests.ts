import { Command, Option } from "commander";
import { dump } from "js-yaml";
import { apiExport, type ExportVersion, exportVersions } from "../api/api-export.ts";
import { customResourceDefinition } from "../api/crd.ts";
import { exportWorkspace } from "../api/group.ts";
import type { ServedKind } from "../api/kind.ts";
import { kinds } from "../api/kinds.ts";
import { offeredKinds } from "../api/offered-kinds.ts";
import { clusterRoles } from "../api/rbac.ts";
import { apiResourceSchema } from "../api/resource-schema.ts";

const formats = ["kcp", "crd"] as const;
export type ManifestFormat = (typeof formats)[number];

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
  return [...exported.map(apiResourceSchema), apiExport(exported, options.exportVersion), ...clusterRoles];
}

function withoutWarning({ warning: _, ...kind }: ServedKind): ServedKind {
  return kind;
}

export type RenderOptions = ManifestOptions & Readonly<{ output?: Output }>;

/** The manifests of a format as text that `kubectl apply -f -` takes: a stream of YAML documents, or one JSON list. */
export function renderManifests(format: ManifestFormat, { output = "yaml", ...options }: RenderOptions = {}): string {
  const items = manifests(format, options);
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
`;

/** The command that prints what has to be applied to a hub. */
export function manifestsCommand(write: (text: string) => void = (text) => void process.stdout.write(text)): Command {
  return new Command("manifests")
    .summary("print the manifests that a hub needs")
    .description(
      "Prints the manifests that a hub needs: for kcp APIResourceSchemas and an APIExport, for a plain cluster CRDs, and ClusterRoles for both.",
    )
    .addOption(new Option("--format <format>", "what the hub is").choices(formats).makeOptionMandatory())
    .addOption(new Option("-o, --output <output>", "how to print them").choices(outputs).default("yaml"))
    .addOption(
      new Option("--export-version <version>", "the version of the APIExport (kcp only)")
        .choices(exportVersions)
        .default("v1alpha2"),
    )
    .option("--no-warnings", "leave out the warnings of types that only --server-side can change fully (kcp only)")
    .addHelpText("after", examples)
    .showHelpAfterError("(tmc manifests --help says more)")
    .action((options: RenderOptions & Readonly<{ format: ManifestFormat }>) => {
      write(renderManifests(options.format, options));
    });
}
