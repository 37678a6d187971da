import { delay } from "@tmc/kube/deadline.ts";
import { Argument, Command } from "commander";
import { type CliIo, CommandExit, UsageError } from "../cli-io.ts";
import { type ListContent, type ListFlags, printList, withListOptions } from "../list.ts";
import { type NamespaceOptions, namespaceOf, timeoutOption, withNamespaceOption } from "../options.ts";
import { formatDocument, type Output, outputOption } from "../output.ts";
import { inWorkspace, localClusterKubeconfig, type WorkspaceOptions, withWorkspaceOptions } from "../workspace.ts";
import { parseWorkloadArgument, parseWorkloadType } from "./workload-argument.ts";
import { describeWorkload, type WorkloadDetails, workloadDocument } from "./workload-format.ts";
import { listedWorkloads, workloadTable } from "./workload-list.ts";
import { readWorkloads } from "./workload-objects.ts";
import { byName, readWorkload, workloadDetails } from "./workload-read.ts";

/** Creates the `workload` command group. */
export function workloadCommand(io: CliIo): Command {
  return new Command("workload")
    .summary("Show workloads: list, status")
    .description("Show the workloads of a workspace and their state on each cluster.")
    .addCommand(listCommand(io))
    .addCommand(statusCommand(io));
}

type ListOptions = WorkspaceOptions & NamespaceOptions & ListFlags & Readonly<{ allNamespaces?: true }>;

const listHelp = `
CLUSTERS shows on how many of the selected clusters the workload is ready, READY
the ready replicas on all of them. NotPlaced means that no placement selects the
workload; tmc explain --workload says why.

Custom resources that no placement selects are listed only if [kind] names their
type or a placement selects others of it. ConfigMaps, Secrets and
ServiceAccounts are listed only if a placement selects them, because TMC syncs
them with the workloads that reference them.

With -o json and yaml, the list contains the sync records (WorkloadSync).

Examples:
  # List all workloads of the workspace
  tmc workload list -A

  # List the Deployments in a namespace
  tmc workload list deploy -n shop

  # Show the state on each cluster too
  tmc workload list -A -o wide
`;

function listCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    withNamespaceOption(
      withListOptions(
        new Command("list")
          .alias("ls")
          .summary("List the workloads, placed or not")
          .addArgument(new Argument("[kind]", "Type of the workloads, such as deploy (default: all types)"))
          .option("-A, --all-namespaces", "List the workloads of all namespaces"),
      ),
    ),
  )
    .addHelpText("after", listHelp)
    .action((kind: string | undefined, options: ListOptions) =>
      inWorkspace(io, options, async (workspace) => {
        const isAll = options.allNamespaces === true;
        if (isAll && options.namespace !== undefined)
          throw new UsageError("--all-namespaces and --namespace exclude each other");
        const namespace = isAll ? undefined : namespaceOf(options, workspace);
        const type = kind === undefined ? undefined : parseWorkloadType(kind);
        let warned = "";
        const read = async (): Promise<ListContent> => {
          const found = await readWorkloads(workspace, { type, namespace, labelSelector: options.selector });
          const warning = forbiddenText(found.forbidden);
          if (warning !== warned) io.err(warning);
          warned = warning;
          const { syncRecords, placements, registrations, unrecorded } = found;
          const context = { placements: byName(placements), registrations: byName(registrations) };
          return {
            objects: syncRecords,
            table: (wide) =>
              workloadTable(listedWorkloads(syncRecords, context, unrecorded), {
                wide,
                nowMs: io.clock.now(),
                withNamespace: isAll,
              }),
          };
        };
        const ifEmpty = `No workloads found${namespace === undefined ? "" : ` in namespace ${namespace}`}.\n`;
        await printList(io, options, { ifEmpty, read });
      }),
    );
}

function forbiddenText(types: readonly string[]): string {
  if (types.length === 0) return "";
  return `tmc: you may not list ${types.join(", ")}: those without a sync record are missing\n`;
}

type StatusOptions = WorkspaceOptions & NamespaceOptions & Readonly<{ output: Output; watch?: true; timeout: number }>;

const statusHelp = `
The exit code is 0 when the latest generation of the workload is ready on every
selected cluster; otherwise it is 1 and the reason is printed to standard error.
With --watch, the command waits until the workload is ready, as kubectl rollout
status does.

WRITTEN is the generation that was last written to the cluster, AGE the time
since the last observed change of the copy. With -o wide, HEARTBEAT is the time
since the last successful probe of the cluster.

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
