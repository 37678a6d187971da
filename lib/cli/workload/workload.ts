import { delay } from "@tmc/kube/deadline.ts";
import { Argument, Command } from "commander";
import type { WorkloadSync } from "../../api/workload-sync.ts";
import { type CliIo, CommandExit, UsageError } from "../cli-io.ts";
import { type NamespaceOptions, namespaceOf, timeoutOption, withNamespaceOption } from "../options.ts";
import { formatDocument, type Output, outputOption, printList } from "../output.ts";
import { inWorkspace, localClusterKubeconfig, type WorkspaceOptions, withWorkspaceOptions } from "../workspace.ts";
import { parseWorkloadArgument, parseWorkloadType } from "./workload-argument.ts";
import { describeWorkload, type WorkloadDetails, workloadDocument } from "./workload-format.ts";
import { formatWorkloads, listedWorkloads } from "./workload-list.ts";
import { byName, readWorkload, workloadDetails } from "./workload-read.ts";

/** Creates the `workload` command group. */
export function workloadCommand(io: CliIo): Command {
  return new Command("workload")
    .summary("Show placed workloads: list, status")
    .description("Show the placed workloads of a workspace and their state on each cluster.")
    .addCommand(listCommand(io))
    .addCommand(statusCommand(io));
}

type ListOptions = WorkspaceOptions & NamespaceOptions & Readonly<{ output: Output; allNamespaces?: true }>;

const listHelp = `
The list contains all workloads that have a sync record: those that are on a cluster, or will be. CLUSTERS shows on how many
of the selected clusters the workload is ready, READY shows the ready replicas on all of them.

Examples:
  # List all placed workloads of the workspace
  tmc workload list -A

  # List the Deployments in a namespace
  tmc workload list deploy -n shop

  # Show the state on each cluster too
  tmc workload list -A -o wide
`;

function listCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    withNamespaceOption(
      new Command("list")
        .alias("ls")
        .summary("List the placed workloads")
        .addArgument(new Argument("[kind]", "Type of the workloads, such as deploy (default: all types)"))
        .option("-A, --all-namespaces", "List the workloads of all namespaces")
        .addOption(outputOption()),
    ),
  )
    .addHelpText("after", listHelp)
    .action((kind: string | undefined, options: ListOptions) =>
      inWorkspace(io, options, async (workspace) => {
        const isAll = options.allNamespaces === true;
        if (isAll && options.namespace !== undefined)
          throw new UsageError("--all-namespaces and --namespace exclude each other");
        const syncRecords = filterByType(
          await workspace.syncRecords(isAll ? undefined : namespaceOf(options, workspace)),
          kind,
        );
        const table = async (wide: boolean): Promise<string> => {
          const [placements, registrations] = await Promise.all([workspace.placements(), workspace.registrations()]);
          const listed = listedWorkloads(syncRecords, {
            placements: byName(placements),
            registrations: byName(registrations),
          });
          return formatWorkloads(listed, { wide, nowMs: io.clock.now(), withNamespace: isAll });
        };
        await printList(io, syncRecords, {
          output: options.output,
          ifEmpty: `No placed workloads found${isAll ? "" : ` in namespace ${namespaceOf(options, workspace)}`}.\n`,
          table,
        });
      }),
    );
}

function filterByType(syncRecords: readonly WorkloadSync[], typeArgument: string | undefined): readonly WorkloadSync[] {
  if (typeArgument === undefined) return syncRecords;
  const { apiVersion, kind, type } = parseWorkloadType(typeArgument);
  return syncRecords.filter(({ metadata, spec }) =>
    kind === undefined
      ? spec.workload.apiVersion === apiVersion && metadata.name?.startsWith(`${type.plural}-`) === true
      : spec.workload.apiVersion === apiVersion && spec.workload.kind === kind,
  );
}

type StatusOptions = WorkspaceOptions & NamespaceOptions & Readonly<{ output: Output; watch?: true; timeout: number }>;

const statusHelp = `
The exit code is 0 when the latest generation of the workload is ready on every selected cluster; otherwise it is 1 and the
reason is printed to standard error. With --watch, the command waits until the workload is ready, as kubectl rollout status does.

WRITTEN is the generation that was last written to the cluster, AGE the time since the last observed change of the copy. With
-o wide, HEARTBEAT is the time since the last successful probe of the cluster.

Examples:
  # Show the state of a workload on each cluster
  tmc workload status deploy web -n shop

  # Wait until a workload is ready on all its clusters
  tmc workload status deploy/web -n shop --watch

  # Print the state of a custom resource as JSON
  tmc workload status databases.v1.example.com main -o json
`;

const pollIntervalMs = 1_000;

function statusCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    withNamespaceOption(
      new Command("status")
        .alias("describe")
        .summary("Show the state of a workload on each cluster")
        .description("Show the clusters of a workload, its state on each of them, and why it is not ready.")
        .addArgument(new Argument("<kind>", "Type of the workload, such as deploy, or type and name as kind/name"))
        .addArgument(new Argument("[name]", "Name of the workload"))
        .option("-w, --watch", "Wait until the workload is ready, and print the progress")
        .addOption(timeoutOption({ seconds: 300, text: "5m" }))
        .addOption(outputOption()),
    ),
  )
    .addHelpText("after", statusHelp)
    .action((first: string, second: string | undefined, options: StatusOptions) =>
      inWorkspace(io, options, async (workspace) => {
        const named = parseWorkloadArgument(first, second);
        const read = async (): Promise<WorkloadDetails> =>
          workloadDetails(
            await readWorkload(workspace, named, { namespace: namespaceOf(options, workspace), metadataOnly: true }),
            (cluster) => localClusterKubeconfig(io, options, cluster),
          );
        const details = options.watch === true ? await waitUntilReady(io, read, options) : await read();
        print(io, details, options.output);
        const { readiness } = details.view;
        if (!readiness.isReady) throw new CommandExit(1, `${details.title} is not ready: ${readiness.message}`);
      }),
    );
}

/** Polls until the workload is ready or the timeout expires, and prints each new reason for waiting. */
async function waitUntilReady(
  io: CliIo,
  read: () => Promise<WorkloadDetails>,
  { timeout }: Pick<StatusOptions, "timeout">,
): Promise<WorkloadDetails> {
  const interruption = new AbortController();
  void io.untilInterrupted().then(() => interruption.abort());
  const end = io.clock.monotonicMs() + timeout * 1000;
  let reported = "";
  for (;;) {
    const details = await read();
    const { readiness } = details.view;
    if (readiness.isReady || io.clock.monotonicMs() >= end) return details;
    if (readiness.message !== reported) io.err(`waiting for ${details.title}: ${readiness.message}\n`);
    reported = readiness.message;
    if (!(await delay(io.clock, pollIntervalMs, interruption.signal))) return details;
  }
}

function print(io: CliIo, details: WorkloadDetails, output: Output): void {
  if (output === "json" || output === "yaml") io.out(formatDocument(workloadDocument(details), output));
  else io.out(describeWorkload(details, { wide: output === "wide", nowMs: io.clock.now() }));
}
