import { faultOf } from "@tmc/kube/errors.ts";
import { Argument, Command, InvalidArgumentError, Option } from "commander";
import { formatApiVersion } from "../../api/kind.ts";
import { type WorkloadPlacement, workloadPlacement } from "../../api/workload-placement.ts";
import { waitUntil } from "../../install/wait.ts";
import { findCondition } from "../../model/condition.ts";
import { type CliIo, confirmDeletion } from "../cli-io.ts";

import { collectLabel, collectList, parseName } from "../names.ts";
import { timeoutOption, type WaitFlags } from "../options.ts";
import { type Output, outputOption, printList, printObject } from "../output.ts";
import {
  inWorkspace,
  type OpenWorkspace,
  resourceTypes,
  type WorkspaceOptions,
  withWorkspaceOptions,
} from "../workspace.ts";
import { describePlacement, formatPlacements, placementStatus } from "./placement-view.ts";

type OutputOptions = WorkspaceOptions & Readonly<{ output: Output }>;
const resourceName = "workloadplacement.tmc.kcp.io";
const strategies = ["RoundRobin", "Spread", "Affinity"] as const;

/** Creates the `placement` command group. */
export function placementCommand(io: CliIo): Command {
  return new Command("placement")
    .summary("Manage placements: list, describe, create, delete")
    .description("Manage the placements of a workspace.")
    .addCommand(listCommand(io))
    .addCommand(describeCommand(io))
    .addCommand(createCommand(io))
    .addCommand(deleteCommand(io));
}

function listCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    new Command("list").alias("ls").summary("List the placements").addOption(outputOption()),
  ).action((options: OutputOptions) =>
    inWorkspace(io, options, async (workspace) => {
      const placements = await workspace.placements();
      await printList(io, placements, {
        output: options.output,
        ifEmpty: "No placements found.\n",
        table: (wide) => formatPlacements(placements, { wide, nowMs: io.clock.now() }),
      });
    }),
  );
}

function describeCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    new Command("describe")
      .alias("status")
      .summary("Show the details of a placement")
      .addArgument(nameArgument())
      .addOption(outputOption(["table", "json", "yaml"])),
  ).action((name: string, options: OutputOptions) =>
    inWorkspace(io, options, async (workspace) => {
      const placement = await findPlacement(workspace, name);
      await printObject(io, placement, {
        output: options.output,
        text: () => describePlacement(placement, io.clock.now()),
      });
    }),
  );
}

type CreateOptions = OutputOptions &
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
      .summary("Create a placement")
      .description(
        "Create a placement from options. Fields without an option can be set in a manifest and applied with kubectl apply -f.",
      )
      .addArgument(nameArgument())
      .addOption(new Option("--strategy <strategy>", "Strategy that selects the clusters").choices(strategies))
      .option(
        "--location-selector <key=value>",
        "Label that a cluster must have; location, region and zone match too; can be repeated",
        collectLabel,
      )
      .option(
        "--capability <type>",
        "Capability that a cluster must have; can be repeated or comma-separated",
        collectList,
      )
      .option(
        "--cluster <name>",
        "Name of a cluster to which the selection is limited; can be repeated or comma-separated",
        collectList,
      )
      .option("--prefer-cluster <name>", "Name of a preferred cluster; can be repeated or comma-separated", collectList)
      .option("--number-of-clusters <number>", "Maximum number of clusters to select", parseCount)
      .option("--dry-run", "Validate the placement on the server and print it without storing it")
      .option("--wait", "Wait until the placement is Ready")
      .addOption(timeoutOption())
      .addOption(outputOption(["table", "json", "yaml"])),
  )
    .addHelpText(
      "after",
      `
Examples:
  # Spread over the clusters of a region
  tmc placement create web --strategy Spread --location-selector region=us-west

  # Select clusters with GPUs, and wait until the placement is Ready
  tmc placement create training --strategy Affinity --capability gpu --wait
`,
    )
    .action((name: string, options: CreateOptions) =>
      inWorkspace(io, options, async (workspace) => {
        const { output, dryRun = false, wait, timeout } = options;
        const created = await workspace.client
          .create<WorkloadPlacement>({ type: resourceTypes.placements }, newPlacement(name, options), {
            dryRun,
            fieldManager: "tmc-cli",
            fieldValidation: "Strict",
          })
          .catch((error: unknown) => {
            if (faultOf(error) !== "exists") throw error;
            throw new Error(`placement "${name}": already exists`, { cause: error });
          });
        await printObject(io, created, {
          output,
          text: () => `${resourceName}/${name} created${dryRun ? " (dry run)" : ""}\n`,
        });
        if (wait === true && !dryRun) await waitUntilReady(io, workspace, name, timeout);
      }),
    );
}

function deleteCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    new Command("delete")
      .alias("rm")
      .summary("Delete a placement")
      .addArgument(nameArgument())
      .option("-y, --yes", "Do not ask for confirmation"),
  ).action((name: string, options: WorkspaceOptions & Readonly<{ yes?: true }>) =>
    inWorkspace(io, options, async (workspace) => {
      const { metadata, status } = await findPlacement(workspace, name);
      const clusters = (status?.selectedClusters ?? []).join(", ") || "no cluster";
      const question = `Delete ${name}? It selects ${clusters}.`;
      if (!(await confirmDeletion(io, { yes: options.yes === true, question }))) return;
      const address = { type: resourceTypes.placements, name };
      await workspace.client.delete(address, { preconditions: { uid: metadata.uid } });
      io.out(`${resourceName}/${name} deleted\n`);
    }),
  );
}

function nameArgument(): Argument {
  return new Argument("<name>", "Name of the placement").argParser(parseName);
}

/** Reads a placement; when there is none, the error lists the existing placements. */
export async function findPlacement(workspace: OpenWorkspace, name: string): Promise<WorkloadPlacement> {
  return workspace.placement(name).catch(async (error: unknown) => {
    if (faultOf(error) !== "not-found") throw error;
    const names = (await workspace.placements()).map(({ metadata }) => metadata.name ?? "");
    throw new Error(`placement "${name}": not found; existing placements: ${names.join(", ") || "none"}`);
  });
}

async function waitUntilReady(
  io: CliIo,
  workspace: OpenWorkspace,
  name: string,
  timeoutSeconds: number,
): Promise<void> {
  const { status } = await waitUntil(
    `placement ${name} to be Ready`,
    async () => {
      const placement = await workspace.placement(name);
      if (placementStatus(placement) === "Ready") return { done: placement };
      const ready = findCondition(placement.status?.conditions, "Ready");
      return { missing: ready === undefined ? "no controller has decided it" : `${ready.reason}: ${ready.message}` };
    },
    { timeoutMs: timeoutSeconds * 1000, clock: io.clock },
  );
  io.out(`${resourceName}/${name} is Ready on ${(status?.selectedClusters ?? []).join(", ")}\n`);
}

function newPlacement(name: string, options: CreateOptions): WorkloadPlacement {
  const { strategy, locationSelector, capability, cluster, preferCluster, numberOfClusters } = options;
  return {
    apiVersion: formatApiVersion(workloadPlacement),
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
  if (!Number.isInteger(count) || count < 1) throw new InvalidArgumentError("expected a whole number of at least 1.");
  return count;
}
