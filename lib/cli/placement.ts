import { faultOf } from "@tmc/kube/errors.ts";
import { Argument, Command, InvalidArgumentError, Option } from "commander";
import { apiVersionOf } from "../api/kind.ts";
import { type WorkloadPlacement, workloadPlacement } from "../api/workload-placement.ts";
import { waitUntil } from "../install/wait.ts";
import { findCondition } from "../model/condition.ts";
import { type CliIo, confirmDeletion } from "./cli-io.ts";

import { collectLabel, collectWords, parseName } from "./names.ts";
import { timeoutOption, type WaitFlags } from "./options.ts";
import { formatObjects, type Output, outputOption } from "./output.ts";
import { describePlacement, formatPlacements, placementStatus } from "./placement-view.ts";
import {
  inWorkspace,
  resourceTypes,
  type Workspace,
  type WorkspaceOptions,
  withWorkspaceOptions,
} from "./workspace.ts";

type Shown = WorkspaceOptions & Readonly<{ output: Output }>;
const described = "workloadplacement.tmc.kcp.io";
const strategies = ["RoundRobin", "Spread", "Affinity"] as const;

/** The commands about placements. */
export function placementCommand(io: CliIo): Command {
  return new Command("placement")
    .summary("placements: list, describe, create, delete")
    .description("Works with the placements of a workspace.")
    .addCommand(listCommand(io))
    .addCommand(describeCommand(io))
    .addCommand(createCommand(io))
    .addCommand(deleteCommand(io));
}

function listCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    new Command("list").alias("ls").summary("list the placements").addOption(outputOption()),
  ).action((options: Shown) =>
    inWorkspace(io, options, async (workspace) => {
      const placements = await workspace.placements();
      const { output } = options;
      if (output === "json" || output === "yaml") io.out(formatObjects(placements, output));
      else if (placements.length === 0) io.err("there are no placements\n");
      else io.out(formatPlacements(placements, { wide: output === "wide", nowMs: io.clock.now() }));
    }),
  );
}

function describeCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    new Command("describe")
      .alias("status")
      .summary("say everything that is known about a placement")
      .addArgument(nameArgument())
      .addOption(outputOption(["table", "json", "yaml"])),
  ).action((name: string, options: Shown) =>
    inWorkspace(io, options, async (workspace) => {
      const placement = await findPlacement(workspace, name);
      const { output } = options;
      if (output === "json" || output === "yaml") io.out(formatObjects(placement, output));
      else io.out(describePlacement(placement, io.clock.now()));
    }),
  );
}

type CreateOptions = Shown &
  WaitFlags &
  Readonly<{
    strategy?: (typeof strategies)[number];
    locationSelector?: Readonly<Record<string, string>>;
    capability?: readonly string[];
    cluster?: readonly string[];
    preferCluster?: readonly string[];
    numberOfClusters?: number;
    dryRun?: true;
  }>;

function createCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    new Command("create")
      .summary("create a placement")
      .description("Creates a placement. What these options cannot say, a manifest can: kubectl apply -f.")
      .addArgument(nameArgument())
      .addOption(new Option("--strategy <strategy>", "how clusters are chosen").choices(strategies))
      .option(
        "--location-selector <key=value>",
        "a label, or location, region, zone, that clusters must have; may be given several times",
        collectLabel,
      )
      .option("--capability <type>", "what clusters must offer; may be given several times", collectWords)
      .option("--cluster <name>", "the only clusters that come into question; may be given several times", collectWords)
      .option("--prefer-cluster <name>", "a cluster to prefer; may be given several times", collectWords)
      .option("--number-of-clusters <number>", "how many clusters to choose at most", parseCount)
      .option("--dry-run", "have the server check it, and print it, without storing it")
      .option("--wait", "wait until clusters are chosen")
      .addOption(timeoutOption())
      .addOption(outputOption(["table", "json", "yaml"])),
  )
    .addHelpText(
      "after",
      `
Examples:
  tmc placement create web --strategy Spread --location-selector region=us-west
  tmc placement create training --strategy Affinity --capability gpu --wait
`,
    )
    .action((name: string, options: CreateOptions) =>
      inWorkspace(io, options, async (workspace) => {
        const { output, dryRun = false, wait, timeout } = options;
        const created = await workspace.client
          .create<WorkloadPlacement>({ type: resourceTypes.placements }, placementOf(name, options), {
            dryRun,
            fieldManager: "tmc-cli",
            fieldValidation: "Strict",
          })
          .catch((error: unknown) => {
            if (faultOf(error) !== "exists") throw error;
            throw new Error(`placement "${name}": is there already`, { cause: error });
          });
        if (output === "json" || output === "yaml") io.out(formatObjects(created, output));
        else io.out(`${described}/${name} created${dryRun ? " (dry run)" : ""}\n`);
        if (wait === true && !dryRun) await untilReady(io, workspace, name, timeout);
      }),
    );
}

function deleteCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    new Command("delete")
      .alias("rm")
      .summary("delete a placement")
      .addArgument(nameArgument())
      .option("-y, --yes", "do not ask"),
  ).action((name: string, options: WorkspaceOptions & Readonly<{ yes?: true }>) =>
    inWorkspace(io, options, async (workspace) => {
      const { metadata, status } = await findPlacement(workspace, name);
      const where = (status?.selectedClusters ?? []).join(", ");
      const question = `Delete ${name}? It ${where === "" ? "is on no cluster" : `is on ${where}`}.`;
      if (!(await confirmDeletion(io, { yes: options.yes === true, question }))) return;
      const address = { type: resourceTypes.placements, name };
      await workspace.client.delete(address, { preconditions: { uid: metadata.uid } });
      io.out(`${described}/${name} deleted\n`);
    }),
  );
}

function nameArgument(): Argument {
  return new Argument("<name>", "the placement's name").argParser(parseName);
}

/** The placement of that name, or an error that says which there are. */
export async function findPlacement(workspace: Workspace, name: string): Promise<WorkloadPlacement> {
  return workspace.placement(name).catch(async (error: unknown) => {
    if (faultOf(error) !== "not-found") throw error;
    const names = (await workspace.placements()).map(({ metadata }) => metadata.name ?? "");
    throw new Error(`placement "${name}": there is none; there are ${names.join(", ") || "no placements"}`);
  });
}

async function untilReady(io: CliIo, workspace: Workspace, name: string, timeoutSeconds: number): Promise<void> {
  const { status } = await waitUntil(
    `placement ${name} to be Ready`,
    async () => {
      const placement = await workspace.placement(name);
      if (placementStatus(placement) === "Ready") return { done: placement };
      const ready = findCondition(placement.status?.conditions, "Ready");
      return { missing: ready === undefined ? "no controller has looked at it" : `${ready.reason}: ${ready.message}` };
    },
    { limitMs: timeoutSeconds * 1000, clock: io.clock },
  );
  io.out(`${described}/${name} is on ${(status?.selectedClusters ?? []).join(", ")}\n`);
}

function placementOf(name: string, options: CreateOptions): WorkloadPlacement {
  const { strategy, locationSelector, capability, cluster, preferCluster, numberOfClusters } = options;
  return {
    apiVersion: apiVersionOf(workloadPlacement),
    kind: "WorkloadPlacement",
    metadata: { name },
    spec: {
      ...(strategy === undefined ? {} : { strategy }),
      ...(locationSelector === undefined ? {} : { locationSelector: { matchLabels: { ...locationSelector } } }),
      ...(capability === undefined
        ? {}
        : { capabilityRequirements: capability.map((type) => ({ type, required: true })) }),
      ...(cluster === undefined ? {} : { clusterNames: cluster }),
      ...(preferCluster === undefined ? {} : { preferredClusters: preferCluster }),
      ...(numberOfClusters === undefined ? {} : { numberOfClusters }),
    },
  };
}

function parseCount(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1) throw new InvalidArgumentError("write a whole number from 1 on.");
  return count;
}
