import { ControllerError } from "@tmc/kube/fault.ts";
import { Command, InvalidArgumentError, Option } from "commander";
import { exportWorkspace } from "../api/group.ts";
import { type BootstrapPlan, performBootstrap, planBootstrap } from "../install/bootstrap.ts";
import { readExportFacts } from "../install/export-check.ts";
import { type ExportVerdict, judgeExport } from "../install/export-conditions.ts";
import { durationForm, parseDurationSeconds } from "../model/duration.ts";
import type { CustomType } from "../upstream/custom-types.ts";
import type { CliIo } from "./cli-io.ts";
import { readCustomTypes } from "./custom-type-files.ts";
import { inKcp, type KcpConnection } from "./kcp-connection.ts";
import { timeoutOption } from "./options.ts";
import { formatDocument, formatTable, outputOption } from "./output.ts";
import { demandCheckedServer, type ServiceKubeconfig, writeServiceKubeconfigs } from "./service-kubeconfigs.ts";
import { type WorkspaceOptions, withWorkspaceOptions } from "./workspace.ts";

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
The kubeconfigs are for what runs by itself: relay.kubeconfig may only list and watch, worker.kubeconfig may read and
write what the export offers and claims, both in no workspace but those that have bound it. Their tokens end; run it again
before half of that time, from a schedule for example, and new ones are written. The old ones stay good until their end.

Examples:
  tmc bootstrap --dry-run                      what would be done
  tmc bootstrap --kubeconfig-dir secrets       do it; a second run changes nothing
  tmc bootstrap --crd widgets.yaml             offer a type of your own to tenants too
  tmc bootstrap --check                        is everything as this version needs it? exit code 1 when not
`;

/** The command that makes a kcp offer TMC to tenants. */
export function bootstrapCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    new Command("bootstrap")
      .summary("offer TMC to the tenants of a kcp")
      .description(
        `Makes the workspace ${exportWorkspace} (--workspace names another) and in it all that TMC needs: schemas, the export with its policy, roles, service accounts with their kubeconfigs, and a workspace type that binds the export by itself. Only what is missing or different is written, so it also updates and repairs; what is not TMC's is left alone.`,
      )
      .option(
        "--tenants <group>",
        "the group of users who may bind the export (default: as it is, at first system:authenticated)",
      )
      .option("--crd <file>", "a CustomResourceDefinition to offer as well; may be given several times", collect, [])
      .option("--kubeconfig-dir <folder>", "where the kubeconfigs of relay and workers are written", ".tmc")
      .option("--no-kubeconfigs", "write no kubeconfigs")
      .addOption(
        new Option("--token-lifetime <duration>", "how long the tokens in the kubeconfigs are good")
          .argParser(parseLifetime)
          .default(365 * 24 * 3600, "8760h"),
      )
      .addOption(new Option("--dry-run", "show what would be done, without doing it").conflicts("check"))
      .option("--check", "only look whether everything is as this version needs it")
      .addOption(timeoutOption())
      .addOption(outputOption(["table", "json", "yaml"])),
  )
    .addHelpText("after", help)
    .action(async (options: BootstrapOptions) => {
      const custom = (await Promise.all(options.crd.map(readCustomTypes))).flat();
      await inKcp(io, { ...options, defaultWorkspace: exportWorkspace }, (connection) =>
        options.check === true ? check(io, connection, options, custom) : bootstrap(io, connection, options, custom),
      );
    });
}

async function bootstrap(
  io: CliIo,
  { kcp, path, client, endpoint }: KcpConnection,
  options: BootstrapOptions,
  custom: readonly CustomType[],
): Promise<void> {
  const wait = { limitMs: options.timeout * 1000, clock: io.clock };
  const dryRun = options.dryRun === true;
  if (options.kubeconfigs) demandCheckedServer(endpoint);
  const plan = await planBootstrap(kcp, { path, tenants: options.tenants, custom }, wait);
  if (!dryRun) await performBootstrap(kcp, { path, plan }, wait);
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
  if (output !== "table") io.out(formatDocument({ dryRun, ...documentOf(path, plan), kubeconfigs }, output));
  else
    io.out(formatPlan(path, plan, { dryRun }) + kubeconfigs.map((file) => formatKubeconfigLine(file, dryRun)).join(""));
}

