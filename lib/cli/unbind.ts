import { ControllerError } from "@tmc/kube/fault.ts";
import { Argument, Command } from "commander";
import { exportName, exportWorkspace } from "../api/group.ts";
import { findBinding } from "../install/bind.ts";
import { countBoundObjects, formatCounts, removePeopleRoles, unbindExport } from "../install/unbind.ts";
import type { CliIo } from "./cli-io.ts";
import { inKcp } from "./kcp-connection.ts";
import { parseWorkspaceArgument } from "./names.ts";
import { timeoutOption } from "./options.ts";
import { type WorkspaceOptions, withWorkspaceOptions } from "./workspace.ts";

type UnbindOptions = WorkspaceOptions & Readonly<{ deleteObjects?: true; dryRun?: true; timeout: number }>;

/** The command by which a workspace gives the export up. */
export function unbindCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    new Command("unbind")
      .summary("take TMC out of a workspace")
      .description(
        "Takes the binding of TMC's export out of a workspace, and the roles that tmc bind has put there. kcp deletes all objects of the bound kinds with it: while there are some it refuses, and says how many.",
      )
      .addArgument(
        new Argument("[provider]", "the workspace that holds the export")
          .argParser(parseWorkspaceArgument)
          .default(exportWorkspace),
      )
      .option("--delete-objects", "delete the objects of the bound kinds with it")
      .option("--dry-run", "say what would be deleted, without doing it")
      .addOption(timeoutOption()),
  ).action((provider: string, options: UnbindOptions) =>
    inKcp(io, options, async ({ path, client }) => {
      const wait = { limitMs: options.timeout * 1000, clock: io.clock };
      const binding = await findBinding(client, provider, wait);
      if (binding === undefined) {
        io.out(`${path}: is not bound to ${exportName} of ${provider}\n`);
        return;
      }
      const counts = await countBoundObjects(client, binding, wait);
      const lost = counts.length === 0 ? "no objects" : formatCounts(counts);
      if (options.dryRun === true) {
        io.out(`${path}: binding ${binding.metadata.name} would go, and with it ${lost}\n`);
        return;
      }
      if (counts.length > 0 && options.deleteObjects !== true) {
        throw new ControllerError("conflict", `${path}: ${lost} would be deleted; --delete-objects agrees to that`);
      }
      const mayDeleteObjects = options.deleteObjects === true;
      await unbindExport(client, { binding, mayDeleteObjects }, wait);
      await removePeopleRoles(client, wait);
      io.out(`${path}: unbound from ${provider}${counts.length === 0 ? "" : `, ${lost} deleted`}\n`);
    }),
  );
}
