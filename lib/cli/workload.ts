import { delay } from "@tmc/kube/deadline.ts";
import { Argument, Command } from "commander";
import type { WorkloadSync } from "../api/workload-sync.ts";
import { type CliIo, Ending, UsageError } from "./cli-io.ts";
import { type NamespaceOptions, namespaceOf, timeoutOption, withNamespaceOption } from "./options.ts";
import { formatDocument, formatObjects, type Output, outputOption } from "./output.ts";

import { describeWorkload, type ShownWorkload, workloadDocument } from "./workload-format.ts";
import { formatWorkloads, listedWorkloads } from "./workload-list.ts";
import { byName, readWorkload, shownOf } from "./workload-read.ts";
import { parseWorkloadType, parseWorkloadWords } from "./workload-words.ts";
import { inWorkspace, type WorkspaceOptions, withWorkspaceOptions } from "./workspace.ts";

/** The commands about workloads that are placed on clusters. */
export function workloadCommand(io: CliIo): Command {
  return new Command("workload")
    .summary("placed workloads: list, status")
    .description("Looks at the workloads of a workspace, and at how they are on the clusters that run them.")
    .addCommand(listCommand(io))
    .addCommand(statusCommand(io));
}

type ListOptions = WorkspaceOptions & NamespaceOptions & Readonly<{ output: Output; allNamespaces?: true }>;

const listHelp = `
Listed is what TMC has a record of: workloads that are on a cluster, or are to be. CLUSTERS counts those on which the workload
is ready, READY its replicas on all of them.

Examples:
  tmc workload list -A               all of the workspace
  tmc workload list deploy -n shop   the Deployments of one namespace
  tmc workload list -A -o wide       how they are on each cluster, and why
`;

function listCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    withNamespaceOption(
      new Command("list")
        .alias("ls")
        .summary("list the workloads that are placed on clusters")
        .addArgument(new Argument("[kind]", "only this type, such as deploy"))
        .option("-A, --all-namespaces", "in all namespaces")
        .addOption(outputOption()),
    ),
  )
    .addHelpText("after", listHelp)
    .action((word: string | undefined, options: ListOptions) =>
      inWorkspace(io, options, async (workspace) => {
        const { output } = options;
        const isAll = options.allNamespaces === true;
        if (isAll && options.namespace !== undefined)
          throw new UsageError("--all-namespaces and --namespace: leave one out");
        const records = recordsOf(await workspace.records(isAll ? undefined : namespaceOf(options, workspace)), word);
        if (output === "json" || output === "yaml") io.out(formatObjects(records, output));
        else if (records.length === 0) {
          io.err(`no workloads are placed${isAll ? "" : ` in namespace ${namespaceOf(options, workspace)}`}\n`);
        } else {
          const [placements, clusters] = await Promise.all([workspace.placements(), workspace.clusters()]);
          const listed = listedWorkloads(records, { placements: byName(placements), clusters: byName(clusters) });
          const nowMs = io.clock.now();
          io.out(formatWorkloads(listed, { wide: output === "wide", nowMs, withNamespace: isAll }));
        }
      }),
    );
}

function recordsOf(records: readonly WorkloadSync[], word: string | undefined): readonly WorkloadSync[] {
  if (word === undefined) return records;
  const { apiVersion, kind, type } = parseWorkloadType(word);
  return records.filter(({ metadata, spec }) =>
    kind === undefined
      ? spec.workload.apiVersion === apiVersion && metadata.name?.startsWith(`${type.plural}-`) === true
      : spec.workload.apiVersion === apiVersion && spec.workload.kind === kind,
  );
}

type StatusOptions = WorkspaceOptions & NamespaceOptions & Readonly<{ output: Output; watch?: true; timeout: number }>;

const statusHelp = `
The exit code is 0 when what was last asked for is there and ready on every cluster that the workload belongs on, and 1 when
it is not, with the reason on standard error; with --watch it waits for that, as kubectl rollout status does.

WRITTEN is the generation of the workload that the cluster was last given, AGE how long ago the cluster last told something
new of it; -o wide adds when the cluster was last heard from.

Examples:
  tmc workload status deploy web -n shop                      how it is on each cluster, and why
  tmc workload status deploy/web -n shop --watch              wait until it is ready everywhere
  tmc workload status databases.v1.example.com main -o json   a type of your own, for a program
`;

/** How often the server is asked while somebody waits. */
const lookEveryMs = 1_000;

function statusCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    withNamespaceOption(
      new Command("status")
        .alias("describe")
        .summary("say how a workload is on each cluster")
        .description("Says where a workload runs, how it is there, and why it is not as it should be.")
        .addArgument(new Argument("<kind>", "its type, such as deploy, or both as kind/name"))
        .addArgument(new Argument("[name]", "its name"))
        .option("-w, --watch", "wait until it is ready, and tell what changes meanwhile")
        .addOption(timeoutOption({ seconds: 300, shown: "5m" }))
        .addOption(outputOption()),
    ),
  )
    .addHelpText("after", statusHelp)
    .action((first: string, second: string | undefined, options: StatusOptions) =>
      inWorkspace(io, options, async (workspace) => {
        const named = parseWorkloadWords(first, second);
        const look = async (): Promise<ShownWorkload> =>
          shownOf(
            await readWorkload(workspace, named, { namespace: namespaceOf(options, workspace), metadataOnly: true }),
          );
        const shown = options.watch === true ? await untilReady(io, look, options) : await look();
        print(io, shown, options.output);
        const { verdict } = shown.view;
        if (!verdict.isReady) throw new Ending(1, `${shown.title} is not ready: ${verdict.message}`);
      }),
    );
}

/** Looks until the workload is ready or the time is over, and tells on the way what is still missing. */
async function untilReady(
  io: CliIo,
  look: () => Promise<ShownWorkload>,
  { timeout }: Pick<StatusOptions, "timeout">,
): Promise<ShownWorkload> {
  const ending = new AbortController();
  void io.untilInterrupted().then(() => ending.abort());
  const end = io.clock.now() + timeout * 1000;
  let told = "";
  for (;;) {
    const shown = await look();
    const { verdict } = shown.view;
    if (verdict.isReady || io.clock.now() >= end) return shown;
    if (verdict.message !== told) io.err(`waiting for ${shown.title}: ${verdict.message}\n`);
    told = verdict.message;
    if (!(await delay(io.clock, lookEveryMs, ending.signal))) return shown;
  }
}

function print(io: CliIo, shown: ShownWorkload, output: Output): void {
  if (output === "json" || output === "yaml") io.out(formatDocument(workloadDocument(shown), output));
  else io.out(describeWorkload(shown, { wide: output === "wide", nowMs: io.clock.now() }));
}