async function check(
  io: CliIo,
  { kcp, path, client }: KcpConnection,
  options: BootstrapOptions,
  custom: readonly CustomType[],
): Promise<void> {
  const verdict = judgeExport(await readExportFacts(client));
  const plan = await planBootstrap(kcp, { path, tenants: options.tenants, custom }, { clock: io.clock });
  const findings = findingsOf(verdict, plan);
  const { type, status, reason } = verdict;
  if (options.output === "table") {
    const lines = findings.length === 0 ? [verdict.message] : findings;
    io.out(`${type}=${status} ${reason}\n${lines.map((line) => `  ${line}\n`).join("")}`);
  } else io.out(formatDocument({ workspace: path, type, status, reason, findings }, options.output));
  if (findings.length > 0) {
    throw new ControllerError("invalid", `${path}: is not as this version needs it; tmc bootstrap mends that`);
  }
}

/** What is wrong with the export, and after that with what stands around it. */
function findingsOf(verdict: ExportVerdict, { steps }: BootstrapPlan): readonly string[] {
  const around = steps.filter(({ object: { kind } }) => kind !== "APIExport" && kind !== "APIResourceSchema");
  return [
    ...verdict.findings.map(({ message }) => message),
    ...around.map(
      ({ action, object: { kind, metadata }, differences }) =>
        `${kind} ${metadata.name}: ${action === "create" ? "there is none" : differences.join("; ")}`,
    ),
  ];
}

const done = { create: "created", change: "changed", replace: "replaced" } as const;

function documentOf(path: string, { makesWorkspace, steps, unchanged, kept }: BootstrapPlan) {
  return {
    workspace: path,
    changes: [
      ...(makesWorkspace ? [{ action: "create", kind: "Workspace", name: path, differences: [] }] : []),
      ...steps.map(({ action, object: { kind, metadata }, differences }) => ({
        action,
        kind,
        name: metadata.name,
        differences,
      })),
    ],
    unchanged,
    kept: kept.map(({ plural, group }) => `${plural}.${group}`),
  };
}

function formatPlan(path: string, plan: BootstrapPlan, { dryRun }: Readonly<{ dryRun: boolean }>): string {
  const { changes, unchanged, kept } = documentOf(path, plan);
  const stays = kept.length === 0 ? "" : `kept in the export: ${kept.join(", ")}\n`;
  if (changes.length === 0) return `${stays}${path}: nothing to change, ${unchanged} objects are as they should be\n`;
  const hasReasons = changes.some(({ differences }) => differences.length > 0);
  const rows = changes.map(({ action, kind, name, differences }) => [
    dryRun ? action : done[action as keyof typeof done],
    kind,
    name,
    ...(hasReasons ? [differences.join("; ") || "there is none"] : []),
  ]);
  const columns = ["ACTION", "KIND", "NAME", ...(hasReasons ? ["WHY"] : [])];
  const rest = unchanged === 0 ? "" : `${unchanged} more are as they should be\n`;
  return `${formatTable(columns, rows)}${rest}${stays}`;
}

function formatKubeconfigLine({ service, path, why }: ServiceKubeconfig, dryRun: boolean): string {
  if (why === undefined) return `kubeconfig of the ${service}: ${path}\n`;
  return `kubeconfig of the ${service}: ${path} (${dryRun ? "to be written" : "written"}: ${why})\n`;
}

const collect = (file: string, before: readonly string[]): readonly string[] => [...before, file];

function parseLifetime(text: string): number {
  const seconds = parseDurationSeconds(text);
  if (seconds === undefined || seconds < 600) {
    throw new InvalidArgumentError(`write ${durationForm}, ten minutes or more.`);
  }
  return seconds;
}
