import { delay } from "@tmc/kube/deadline.ts";
import { Command } from "commander";
import type { ClusterRegistration } from "../../api/cluster-registration.ts";
import { type CliIo, CommandExit } from "../cli-io.ts";
import { commandName } from "../names.ts";
import { clusterArgument, findRegistration, timeoutOption } from "../options.ts";
import { formatDocument, type Output, outputOption } from "../output.ts";
import { inWorkspace, type OpenWorkspace, type WorkspaceOptions, withWorkspaceOptions } from "../workspace.ts";
import { type RemainingWork, remainingOn } from "./drain-view.ts";
import {
  cordonedScheduling,
  drainedScheduling,
  isDrained,
  type Scheduling,
  uncordonedScheduling,
  writeScheduling,
} from "./scheduling.ts";

const resourceName = "clusterregistration.tmc.kcp.io";

/** Creates the `cluster cordon` command. */
export function cordonCommand(io: CliIo): Command {
  return schedulingCommand(io, {
    name: "cordon",
    summary: "Mark a cluster as unschedulable",
    description: "Mark a cluster as unschedulable: placements no longer select it, and its workloads stay on it.",
    decide: cordonedScheduling,
    done: "cordoned",
  });
}

/** Creates the `cluster uncordon` command. */
export function uncordonCommand(io: CliIo): Command {
  return schedulingCommand(io, {
    name: "uncordon",
    summary: "Mark a cluster as schedulable and end its drain",
    description: "Mark a cluster as schedulable and end its drain. Taints other than the drain taint are kept.",
    decide: uncordonedScheduling,
    done: "uncordoned",
  });
}

type SchedulingCommand = Readonly<{
  name: string;
  summary: string;
  description: string;
  decide: (spec: ClusterRegistration["spec"]) => Scheduling;
  done: string;
}>;

function schedulingCommand(
  io: CliIo,
  { name: subcommand, summary, description, decide, done }: SchedulingCommand,
): Command {
  return withWorkspaceOptions(
    new Command(subcommand).summary(summary).description(description).addArgument(clusterArgument()),
  ).action((name: string, options: WorkspaceOptions) =>
    inWorkspace(io, options, async (workspace) => {
      await findRegistration(workspace, name);
      const isChanged = await writeScheduling(workspace.client, name, decide);
      io.out(`${resourceName}/${name} ${isChanged ? done : `already ${done}`}\n`);
    }),
  );
}

type DrainOptions = WorkspaceOptions & Readonly<{ wait: boolean; timeout: number; output: Output }>;

const drainHelp = `
A workload is first created on another cluster and is evicted when it is ready
there. A workload that fits no other cluster stays. The exit code is 0 when the
cluster is drained, 1 when workloads cannot be evicted or the timeout expires,
and 130 after Ctrl-C. The drain stays in effect until tmc cluster uncordon.

Examples:
  # Evict all workloads from a cluster and wait until they are gone
  tmc cluster drain east

  # Wait for at most one hour
  tmc cluster drain east --timeout 1h

  # Start the drain without waiting for its end
  tmc cluster drain east --no-wait
`;

/** Creates the `cluster drain` command. */
export function drainCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    new Command("drain")
      .summary("Evict all workloads from a cluster")
      .description(
        "Evict all workloads from a cluster: mark it as unschedulable, taint it with NoExecute, and wait until it has no copies.",
      )
      .addArgument(clusterArgument())
      .option("--wait", "Wait until the cluster is drained, and print the progress", true)
      .option("--no-wait", "Start the drain and return")
      .addOption(timeoutOption({ seconds: 600, text: "10m" }))
      .addOption(outputOption(["table", "json", "yaml"])),
  )
    .addHelpText("after", drainHelp)
    .action((name: string, options: DrainOptions) =>
      inWorkspace(io, options, async (workspace) => {
        const { spec } = await findRegistration(workspace, name);
        await writeScheduling(workspace.client, name, (present) => drainedScheduling(present, io.clock.now()));
        const isText = options.output === "table";
        const print = (line: string): void => (isText ? io.out(`${line}\n`) : io.err(`${line}\n`));
        print(`${resourceName}/${name} ${isDrained(spec) ? "already draining" : "draining"}`);
        const end = options.wait
          ? await waitUntilDrained(io, workspace, { name, timeout: options.timeout, print })
          : undefined;
        const remaining = end?.remaining ?? (await readRemaining(workspace, name));
        if (options.output === "json" || options.output === "yaml") {
          const items = remaining.map(({ title, isBlocked, message }) => ({
            name: title,
            blocked: isBlocked,
            message,
          }));
          io.out(formatDocument({ cluster: name, drained: items.length === 0, remaining: items }, options.output));
        }
        if (end === undefined) return;
        if (remaining.length === 0) print(`${resourceName}/${name} drained`);
        else throw new CommandExit(end.outcome === "interrupted" ? 130 : 1, exitMessage(name, remaining, end.outcome));
      }),
    );
}

