import { ControllerError } from "@tmc/kube/fault.ts";
import { Command, InvalidArgumentError, Option } from "commander";
import { hubRecordName } from "../../api/export-access.ts";
import { exportWorkspace } from "../../api/group.ts";
import { type BootstrapPlan, performBootstrap, planBootstrap } from "../../install/bootstrap.ts";
import { readExportFacts } from "../../install/export-check.ts";
import { type ExportVerdict, evaluateExport } from "../../install/export-conditions.ts";
import { durationForm, parseDurationSeconds } from "../../model/timestamp.ts";
import type { CustomType } from "../../upstream/custom-types.ts";
import type { CliIo } from "../cli-io.ts";
import { readCustomTypes } from "../controller/custom-type-files.ts";
import { commandName } from "../names.ts";
import { timeoutOption } from "../options.ts";
import { formatDocument, formatTable, outputOption } from "../output.ts";
import { type WorkspaceOptions, withWorkspaceOptions } from "../workspace.ts";
import { type KcpConnection, withKcp } from "./kcp-connection.ts";
import { requireVerifiedServer, type ServiceKubeconfig, writeServiceKubeconfigs } from "./service-kubeconfigs.ts";

type BootstrapOptions = WorkspaceOptions &
  Readonly<{
    tenants?: string;
    crd: readonly string[];
    kubeconfigs: boolean;
    kubeconfigDir: string;
    tokenLifetime: number;
    dryRun?: true;
    check?: true;
    timeout: number;
    output: "table" | "json" | "yaml";
  }>;

const help = `
The command writes two kubeconfigs: relay.kubeconfig may list and watch,
worker.kubeconfig may read and write the exported and the claimed resources.
Both have access only to workspaces that bind the APIExport. Their tokens
expire. A run after half of their lifetime writes new ones, so run the command
periodically; the previous tokens stay valid until they expire.

Examples:
  # Print the changes without making them
  tmc bootstrap --dry-run

  # Install TMC and write the kubeconfigs to a directory; a second run changes
  # nothing
  tmc bootstrap --kubeconfig-dir secrets

  # Export a custom resource to tenants too
  tmc bootstrap --crd widgets.yaml

  # Check that the installation matches this version; the exit code is 1 when it
  # does not
  tmc bootstrap --check
`;

/** Creates the `bootstrap` command. */
export function bootstrapCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    new Command("bootstrap")
      .summary("Install TMC's APIExport in kcp, or update it")
      .description(
        `Create the workspace ${exportWorkspace} (or the one of --workspace) and the objects that TMC needs in it: APIResourceSchemas, the APIExport with its maximal permission policy, roles, service accounts with their kubeconfigs, and a WorkspaceType that binds the APIExport. The command writes only objects that are missing or different, so it also updates and repairs an installation. It does not change objects that TMC does not own.`,
      )
      .option(
        "--tenants <group>",
        "Group of users that may bind the APIExport (default: unchanged; system:authenticated in a new installation)",
      )
      .option("--crd <file>", "Path to a CustomResourceDefinition to export too; can be repeated", collect, [])
      .option("--kubeconfig-dir <folder>", "Directory for the kubeconfigs of the relay and the workers", ".tmc")
      .option("--no-kubeconfigs", "Do not write kubeconfigs")
      .addOption(
        new Option("--token-lifetime <duration>", "Lifetime of the tokens in the kubeconfigs")
          .argParser(parseLifetime)
          .default(365 * 24 * 3600, "8760h"),
      )
      .addOption(new Option("--dry-run", "Print the changes without making them").conflicts("check"))
      .option("--check", "Only check whether the installation matches this version")
      .addOption(timeoutOption())
      .addOption(outputOption(["table", "json", "yaml"])),
  )
    .addHelpText("after", help)
    .action(async (options: BootstrapOptions) => {
      const custom = (await Promise.all(options.crd.map(readCustomTypes))).flat();
      await withKcp(io, { ...options, defaultWorkspace: exportWorkspace }, (connection) =>
        options.check === true ? check(io, connection, options, custom) : bootstrap(io, connection, options, custom),
      );
    });
}

