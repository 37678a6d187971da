import { delay } from "@tmc/kube/deadline.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { Argument, Command } from "commander";
import { workloadKindsWith } from "../api/workload-kinds.ts";
import type { WorkloadSync } from "../api/workload-sync.ts";
import { recordName } from "../sync/ownership/record.ts";
import { type CliIo, confirmDeletion, Ending, UsageError } from "./cli-io.ts";
import { confirmAnnotation, confirmation, type HeldWorkload, heldIn, withdrawal } from "./held.ts";
import { areGone, clusterIn, confirmBirthsAnnotation, type HeldBirths, heldBirthsIn } from "./held-births.ts";
import { collectWords } from "./names.ts";
import { findCluster, type NamespaceOptions, namespaceOf, timeoutOption, withNamespaceOption } from "./options.ts";

import { formatTable } from "./output.ts";

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
workload is gone that nobody saw being deleted. Objects of the workspace that were born on a cluster (spec.upsync of its
registration) are held when very many of them are not there any more: they are named as cluster/name. Look at why before you
confirm: what is confirmed is deleted.

The word is an annotation on the workload, so whoever may change the workload may give it; where the workload is gone it is on
TMC's own record, which only the operators of kcp may change. It names what is held now and counts for nothing that is held
later; it is taken back when the copies have gone. For what was born on a cluster it is an annotation on the registration that
says how many may go, and is taken back when they have.

Examples:
  tmc confirm                                   what is held, and why
  tmc confirm deploy/web -n shop                let the copies of one workload go
  tmc confirm cluster/east                      let the objects go that were born on east and are not there any more
  tmc confirm --all --cluster east --yes        let everything go that is held on east, without a question
