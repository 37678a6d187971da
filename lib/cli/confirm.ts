import { Argument, Command } from "commander";
import type { WorkloadSync } from "../api/workload-sync.ts";
import { delay } from "../kube/deadline.ts";
import { faultOf } from "../kube/errors.ts";
import type { KubeObject, ResourceType } from "../model/kube-object.ts";
import { recordName } from "../sync/record.ts";
import { workloadKindsWith } from "../sync/workload-kinds.ts";
import { type CliIo, Ending, UsageError } from "./cli-io.ts";
import { confirmDeletion } from "./confirm-deletion.ts";
import { confirmAnnotation, confirmation, type HeldWorkload, heldIn, withdrawal } from "./held.ts";
import { collectWords } from "./names.ts";
import { type NamespaceOptions, namespaceOf, withNamespaceOption } from "./namespace-option.ts";
import { formatTable } from "./output.ts";
import { timeoutOption } from "./wait-options.ts";
import { present } from "./workload-read.ts";
import { parseWorkloadWords } from "./workload-words.ts";
import {
  inWorkspace,
  resourceTypes,
  type Workspace,
  type WorkspaceOptions,
  withWorkspaceOptions,
} from "./workspace.ts";

type ConfirmOptions = WorkspaceOptions &
  NamespaceOptions &
  Readonly<{ all?: true; cluster?: readonly string[]; yes?: true; wait: boolean; timeout: number }>;

const help = `
Copies are held when very many would leave at once, which is what a wrong selector or a lost placement looks like, and when a
workload is gone that nobody saw being deleted. Look at why before you confirm: what is confirmed is deleted.

The word is an annotation on the workload, so whoever may change the workload may give it; where the workload is gone it is on
TMC's own record, which only the operators of kcp may change. It names what is held now and counts for nothing that is held
later; it is taken back when the copies have gone.

Examples:
  tmc confirm                                   what is held, and why
  tmc confirm deploy/web -n shop                let the copies of one workload go
  tmc confirm --all --cluster east --yes        let everything go that is held on east, without a question
`;

/** The command by which somebody lets held copies go. */
export function confirmCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    withNamespaceOption(
      new Command("confirm")
        .summary("let copies go that are held because many would leave at once")
        .description("Lists the copies that are held back from being deleted, and lets those go that are named.")
        .addArgument(new Argument("[workload...]", "the workloads, as kind/name"))
        .option("--all", "everything that is held, in all namespaces unless one is named")
        .option("--cluster <name>", "only on this cluster; may be given several times", collectWords)
        .option("-y, --yes", "do not ask")
        .option("--no-wait", "do not wait until the copies have gone")
        .addOption(timeoutOption()),
    ),
  )
    .addHelpText("after", help)
    .action((words: readonly string[], options: ConfirmOptions) =>
      inWorkspace(io, options, async (workspace) => {
        const held = await heldFor(workspace, words, options);
        if (held.length === 0) {
          io.err("nothing is held\n");
          return;
        }
        io.out(formatHeld(held));
        if (words.length === 0 && options.all !== true) {
          io.err("nothing was confirmed; name workloads as kind/name, or --all\n");
          return;
        }
        const count = held.reduce((sum, { clusters }) => sum + clusters.length, 0);
        const question = `Delete ${count === 1 ? "this copy" : `these ${count} copies`}?`;
        if (!(await confirmDeletion(io, { yes: options.yes === true, question }))) return;
        for (const each of held) {
          await confirmOne(workspace, each);
          io.out(`${each.title} in ${each.namespace}: confirmed on ${namesOf(each)}\n`);
        }
        if (options.wait) await untilGone(io, workspace, held, options.timeout);
      }),
    );
}

async function heldFor(
  workspace: Workspace,
  words: readonly string[],
  options: ConfirmOptions,
): Promise<readonly HeldWorkload[]> {
  if (words.length > 0 && options.all === true) throw new UsageError("--all and names of workloads: leave one out");
  const named = words.map((word) => parseWorkloadWords(word));
  const namespace = words.length > 0 ? namespaceOf(options, workspace) : options.namespace;
  const records = await workspace.records(namespace);
  const workloads = words.length > 0 ? named : undefined;
  const held = heldIn(records, { workloads, clusters: options.cluster });
  const [missing] = named.filter(({ type, name }) =>
    held.every(({ record }) => record.metadata.name !== recordName({ type, name })),
  );
  if (missing !== undefined) throw new Error(`${missing.type.plural} "${missing.name}": nothing is held of it`);
  return held;
}

/** Somebody else may be changing the workload too; more often than this is not bad luck. */
const mostTries = 10;

