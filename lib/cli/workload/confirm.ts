import { delay } from "@tmc/kube/deadline.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { Argument, Command } from "commander";
import { recordName } from "../../sync/ownership/record.ts";
import { type CliIo, CommandExit, confirmDeletion, UsageError } from "../cli-io.ts";
import { collectList, parseName } from "../names.ts";
import {
  findRegistration,
  type NamespaceOptions,
  namespaceOf,
  timeoutOption,
  withNamespaceOption,
} from "../options.ts";
import { formatTable } from "../output.ts";
import {
  inWorkspace,
  type OpenWorkspace,
  resourceTypes,
  type WorkspaceOptions,
  withWorkspaceOptions,
} from "../workspace.ts";
import {
  confirmFailure,
  confirmUpsyncDeletionsAnnotation,
  findHeldEvictions,
  findHeldUpsync,
  formatObjectCount,
  type HeldEvictions,
  type HeldUpsync,
  isUpsyncReleased,
  parseClusterArgument,
  parseFailureArgument,
} from "./held-clusters.ts";
import {
  confirmAnnotation,
  confirmationValue,
  findHeldCopies,
  type HeldCopies,
  heldRows,
  withdrawnValue,
} from "./held-copies.ts";
import { parseWorkloadArgument, typeOfRecord } from "./workload-argument.ts";
import { unlessNotFound } from "./workload-read.ts";

type ConfirmOptions = WorkspaceOptions &
  NamespaceOptions &
  Readonly<{ all?: true; cluster?: readonly string[]; placement?: string; yes?: true; wait: boolean; timeout: number }>;

const help = `
TMC holds the deletion of copies when very many would be deleted at once, which
is typical of a wrong selector or a lost placement: restore the placement to
keep them, and nothing has to be confirmed. TMC also holds it when a workload
disappeared from its workspace without an observed deletion. It holds the
deletion of upsynced objects (spec.upsync of a ClusterRegistration) when very
many of them no longer exist on their cluster; they are confirmed as
cluster/NAME. Check the cause before you confirm: confirmed objects are deleted.

TMC also holds evictions when most clusters stop responding at about the same
time, because it may have lost its connection to them. If a cluster has really
failed, confirm that with failure/NAME, and the placements move to other
clusters. --all does not confirm failures.

A confirmation is an annotation on the workload and requires the permission to
patch it. When the workload no longer exists, the annotation is on its
WorkloadSync, which only operators of kcp may patch. It covers only what is held
now, and the command removes it after the deletion. For upsynced objects, the
annotation is on the ClusterRegistration and contains their number.

Examples:
  # List the held deletions
  tmc confirm

  # Confirm the deletion of the copies of one workload
  tmc confirm deploy/web -n shop

  # Confirm the deletion of upsynced objects that no longer exist on a cluster
  tmc confirm cluster/east

  # Confirm the deletion of all copies that a deleted placement has left
  tmc confirm --all --placement web

  # Confirm that a cluster has failed, so that placements move to other clusters
  tmc confirm failure/east

  # Confirm everything that is held on a cluster, without a question
  tmc confirm --all --cluster east --yes
`;

