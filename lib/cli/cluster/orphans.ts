import { delay } from "@tmc/kube/deadline.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import { Command } from "commander";
import type { ClusterRegistration } from "../../api/cluster-registration.ts";
import { deleteOrphansAnnotation, orphanConfirmation } from "../../sync/orphans/decide.ts";
import { type CliIo, CommandExit, confirmDeletion } from "../cli-io.ts";
import { collectList } from "../names.ts";
import { findRegistration, timeoutOption } from "../options.ts";
import { ageOf, formatDocument, formatTable, type Output, outputOption } from "../output.ts";
import {
  inWorkspace,
  type OpenWorkspace,
  resourceTypes,
  type WorkspaceOptions,
  withWorkspaceOptions,
} from "../workspace.ts";

type OrphansOptions = WorkspaceOptions &
  Readonly<{ cluster?: readonly string[]; delete?: true; yes?: true; wait: boolean; timeout: number; output: Output }>;

/** The orphaned copies on one cluster, as its registration reports them. */
type ClusterOrphans = Readonly<{ cluster: string }> &
  NonNullable<NonNullable<ClusterRegistration["status"]>["orphanedCopies"]>;

const help = `
A copy is orphaned when no sync record accounts for it: its workload no longer
exists, or it exists but is not placed on this cluster. For example, the cluster
was deregistered while it could not be reached, or it was restored from a backup
and has copies of workloads that have moved since. TMC neither updates nor
deletes such copies. The controller searches for them about every half hour, and
at once after tmc reconcile cluster NAME; only the first ten of a cluster are
named.

With --delete, the controller deletes the orphaned copies of the listed
clusters. Right before each deletion it reads the copy, its workload and the
sync record again. PersistentVolumeClaims of a workload that exists are never
listed or deleted. The confirmation is an annotation on the ClusterRegistration;
it covers no more copies than are listed, and the command removes it after the
deletion.

Examples:
  # List the orphaned copies on all clusters
  tmc orphans

  # Delete the orphaned copies on one cluster
  tmc orphans --cluster east --delete
`;

/** Creates the `orphans` command. */
export function orphansCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    new Command("orphans")
      .summary("List or delete copies that no sync record accounts for")
      .description(
        "List copies on clusters whose workload no longer exists or is not placed there, and delete them on request.",
      )
      .option("--cluster <name>", "Only this cluster; can be repeated or comma-separated", collectList)
      .option("--delete", "Delete the listed copies")
      .option("-y, --yes", "Do not ask for confirmation")
      .option("--no-wait", "Do not wait until the copies are deleted")
      .addOption(timeoutOption())
      .addOption(outputOption(["table", "json", "yaml"])),
  )
    .addHelpText("after", help)
    .action((options: OrphansOptions) =>
      inWorkspace(io, options, async (workspace) => {
        const found = await findOrphans(workspace, options.cluster);
        if (options.output === "json" || options.output === "yaml") {
          io.out(formatDocument({ items: found }, options.output));
        } else if (found.length > 0) io.out(formatOrphans(found, io.clock.now()));
        if (found.length === 0) {
          io.err("No orphaned copies were found.\n");
          return;
        }
        if (options.delete !== true) return;
        const count = found.reduce((sum, each) => sum + each.count, 0);
        const question = `Delete ${count === 1 ? "1 orphaned copy" : `${count} orphaned copies`}?`;
        if (!(await confirmDeletion(io, { yes: options.yes === true, question }))) return;
        for (const each of found) await annotate(workspace, each.cluster, orphanConfirmation(each));
        if (options.wait) await waitUntilGone(io, workspace, { found, timeoutSeconds: options.timeout });
      }),
    );
}

async function findOrphans(
  workspace: OpenWorkspace,
  clusters: readonly string[] | undefined,
): Promise<readonly ClusterOrphans[]> {
  const registrations =
    clusters === undefined
      ? await workspace.registrations()
      : await Promise.all(clusters.map((name) => findRegistration(workspace, name)));
  return registrations.flatMap(({ metadata, status }) =>
    status?.orphanedCopies === undefined ? [] : [{ cluster: metadata.name ?? "", ...status.orphanedCopies }],
  );
}

function formatOrphans(found: readonly ClusterOrphans[], nowMs: number): string {
  const rows = found.flatMap(({ cluster, names, count, since }) => {
    const age = ageOf(since, nowMs) ?? "";
    const rest = count - names.length;
    return [...names, ...(rest > 0 ? [`and ${rest} more`] : [])].map((name) => [cluster, name, age]);
  });
  return formatTable(["CLUSTER", "COPY OF", "FOUND"], rows);
}

async function annotate({ client }: OpenWorkspace, name: string, value: string | null): Promise<void> {
  const body = { metadata: { annotations: { [deleteOrphansAnnotation]: value } } };
  await client.patch({ type: resourceTypes.registrations, name }, { type: "merge", body }, { fieldManager: "tmc-cli" });
}

const pollIntervalMs = 1_000;

/** Waits until the confirmed copies are gone, and removes the confirmations. */
async function waitUntilGone(
  io: CliIo,
  workspace: OpenWorkspace,
  { found, timeoutSeconds }: Readonly<{ found: readonly ClusterOrphans[]; timeoutSeconds: number }>,
): Promise<void> {
  const interruption = new AbortController();
  void io.untilInterrupted().then(() => interruption.abort());
  const endMs = io.clock.monotonicMs() + timeoutSeconds * 1000;
  let waiting = found;
  for (;;) {
    const remaining: ClusterOrphans[] = [];
    for (const each of waiting) {
      const left = await orphansLeft(workspace, each);
      if (left === undefined) io.out(`cluster/${each.cluster}: orphaned copies deleted\n`);
      else if (left <= each.count) remaining.push(each);
      else {
        await annotate(workspace, each.cluster, null);
        throw new CommandExit(
          1,
          `cluster "${each.cluster}": more copies are orphaned by now; check them and delete again`,
        );
      }
    }
    waiting = remaining;
    if (waiting.length === 0) return;
    if (io.clock.monotonicMs() >= endMs || !(await delay(io.clock, pollIntervalMs, interruption.signal))) {
      const names = waiting.map(({ cluster }) => cluster).join(", ");
      throw new CommandExit(1, `not deleted yet on ${names}; the controller continues the deletion`);
    }
  }
}

/** How many of the copies are left; undefined when they are gone, and their confirmation with them. */
async function orphansLeft(workspace: OpenWorkspace, { cluster, since }: ClusterOrphans): Promise<number | undefined> {
  try {
    const { status } = await workspace.registration(cluster);
    if (status?.orphanedCopies?.since === since) return status.orphanedCopies.count;
    await annotate(workspace, cluster, null);
    return undefined;
  } catch (error) {
    if (faultOf(error) === "not-found") return undefined;
    throw error;
  }
}
