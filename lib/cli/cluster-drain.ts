import { delay } from "@tmc/kube/deadline.ts";
import { Command } from "commander";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import { type CliIo, Ending } from "./cli-io.ts";
import { type Leftover, leftOn } from "./drain-view.ts";
import { clusterArgument, findCluster, timeoutOption } from "./options.ts";
import { formatDocument, type Output, outputOption } from "./output.ts";
import { cordoned, drained, isDrained, type Scheduling, uncordoned, writeScheduling } from "./scheduling.ts";

import { inWorkspace, type Workspace, type WorkspaceOptions, withWorkspaceOptions } from "./workspace.ts";

const described = "clusterregistration.tmc.kcp.io";

/** The command that lets no new work onto a cluster. */
export function cordonCommand(io: CliIo): Command {
  return switchCommand(io, {
    name: "cordon",
    summary: "let no new work onto a cluster",
    description: "Lets no new work onto a cluster; what is there stays.",
    decide: cordoned,
    done: "cordoned",
  });
}

/** The command that lets work onto a cluster again. */
export function uncordonCommand(io: CliIo): Command {
  return switchCommand(io, {
    name: "uncordon",
    summary: "let work onto a cluster again, and end its drain",
    description: "Lets work onto a cluster again, and ends its drain. Taints that others have put there stay.",
    decide: uncordoned,
    done: "uncordoned",
  });
}

type Switch = Readonly<{
  name: string;
  summary: string;
  description: string;
  decide: (spec: ClusterRegistration["spec"]) => Scheduling;
  done: string;
}>;

function switchCommand(io: CliIo, { name: word, summary, description, decide, done }: Switch): Command {
  return withWorkspaceOptions(
    new Command(word).summary(summary).description(description).addArgument(clusterArgument()),
  ).action((name: string, options: WorkspaceOptions) =>
    inWorkspace(io, options, async (workspace) => {
      await findCluster(workspace, name);
      const isChanged = await writeScheduling(workspace.client, name, decide);
      io.out(`${described}/${name} ${isChanged ? done : `is ${done} already`}\n`);
    }),
  );
}

type DrainOptions = WorkspaceOptions & Readonly<{ wait: boolean; timeout: number; output: Output }>;

const drainHelp = `
Each workload is first brought up elsewhere and leaves when it is ready there; one that fits no other cluster stays. The exit
code is 0 when nothing is left, 1 when something stays or the time is over, and 130 after Ctrl-C: the cluster then goes on being
drained until tmc cluster uncordon.

Examples:
  tmc cluster drain east                 send everything away and wait until it has gone
  tmc cluster drain east --timeout 1h    wait longer
  tmc cluster drain east --no-wait       only begin
`;

/** The command that sends a cluster's work away. */
export function drainCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    new Command("drain")
      .summary("send a cluster's work away and let no new work in")
      .description("Sends a cluster's work away: cordons it, taints it, and waits until its copies have gone.")
      .addArgument(clusterArgument())
      .option("--wait", "wait until everything has gone, and tell what changes meanwhile", true)
      .option("--no-wait", "only begin")
      .addOption(timeoutOption({ seconds: 600, shown: "10m" }))
      .addOption(outputOption(["table", "json", "yaml"])),
  )
    .addHelpText("after", drainHelp)
    .action((name: string, options: DrainOptions) =>
      inWorkspace(io, options, async (workspace) => {
        const { spec } = await findCluster(workspace, name);
        await writeScheduling(workspace.client, name, (present) => drained(present, io.clock.now()));
        const isText = options.output === "table";
        const say = (line: string): void => (isText ? io.out(`${line}\n`) : io.err(`${line}\n`));
        say(`${described}/${name} ${isDrained(spec) ? "is being drained already" : "is being drained"}`);
        const end = options.wait ? await untilLeft(io, workspace, { name, timeout: options.timeout, say }) : undefined;
        const left = end?.left ?? (await leftIn(workspace, name));
        if (options.output === "json" || options.output === "yaml") {
          io.out(formatDocument({ cluster: name, drained: left.length === 0, left }, options.output));
        }
        if (end === undefined) return;
        if (left.length === 0) say(`${described}/${name} drained`);
        else throw new Ending(end.why === "interrupted" ? 130 : 1, endWords(name, left, end.why));
      }),
    );
}

type End = Readonly<{ left: readonly Leftover[]; why: "drained" | "stays" | "time" | "interrupted" }>;

/** How often the server is asked. */
const lookEveryMs = 1_000;
/** What stays for so long will not leave by itself: decisions about other clusters have been made by then. */
const patienceMs = 5_000;

async function untilLeft(
  io: CliIo,
  workspace: Workspace,
  { name, timeout, say }: Readonly<{ name: string; timeout: number; say: (line: string) => void }>,
): Promise<End> {
  const ending = new AbortController();
  void io.untilInterrupted().then(() => ending.abort());
  const endMs = io.clock.now() + timeout * 1000;
  let stuckSinceMs: number | undefined;
  const told = new Map<string, string>();
  for (;;) {
    const left = await leftIn(workspace, name);
    for (const line of progress(told, left)) say(line);
    if (left.length === 0) return { left, why: "drained" };
    const now = io.clock.now();
    stuckSinceMs = left.every(({ stays }) => stays) ? (stuckSinceMs ?? now) : undefined;
    if (stuckSinceMs !== undefined && now - stuckSinceMs >= patienceMs) return { left, why: "stays" };
    if (now >= endMs) return { left, why: "time" };
    if (!(await delay(io.clock, lookEveryMs, ending.signal))) return { left, why: "interrupted" };
  }
}

/** A line for whatever has changed since the last look: what has gone, and what is left, and why. */
export function progress(told: Map<string, string>, left: readonly Leftover[]): readonly string[] {
  const present = new Map(left.map(({ what, stays, why }) => [what, `${stays ? "stays" : "waits"}: ${why}`]));
  const gone = [...told.keys()].filter((what) => !present.has(what));
  const news = [...present].filter(([what, words]) => told.get(what) !== words);
  told.clear();
  for (const [what, words] of present) told.set(what, words);
  if (gone.length === 0 && news.length === 0) return [];
  const count = left.length === 0 ? [] : [`${left.length} left`];
  return [...gone.map((what) => `  ${what} has left`), ...news.map(([what, words]) => `  ${what} ${words}`), ...count];
}

function endWords(name: string, left: readonly Leftover[], why: End["why"]): string {
  const back = `tmc cluster uncordon ${name} takes it back`;
  const count = `${left.length} ${left.length === 1 ? "is" : "are"} left`;
  if (why === "stays") return `cluster ${name}: ${count} that cannot leave; it goes on being drained, ${back}`;
  const words = why === "interrupted" ? "nobody waits any more" : "the time is over";
  return `cluster ${name}: ${words}, ${count}; it goes on being drained, ${back}`;
}

async function leftIn(workspace: Workspace, cluster: string): Promise<readonly Leftover[]> {
  const [records, placements] = await Promise.all([workspace.records(), workspace.placements()]);
  return leftOn({ cluster, records, placements });
}