/** Creates the `confirm` command. */
export function confirmCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    withNamespaceOption(
      new Command("confirm")
        .summary("Confirm deletions and evictions that TMC is holding")
        .description("Confirm deletions and evictions that TMC is holding. Without arguments, list them.")
        .addArgument(
          new Argument(
            "[object...]",
            "Workloads as kind/name, upsynced objects of a cluster as cluster/name, or failed clusters as failure/name",
          ),
        )
        .option("--all", "Confirm everything that is held; with --namespace or --placement, only copies of workloads")
        .option(
          "--cluster <name>",
          "Only confirm deletions on this cluster; can be repeated or comma-separated",
          collectList,
        )
        .option(
          "--placement <name>",
          "Only confirm deletions of copies of the workloads that this placement selected last",
          parseName,
        )
        .option("-y, --yes", "Do not ask for confirmation")
        .option("--no-wait", "Do not wait until the objects are deleted")
        .addOption(timeoutOption()),
    ),
  )
    .addHelpText("after", help)
    .action((names: readonly string[], options: ConfirmOptions) =>
      inWorkspace(io, options, async (workspace) => {
        const held = await findHeld(workspace, names, options);
        if (held.copies.length + held.upsync.length + held.evictions.length === 0) {
          io.err("No deletions are held.\n");
          return;
        }
        io.out(formatHeld(held));
        if (names.length === 0 && options.all !== true) {
          io.err(
            "Nothing was confirmed. Specify held objects, or --all; tmc workload list -A shows all held workloads.\n",
          );
          return;
        }
        if (!(await confirmDeletion(io, { yes: options.yes === true, question: questionAbout(held) }))) return;
        for (const each of held.copies) {
          await confirmCopies(workspace, each);
          io.out(`${each.title} in ${each.namespace}: confirmed deletion from ${clusterNames(each)}\n`);
        }
        for (const each of held.upsync) {
          await confirmUpsync(workspace, each);
          io.out(`${each.title}: confirmed deletion of ${formatObjectCount(each.count)}\n`);
        }
        for (const each of held.evictions) {
          await confirmFailure(workspace, each);
          io.out(`${each.title}: confirmed; its placements move to other clusters that fit\n`);
        }
        if (options.wait) await waitUntilDeleted(io, workspace, held, options.timeout);
      }),
    );
}

/** The held deletions that the arguments select. */
type Held = Readonly<{
  copies: readonly HeldCopies[];
  upsync: readonly HeldUpsync[];
  evictions: readonly HeldEvictions[];
}>;

async function findHeld(workspace: OpenWorkspace, names: readonly string[], options: ConfirmOptions): Promise<Held> {
  if (names.length > 0 && options.all === true) throw new UsageError("--all cannot be combined with names");
  const clusters = names.flatMap((name) => parseClusterArgument(name) ?? []);
  const failed = names.flatMap((name) => parseFailureArgument(name) ?? []);
  const workloads = names
    .filter((name) => parseClusterArgument(name) === undefined && parseFailureArgument(name) === undefined)
    .map((name) => parseWorkloadArgument(name));
  if (names.length === 0) {
    // Upsynced objects are held per cluster, regardless of namespaces and placements, so these exclude them.
    const isLimited = options.namespace !== undefined || options.placement !== undefined;
    const registrations = isLimited ? [] : await workspace.registrations();
    return {
      copies: findHeldCopies(await workspace.syncRecords(options.namespace), {
        placement: options.placement,
        clusters: options.cluster,
      }),
      upsync: findHeldUpsync(registrations, options.cluster),
      // A failure is confirmed by name only: evictions of all clusters at once are what the hold prevents.
      evictions:
        options.all === true || registrations.length === 0
          ? []
          : findHeldEvictions(registrations, await workspace.placements(), options.cluster),
    };
  }
  const records = workloads.length === 0 ? [] : await workspace.syncRecords(namespaceOf(options, workspace));
  const copies = findHeldCopies(records, { workloads, placement: options.placement, clusters: options.cluster });
  const [notHeld] = workloads.filter(({ type, name }) =>
    copies.every(({ syncRecord }) => syncRecord.metadata.name !== recordName({ type, name })),
  );
  if (notHeld !== undefined) throw new Error(`${notHeld.type.plural} "${notHeld.name}": no deletions are held`);
  const upsync = findHeldUpsync(await Promise.all(clusters.map((name) => findRegistration(workspace, name))));
  const [released] = clusters.filter((name) => upsync.every(({ registration }) => registration !== name));
  if (released !== undefined) throw new Error(`cluster "${released}": no deletions of upsynced objects are held`);
  const evictions =
    failed.length === 0
      ? []
      : findHeldEvictions(
          await Promise.all(failed.map((name) => findRegistration(workspace, name))),
          await workspace.placements(),
        );
  const [evicted] = failed.filter((name) => evictions.every(({ registration }) => registration !== name));
  if (evicted !== undefined) throw new Error(`cluster "${evicted}": no evictions are held`);
  return { copies, upsync, evictions };
}

