import { faultOf } from "@tmc/kube/errors.ts";
import { Command } from "commander";
import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import { type CliIo, confirmDeletion } from "../cli-io.ts";
import { type ListFlags, printList, withListOptions } from "../list.ts";
import { type Output, outputOption, printObject } from "../output.ts";
import {
  inWorkspace,
  type OpenWorkspace,
  resourceTypes,
  type WorkspaceOptions,
  withWorkspaceOptions,
} from "../workspace.ts";
import { createCommand } from "./create-placement.ts";
import { describePlacement, placementArgument, placementResource, placementTable } from "./placement-view.ts";

type OutputOptions = WorkspaceOptions & Readonly<{ output: Output }>;

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
  return withWorkspaceOptions(withListOptions(new Command("list").alias("ls").summary("List the placements"))).action(
    (options: WorkspaceOptions & ListFlags) =>
      inWorkspace(io, options, (workspace) =>
        printList(io, options, {
          ifEmpty: "No placements found.\n",
          read: async () => {
            const placements = await workspace.placements(options.selector);
            return {
              objects: placements,
              table: (wide) => placementTable(placements, { wide, nowMs: io.clock.now() }),
            };
          },
        }),
      ),
  );
}

function describeCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    new Command("describe")
      .alias("status")
      .summary("Show the details of a placement")
      .addArgument(placementArgument())
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

function deleteCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    new Command("delete")
      .alias("rm")
      .summary("Delete a placement")
      .addArgument(placementArgument())
      .option("-y, --yes", "Do not ask for confirmation"),
  ).action((name: string, options: WorkspaceOptions & Readonly<{ yes?: true }>) =>
    inWorkspace(io, options, async (workspace) => {
      const { metadata, status } = await findPlacement(workspace, name);
      const clusters = (status?.selectedClusters ?? []).join(", ") || "no cluster";
      const question = `Delete ${name}? It selects ${clusters}.`;
      if (!(await confirmDeletion(io, { yes: options.yes === true, question }))) return;
      const address = { type: resourceTypes.placements, name };
      await workspace.client.delete(address, { preconditions: { uid: metadata.uid } });
      io.out(`${placementResource}/${name} deleted\n`);
    }),
  );
}

/** Reads a placement; when there is none, the error lists the existing placements. */
export async function findPlacement(workspace: OpenWorkspace, name: string): Promise<WorkloadPlacement> {
  return workspace.placement(name).catch(async (error: unknown) => {
    if (faultOf(error) !== "not-found") throw error;
    const names = (await workspace.placements()).map(({ metadata }) => metadata.name ?? "");
    throw new Error(`placement "${name}": not found; existing placements: ${names.join(", ") || "none"}`);
  });
}