/** Says on the workload, or where that is gone on its record, that its copies may go. */
async function confirmOne(workspace: Workspace, held: HeldWorkload): Promise<void> {
  await annotate(workspace, held, (annotations) => confirmation(held, annotations));
}

async function annotate(
  { client }: Workspace,
  { record, title, namespace }: HeldWorkload,
  decide: (annotations: Readonly<Record<string, string>> | undefined) => string | null,
): Promise<void> {
  const type = typeOf(record);
  const recordAt = { type: resourceTypes.records, namespace, name: record.metadata.name ?? "" };
  for (let tries = 1; ; tries += 1) {
    const at = type === undefined ? undefined : { type, namespace, name: record.spec.workload.name };
    const workload = at === undefined ? undefined : await present(client.metadata.get<KubeObject>(at));
    const [address, found] =
      workload === undefined || at === undefined
        ? [recordAt, await present(client.metadata.get<KubeObject>(recordAt))]
        : [at, workload];
    if (found === undefined) return; // gone meanwhile, and with it all that was held
    const { resourceVersion, annotations } = found.metadata;
    const value = decide(annotations);
    if (value === (annotations?.[confirmAnnotation] ?? null)) return;
    const body = { metadata: { resourceVersion, annotations: { [confirmAnnotation]: value } } };
    try {
      await client.patch(address, { type: "merge", body }, { fieldManager: "tmc-cli" });
      return;
    } catch (error) {
      const fault = faultOf(error);
      if (fault === "forbidden") throw refused(error, { title, isRecord: address === recordAt });
      if (fault !== "conflict" || tries >= mostTries) throw error;
    }
  }
}

function refused(error: unknown, { title, isRecord }: Readonly<{ title: string; isRecord: boolean }>): Error {
  const said = error instanceof Error ? error.message : String(error);
  const words = isRecord
    ? `${title} is gone, so it is confirmed on TMC's record, which only the operators of kcp may patch (workloadsyncs of tmc.kcp.io)`
    : `${title}: you need the right to patch it`;
  return new Error(`${words}: ${said}`, { cause: error });
}

/** How often the server is asked. */
const lookEveryMs = 1_000;

/** Waits until the copies have gone, and takes the word back: it has done what it was given for. */
async function untilGone(
  io: CliIo,
  workspace: Workspace,
  held: readonly HeldWorkload[],
  timeoutSeconds: number,
): Promise<void> {
  const ending = new AbortController();
  void io.untilInterrupted().then(() => ending.abort());
  const endMs = io.clock.now() + timeoutSeconds * 1000;
  let waiting = held;
  for (;;) {
    const records = new Map((await workspace.records()).map((record) => [record.metadata.uid, record]));
    const has = ({ record, clusters }: HeldWorkload): boolean =>
      clusters.some(({ name }) => records.get(record.metadata.uid)?.spec.clusters?.includes(name) === true);
    for (const each of waiting.filter((one) => !has(one))) {
      await annotate(workspace, each, (annotations) => withdrawal(each, annotations));
      io.out(`${each.title} in ${each.namespace}: gone from ${namesOf(each)}\n`);
    }
    waiting = waiting.filter(has);
    if (waiting.length === 0) return;
    const isOver = io.clock.now() >= endMs || !(await delay(io.clock, lookEveryMs, ending.signal));
    if (isOver) {
      const names = waiting.map((each) => `${each.title} on ${namesOf(each)}`);
      throw new Ending(1, `confirmed, and not gone yet: ${names.join(", ")}; the controller goes on with it`);
    }
  }
}

function typeOf({ metadata, spec }: WorkloadSync): ResourceType | undefined {
  const { apiVersion, kind, name } = spec.workload;
  const known = workloadKindsWith().find((each) => each.apiVersion === apiVersion && each.kind === kind);
  if (known !== undefined) return known.type;
  // Of a type that only its server knows the record's name has the plural.
  const [group = "", version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  const plural = metadata.name?.slice(0, metadata.name.lastIndexOf(`-${name.slice(0, 200)}-`));
  return plural === undefined || plural === "" || version === undefined ? undefined : { group, version, plural };
}

function formatHeld(held: readonly HeldWorkload[]): string {
  return formatTable(
    ["NAMESPACE", "WORKLOAD", "CLUSTER", "WHY"],
    held.flatMap(({ namespace, title, clusters }) => clusters.map(({ name, why }) => [namespace, title, name, why])),
  );
}

const namesOf = ({ clusters }: HeldWorkload): string => clusters.map(({ name }) => name).join(", ");