function questionAbout({ copies, upsync, evictions }: Held): string {
  const copyCount = copies.reduce((sum, { clusters }) => sum + clusters.length, 0);
  const upsyncCount = upsync.reduce((sum, { count }) => sum + count, 0);
  const parts = [
    ...(copyCount === 0 ? [] : [copyCount === 1 ? "1 copy" : `${copyCount} copies`]),
    ...(upsyncCount === 0 ? [] : [formatObjectCount(upsyncCount)]),
  ];
  const failed = evictions.map(({ registration }) => registration).join(", ");
  const questions = [
    ...(parts.length === 0 ? [] : [`Delete ${parts.join(" and ")}?`]),
    ...(failed === "" ? [] : [`Evict all placements from ${failed}?`]),
  ];
  return questions.join(" ");
}

/** Attempts to write an object that others change at the same time; more conflicts than this are not a coincidence. */
const maxAttempts = 10;

/** Writes the confirmation to the workload, or to its sync record when the workload no longer exists. */
async function confirmCopies(workspace: OpenWorkspace, held: HeldCopies): Promise<void> {
  await annotateHeldCopies(workspace, held, (annotations) => confirmationValue(held, annotations));
}

async function annotateHeldCopies(
  { client }: OpenWorkspace,
  { syncRecord, title, namespace }: HeldCopies,
  decide: (annotations: Readonly<Record<string, string>> | undefined) => string | null,
): Promise<void> {
  const type = typeOfRecord(syncRecord)?.type;
  const recordAddress = { type: resourceTypes.syncRecords, namespace, name: syncRecord.metadata.name ?? "" };
  for (let attempt = 1; ; attempt += 1) {
    const at = type === undefined ? undefined : { type, namespace, name: syncRecord.spec.workload.name };
    const workload = at === undefined ? undefined : await unlessNotFound(client.metadata.get<KubeObject>(at));
    const [address, found] =
      workload === undefined || at === undefined
        ? [recordAddress, await unlessNotFound(client.metadata.get<KubeObject>(recordAddress))]
        : [at, workload];
    if (found === undefined) return; // deleted in the meantime, together with its holds
    const { resourceVersion, annotations } = found.metadata;
    const value = decide(annotations);
    if (value === (annotations?.[confirmAnnotation] ?? null)) return;
    const body = { metadata: { resourceVersion, annotations: { [confirmAnnotation]: value } } };
    try {
      await client.patch(address, { type: "merge", body }, { fieldManager: "tmc-cli" });
      return;
    } catch (error) {
      const fault = faultOf(error);
      if (fault === "forbidden") throw forbiddenError(error, { title, isRecord: address === recordAddress });
      if (fault !== "conflict" || attempt >= maxAttempts) throw error;
    }
  }
}

/** Writes the confirmation to the registration: how many upsynced objects may be deleted. */
async function confirmUpsync(workspace: OpenWorkspace, { title, registration, count }: HeldUpsync): Promise<void> {
  await annotateRegistration(workspace, registration, String(count)).catch((error: unknown) => {
    if (faultOf(error) !== "forbidden") throw error;
    throw forbiddenError(error, { title, isRecord: false });
  });
}

async function annotateRegistration({ client }: OpenWorkspace, name: string, value: string | null): Promise<void> {
  const body = { metadata: { annotations: { [confirmUpsyncDeletionsAnnotation]: value } } };
  await client.patch({ type: resourceTypes.registrations, name }, { type: "merge", body }, { fieldManager: "tmc-cli" });
}

function forbiddenError(error: unknown, { title, isRecord }: Readonly<{ title: string; isRecord: boolean }>): Error {
  const message = error instanceof Error ? error.message : String(error);
  const advice = isRecord
    ? `${title} no longer exists, so the confirmation is on its WorkloadSync, which only operators of kcp may patch (workloadsyncs.tmc.kcp.io)`
    : `${title}: requires the permission to patch it`;
  return new Error(`${advice}: ${message}`, { cause: error });
}

const pollIntervalMs = 1_000;