async function bootstrap(
  io: CliIo,
  { kcp, path, client, endpoint, openEndpoint }: KcpConnection,
  options: BootstrapOptions,
  custom: readonly CustomType[],
): Promise<void> {
  const wait = { timeoutMs: options.timeout * 1000, clock: io.clock };
  const dryRun = options.dryRun === true;
  if (options.kubeconfigs) requireVerifiedServer(endpoint);
  const plan = await planBootstrap(kcp, { path, tenants: options.tenants, custom }, wait);
  if (!dryRun) await performBootstrap(kcp, { path, plan, openEndpoint }, wait);
  const kubeconfigs = !options.kubeconfigs
    ? []
    : await writeServiceKubeconfigs({
        provider: client,
        endpoint,
        path,
        folder: options.kubeconfigDir,
        lifetimeSeconds: options.tokenLifetime,
        dryRun,
        clock: io.clock,
      });
  const { output } = options;
  if (output !== "table") io.out(formatDocument({ dryRun, ...planDocument(path, plan), kubeconfigs }, output));
  else
    io.out(formatPlan(path, plan, { dryRun }) + kubeconfigs.map((file) => formatKubeconfigLine(file, dryRun)).join(""));
}

async function check(
  io: CliIo,
  { kcp, path, client }: KcpConnection,
  options: BootstrapOptions,
  custom: readonly CustomType[],
): Promise<void> {
  const verdict = evaluateExport(await readExportFacts(client));
  const plan = await planBootstrap(kcp, { path, tenants: options.tenants, custom }, { clock: io.clock });
  const findings = findingsOf(verdict, plan);
  const { type, status, reason } = verdict;
  if (options.output === "table") {
    const lines = findings.length === 0 ? [verdict.message] : findings;
    io.out(`${type}=${status} ${reason}\n${lines.map((line) => `  ${line}\n`).join("")}`);
  } else io.out(formatDocument({ workspace: path, type, status, reason, findings }, options.output));
  if (findings.length > 0) {
    throw new ControllerError(
      "invalid",
      `${path}: the installation does not match this version; run ${commandName()} bootstrap to repair it`,
    );
  }
}

/** Lists the findings about the APIExport first, then those about the other objects. */
function findingsOf(verdict: ExportVerdict, { steps, storesIdentity }: BootstrapPlan): readonly string[] {
  const otherSteps = steps.filter(({ object: { kind } }) => kind !== "APIExport" && kind !== "APIResourceSchema");
  return [
    ...verdict.findings.map(({ message }) => message),
    ...otherSteps.map(
      ({ action, object: { kind, metadata }, differences }) =>
        `${kind} ${metadata.name}: ${action === "create" ? "missing" : differences.join("; ")}`,
    ),
    ...(storesIdentity ? [`ConfigMap ${hubRecordName}: missing`] : []),
  ];
}

const pastActions = { create: "created", change: "changed", replace: "replaced" } as const;

function planDocument(path: string, { createsWorkspace, steps, storesIdentity, unchanged, retained }: BootstrapPlan) {
  return {
    workspace: path,
    changes: [
      ...(createsWorkspace ? [{ action: "create", kind: "Workspace", name: path, differences: [] }] : []),
      ...steps.map(({ action, object: { kind, metadata }, differences }) => ({
        action,
        kind,
        name: metadata.name,
        differences,
      })),
      ...(storesIdentity ? [{ action: "create", kind: "ConfigMap", name: hubRecordName, differences: [] }] : []),
    ],
    unchanged,
    kept: retained.map(({ plural, group }) => `${plural}.${group}`),
  };
}

function formatPlan(path: string, plan: BootstrapPlan, { dryRun }: Readonly<{ dryRun: boolean }>): string {
  const { changes, unchanged, kept } = planDocument(path, plan);
  const keptText = kept.length === 0 ? "" : `kept in the APIExport: ${kept.join(", ")}\n`;
  if (changes.length === 0) return `${keptText}${path}: no changes, ${unchanged} objects are up to date\n`;
  const hasReasons = changes.some(({ differences }) => differences.length > 0);
  const rows = changes.map(({ action, kind, name, differences }) => [
    dryRun ? action : pastActions[action as keyof typeof pastActions],
    kind,
    name,
    ...(hasReasons ? [differences.join("; ") || "missing"] : []),
  ]);
  const columns = ["ACTION", "KIND", "NAME", ...(hasReasons ? ["REASON"] : [])];
  const unchangedText = unchanged === 0 ? "" : `${unchanged} more objects are up to date\n`;
  return `${formatTable(columns, rows)}${unchangedText}${keptText}`;
}

function formatKubeconfigLine({ service, path, reason }: ServiceKubeconfig, dryRun: boolean): string {
  if (reason === undefined) return `kubeconfig of the ${service}: ${path}\n`;
  return `kubeconfig of the ${service}: ${path} (${dryRun ? "would be written" : "written"}: ${reason})\n`;
}

const collect = (file: string, previous: readonly string[]): readonly string[] => [...previous, file];

function parseLifetime(text: string): number {
  const seconds = parseDurationSeconds(text);
  if (seconds === undefined || seconds < 600) {
    throw new InvalidArgumentError(`expected ${durationForm} of at least 10 minutes.`);
  }
  return seconds;
}