`;

/** The command by which somebody lets go what is held. */
export function confirmCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    withNamespaceOption(
      new Command("confirm")
        .summary("let go what is held because much would leave at once")
        .description("Lists what is held back from being deleted, and lets that go which is named.")
        .addArgument(
          new Argument("[what...]", "workloads as kind/name, and what was born on a cluster as cluster/name"),
        )
        .option("--all", "everything that is held; where a namespace is named, the copies of workloads in it")
        .option("--cluster <name>", "only on this cluster; may be given several times", collectWords)
        .option("-y, --yes", "do not ask")
        .option("--no-wait", "do not wait until it has gone")
        .addOption(timeoutOption()),
    ),
  )
    .addHelpText("after", help)
    .action((words: readonly string[], options: ConfirmOptions) =>
      inWorkspace(io, options, async (workspace) => {
        const held = await heldFor(workspace, words, options);
        if (held.copies.length + held.births.length === 0) {
          io.err("nothing is held\n");
          return;
        }
        io.out(formatHeld(held));
        if (words.length === 0 && options.all !== true) {
          io.err("nothing was confirmed; name what is held as it is listed, or --all\n");
          return;
        }
        if (!(await confirmDeletion(io, { yes: options.yes === true, question: questionAbout(held) }))) return;
        for (const each of held.copies) {
          await confirmOne(workspace, each);
          io.out(`${each.title} in ${each.namespace}: confirmed on ${namesOf(each)}\n`);
        }
        for (const each of held.births) {
          await confirmBirths(workspace, each);
          io.out(`${each.title}: confirmed for ${objectsIn(each)}\n`);
        }
        if (options.wait) await untilGone(io, workspace, held, options.timeout);
      }),
    );
}

/** All that is held and was asked for. */
type Held = Readonly<{ copies: readonly HeldWorkload[]; births: readonly HeldBirths[] }>;

async function heldFor(workspace: Workspace, words: readonly string[], options: ConfirmOptions): Promise<Held> {
  if (words.length > 0 && options.all === true) throw new UsageError("--all and names: leave one out");
  const clusters = words.flatMap((word) => clusterIn(word) ?? []);
  const workloads = words.filter((word) => clusterIn(word) === undefined).map((word) => parseWorkloadWords(word));
  if (words.length === 0) {
    // What was born on a cluster is held as a whole, whatever namespaces it is in.
    const births = options.namespace === undefined ? await workspace.clusters() : [];
    return {
      copies: heldIn(await workspace.records(options.namespace), { clusters: options.cluster }),
      births: heldBirthsIn(births, options.cluster),
    };
  }
  const records = workloads.length === 0 ? [] : await workspace.records(namespaceOf(options, workspace));
  const copies = heldIn(records, { workloads, clusters: options.cluster });
  const [missing] = workloads.filter(({ type, name }) =>
    copies.every(({ record }) => record.metadata.name !== recordName({ type, name })),
  );
  if (missing !== undefined) throw new Error(`${missing.type.plural} "${missing.name}": nothing is held of it`);
  const births = heldBirthsIn(await Promise.all(clusters.map((name) => findCluster(workspace, name))));
  const [free] = clusters.filter((name) => births.every(({ cluster }) => cluster !== name));
  if (free !== undefined) throw new Error(`cluster "${free}": nothing is held that was born on it`);
  return { copies, births };
}

function questionAbout({ copies, births }: Held): string {
  const [many, born] = [
    copies.reduce((sum, { clusters }) => sum + clusters.length, 0),
    births.reduce((sum, { count }) => sum + count, 0),
  ];
  const parts = [
    ...(many === 0 ? [] : [many === 1 ? "this copy" : `these ${many} copies`]),
    ...(born === 0 ? [] : [`${objectsIn({ count: born })} of the workspace`]),
  ];
  return `Delete ${parts.join(" and ")}?`;
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

/** Says on a registration how many of the objects that were born on its cluster may go. */
async function confirmBirths(workspace: Workspace, { title, cluster, count }: HeldBirths): Promise<void> {
  await annotateCluster(workspace, cluster, String(count)).catch((error: unknown) => {
    if (faultOf(error) !== "forbidden") throw error;
    throw refused(error, { title, isRecord: false });
  });
}

async function annotateCluster({ client }: Workspace, name: string, value: string | null): Promise<void> {
  const body = { metadata: { annotations: { [confirmBirthsAnnotation]: value } } };
  await client.patch({ type: resourceTypes.clusters, name }, { type: "merge", body }, { fieldManager: "tmc-cli" });
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

/** Waits until what was confirmed has gone, and takes the word back: it has done what it was given for. */
async function untilGone(io: CliIo, workspace: Workspace, held: Held, timeoutSeconds: number): Promise<void> {
  const ending = new AbortController();
  void io.untilInterrupted().then(() => ending.abort());
  const endMs = io.clock.now() + timeoutSeconds * 1000;
  let { copies, births } = held;
  const outgrown: string[] = [];
  for (;;) {
    copies = await withoutGoneCopies(io, workspace, copies);
    births = await withoutGoneBirths(io, workspace, births);
    const grown = await takeBackOutgrown(workspace, births);
    births = births.filter(({ cluster }) => !grown.has(cluster));
    outgrown.push(...grown.values());
    if (copies.length + births.length === 0) {
      if (outgrown.length > 0) throw new Ending(1, `${outgrown.join(", ")}; look at why and confirm it again`);
      return;
    }
    const isOver = io.clock.now() >= endMs || !(await delay(io.clock, lookEveryMs, ending.signal));
    if (isOver) {
      const names = [
        ...copies.map((each) => `${each.title} on ${namesOf(each)}`),
        ...births.map((each) => `${objectsIn(each)} of ${each.title}`),
      ];
      throw new Ending(1, `confirmed, and not gone yet: ${names.join(", ")}; the controller goes on with it`);
    }
  }
}

async function withoutGoneCopies(
  io: CliIo,
  workspace: Workspace,
  waiting: readonly HeldWorkload[],
): Promise<readonly HeldWorkload[]> {
  if (waiting.length === 0) return waiting;
  const records = new Map((await workspace.records()).map((record) => [record.metadata.uid, record]));
  const has = ({ record, clusters }: HeldWorkload): boolean =>
    clusters.some(({ name }) => records.get(record.metadata.uid)?.spec.clusters?.includes(name) === true);
  for (const each of waiting.filter((one) => !has(one))) {
    await annotate(workspace, each, (annotations) => withdrawal(each, annotations));
    io.out(`${each.title} in ${each.namespace}: gone from ${namesOf(each)}\n`);
  }
  return waiting.filter(has);
}

async function withoutGoneBirths(
  io: CliIo,
  workspace: Workspace,
  waiting: readonly HeldBirths[],
): Promise<readonly HeldBirths[]> {
  if (waiting.length === 0) return waiting;
  const registrations = new Map((await workspace.clusters()).map((each) => [each.metadata.name, each]));
  const isOver = ({ cluster }: HeldBirths): boolean => {
    const registration = registrations.get(cluster);
    return registration === undefined || areGone(registration);
  };
  for (const each of waiting.filter(isOver)) {
    // With a registration that has gone its annotation has, too.
    if (registrations.has(each.cluster)) await annotateCluster(workspace, each.cluster, null);
    io.out(`${each.title}: gone from the workspace\n`);
  }
  return waiting.filter((each) => !isOver(each));
}

/**
 * Takes the word back where more is held by now than it was given for: none of that goes, and it must not stand there for what
 * is held some other time. Answers what to say of each such cluster.
 */
async function takeBackOutgrown(
  workspace: Workspace,
  waiting: readonly HeldBirths[],
): Promise<ReadonlyMap<string, string>> {
  const said = new Map<string, string>();
  if (waiting.length === 0) return said;
  const present = heldBirthsIn(
    await workspace.clusters(),
    waiting.map(({ cluster }) => cluster),
  );
  for (const { cluster, title, count } of waiting) {
    const now = present.find((each) => each.cluster === cluster);
    if (now === undefined || now.count <= count) continue;
    await annotateCluster(workspace, cluster, null);
    said.set(cluster, `${title}: ${count} were confirmed, and ${now.count} are held by now`);
  }
  return said;
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

function formatHeld({ copies, births }: Held): string {
  return formatTable(
    ["NAMESPACE", "HELD", "CLUSTER", "WHY"],
    [
      ...copies.flatMap(({ namespace, title, clusters }) =>
        clusters.map(({ name, why }) => [namespace, title, name, why]),
      ),
      ...births.map(({ title, cluster, why }) => ["", title, cluster, why]),
    ],
  );
}

const objectsIn = ({ count }: Pick<HeldBirths, "count">): string => `${count} object${count === 1 ? "" : "s"}`;

const namesOf = ({ clusters }: HeldWorkload): string => clusters.map(({ name }) => name).join(", ");