/** Waits until the confirmed objects are deleted, and removes the confirmations. */
async function waitUntilDeleted(
  io: CliIo,
  workspace: OpenWorkspace,
  held: Held,
  timeoutSeconds: number,
): Promise<void> {
  const interruption = new AbortController();
  void io.untilInterrupted().then(() => interruption.abort());
  const endMs = io.clock.monotonicMs() + timeoutSeconds * 1000;
  let { copies, upsync } = held;
  const outdated: string[] = [];
  for (;;) {
    copies = await dropDeletedCopies(io, workspace, copies);
    upsync = await dropReleasedUpsync(io, workspace, upsync);
    const withdrawn = await withdrawOutdated(workspace, upsync);
    upsync = upsync.filter(({ registration }) => !withdrawn.has(registration));
    outdated.push(...withdrawn.values());
    if (copies.length + upsync.length === 0) {
      if (outdated.length > 0) throw new CommandExit(1, `${outdated.join(", ")}; check the cause and confirm again`);
      return;
    }
    const isTimedOut = io.clock.monotonicMs() >= endMs || !(await delay(io.clock, pollIntervalMs, interruption.signal));
    if (isTimedOut) {
      const names = [
        ...copies.map((each) => `${each.title} on ${clusterNames(each)}`),
        ...upsync.map((each) => `${formatObjectCount(each.count)} of ${each.title}`),
      ];
      throw new CommandExit(
        1,
        `confirmed but not deleted yet: ${names.join(", ")}; the controller continues the deletion`,
      );
    }
  }
}

async function dropDeletedCopies(
  io: CliIo,
  workspace: OpenWorkspace,
  waiting: readonly HeldCopies[],
): Promise<readonly HeldCopies[]> {
  if (waiting.length === 0) return waiting;
  const records = new Map((await workspace.syncRecords()).map((record) => [record.metadata.uid, record]));
  const isPresent = ({ syncRecord, clusters }: HeldCopies): boolean =>
    clusters.some(({ name }) => records.get(syncRecord.metadata.uid)?.spec.clusters?.includes(name) === true);
  for (const each of waiting.filter((one) => !isPresent(one))) {
    await annotateHeldCopies(workspace, each, (annotations) => withdrawnValue(each, annotations));
    io.out(`${each.title} in ${each.namespace}: deleted from ${clusterNames(each)}\n`);
  }
  return waiting.filter(isPresent);
}

async function dropReleasedUpsync(
  io: CliIo,
  workspace: OpenWorkspace,
  waiting: readonly HeldUpsync[],
): Promise<readonly HeldUpsync[]> {
  if (waiting.length === 0) return waiting;
  const registrations = new Map((await workspace.registrations()).map((each) => [each.metadata.name, each]));
  const isFinished = ({ registration }: HeldUpsync): boolean => {
    const present = registrations.get(registration);
    return present === undefined || isUpsyncReleased(present);
  };
  for (const each of waiting.filter(isFinished)) {
    // A deleted registration has no annotation to remove.
    if (registrations.has(each.registration)) await annotateRegistration(workspace, each.registration, null);
    io.out(`${each.title}: deleted from the workspace\n`);
  }
  return waiting.filter((each) => !isFinished(each));
}

/**
 * Removes confirmations of fewer deletions than are held now: they release nothing now, and must not release other
 * deletions later. Returns a message for each such cluster.
 */
async function withdrawOutdated(
  workspace: OpenWorkspace,
  waiting: readonly HeldUpsync[],
): Promise<ReadonlyMap<string, string>> {
  const messages = new Map<string, string>();
  if (waiting.length === 0) return messages;
  const present = findHeldUpsync(
    await workspace.registrations(),
    waiting.map(({ registration }) => registration),
  );
  for (const { registration, title, count } of waiting) {
    const current = present.find((each) => each.registration === registration);
    if (current === undefined || current.count <= count) continue;
    await annotateRegistration(workspace, registration, null);
    messages.set(registration, `${title}: ${count} deletions were confirmed, but ${current.count} are held now`);
  }
  return messages;
}

function formatHeld({ copies, upsync, evictions }: Held): string {
  return formatTable(
    ["NAMESPACE", "HELD", "CLUSTER", "MESSAGE"],
    [
      ...heldRows(copies),
      ...[...upsync, ...evictions].map(({ title, registration, message }) => ["", title, registration, message]),
    ],
  );
}

const clusterNames = ({ clusters }: HeldCopies): string => clusters.map(({ name }) => name).join(", ");