type DrainEnd = Readonly<{
  remaining: readonly RemainingWork[];
  outcome: "drained" | "blocked" | "timeout" | "interrupted";
}>;

const pollIntervalMs = 1_000;
/** When all remaining work is blocked for this long, the wait ends: the placements have been decided again by then. */
const blockedTimeoutMs = 5_000;

async function waitUntilDrained(
  io: CliIo,
  workspace: OpenWorkspace,
  { name, timeout, print }: Readonly<{ name: string; timeout: number; print: (line: string) => void }>,
): Promise<DrainEnd> {
  const interruption = new AbortController();
  void io.untilInterrupted().then(() => interruption.abort());
  const endMs = io.clock.monotonicMs() + timeout * 1000;
  let blockedSinceMs: number | undefined;
  const reported = new Map<string, string>();
  for (;;) {
    const remaining = await readRemaining(workspace, name);
    for (const line of progressLines(reported, remaining)) print(line);
    if (remaining.length === 0) return { remaining, outcome: "drained" };
    const now = io.clock.monotonicMs();
    blockedSinceMs = remaining.every(({ isBlocked }) => isBlocked) ? (blockedSinceMs ?? now) : undefined;
    if (blockedSinceMs !== undefined && now - blockedSinceMs >= blockedTimeoutMs)
      return { remaining, outcome: "blocked" };
    if (now >= endMs) return { remaining, outcome: "timeout" };
    if (!(await delay(io.clock, pollIntervalMs, interruption.signal))) return { remaining, outcome: "interrupted" };
  }
}

/** Returns a line for each change since the last call, and stores the current state in `reported`. */
export function progressLines(reported: Map<string, string>, remaining: readonly RemainingWork[]): readonly string[] {
  const present = new Map(
    remaining.map(({ title, isBlocked, message }) => [title, `${isBlocked ? "blocked" : "waiting"}: ${message}`]),
  );
  const evicted = [...reported.keys()].filter((title) => !present.has(title));
  const changed = [...present].filter(([title, state]) => reported.get(title) !== state);
  reported.clear();
  for (const [title, state] of present) reported.set(title, state);
  if (evicted.length === 0 && changed.length === 0) return [];
  const count = remaining.length === 0 ? [] : [`${remaining.length} remaining`];
  return [
    ...evicted.map((title) => `  ${title} evicted`),
    ...changed.map(([title, state]) => `  ${title} ${state}`),
    ...count,
  ];
}

function exitMessage(name: string, remaining: readonly RemainingWork[], outcome: DrainEnd["outcome"]): string {
  const note = `the drain stays in effect until ${commandName()} cluster uncordon ${name}`;
  if (outcome === "blocked") return `cluster ${name}: not drained, ${remaining.length} cannot be evicted; ${note}`;
  const cause = outcome === "interrupted" ? "interrupted" : "timed out";
  return `cluster ${name}: ${cause}, ${remaining.length} remaining; ${note}`;
}

async function readRemaining(workspace: OpenWorkspace, targetCluster: string): Promise<readonly RemainingWork[]> {
  const [syncRecords, placements] = await Promise.all([workspace.syncRecords(), workspace.placements()]);
  return remainingOn({ targetCluster, syncRecords, placements });
}
