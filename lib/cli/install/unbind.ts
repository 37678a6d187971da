import { ControllerError } from "@tmc/kube/fault.ts";
import { Argument, Command } from "commander";
import { exportName, exportWorkspace } from "../../api/group.ts";
import { findBinding } from "../../install/bind.ts";
import { countBoundObjects, formatCounts, removeUserRoles, unbindExport } from "../../install/unbind.ts";
import type { CliIo } from "../cli-io.ts";
import { parseWorkspaceArgument } from "../names.ts";
import { timeoutOption } from "../options.ts";
import { type WorkspaceOptions, withWorkspaceOptions } from "../workspace.ts";
import { withKcp } from "./kcp-connection.ts";

type UnbindOptions = WorkspaceOptions & Readonly<{ deleteObjects?: true; dryRun?: true; timeout: number }>;

/** Creates the `unbind` command. */
export function unbindCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    new Command("unbind")
      .summary("Remove the binding of TMC's APIExport from a workspace")
      .description(
        "Remove the binding of TMC's APIExport from a workspace, and the ClusterRoles that tmc bind created. kcp deletes all objects of the bound resources together with the binding, so the command fails while such objects exist, unless --delete-objects is set.",
      )
      .addArgument(
        new Argument("[provider]", "Path of the workspace that contains the APIExport")
          .argParser(parseWorkspaceArgument)
          .default(exportWorkspace),
      )
      .option("--delete-objects", "Delete the objects of the bound resources")
      .option("--dry-run", "Print what would be deleted without deleting it")
      .addOption(timeoutOption()),
  ).action((provider: string, options: UnbindOptions) =>
    withKcp(io, options, async ({ path, client }) => {
      const wait = { timeoutMs: options.timeout * 1000, clock: io.clock };
      const binding = await findBinding(client, provider, wait);
      if (binding === undefined) {
        io.out(`${path}: not bound to ${exportName} of ${provider}\n`);
        return;
      }
      const counts = await countBoundObjects(client, binding, wait);
      const deletedObjects = counts.length === 0 ? "no objects" : formatCounts(counts);
      if (options.dryRun === true) {
        io.out(`${path}: would delete APIBinding ${binding.metadata.name} and ${deletedObjects}\n`);
        return;
      }
      if (counts.length > 0 && options.deleteObjects !== true) {
        throw new ControllerError(
          "conflict",
          `${path}: would delete ${deletedObjects}; use --delete-objects to delete them`,
        );
      }
      const mayDeleteObjects = options.deleteObjects === true;
      await unbindExport(client, { binding, mayDeleteObjects }, wait);
      await removeUserRoles(client, wait);
      io.out(`${path}: unbound from ${provider}${counts.length === 0 ? "" : `, ${deletedObjects} deleted`}\n`);
    }),
  );
}
