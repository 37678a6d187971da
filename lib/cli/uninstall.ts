import { ControllerError } from "@tmc/kube/fault.ts";
import { Command } from "commander";
import { exportWorkspace } from "../api/group.ts";
import { findInstallation, type Removal, removeInstallation, removeTenant } from "../install/uninstall.ts";
import { type BoundTenant, listTenants } from "../upstream/export/tenants.ts";
import { type CliIo, confirmDeletion } from "./cli-io.ts";

import { inKcp } from "./kcp-connection.ts";
import { timeoutOption } from "./options.ts";
import { formatTable } from "./output.ts";
import { type WorkspaceOptions, withWorkspaceOptions } from "./workspace.ts";

type UninstallOptions = WorkspaceOptions & Readonly<{ withTenants?: true; dryRun?: true; yes?: true; timeout: number }>;

/** The command that takes away all that `tmc bootstrap` has made. */
export function uninstallCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    new Command("uninstall")
      .summary("take TMC out of a kcp")
      .description(
        `Takes away all that tmc bootstrap has made in ${exportWorkspace} (--workspace names another), and the workspace itself when it made that and nothing else is in it. While workspaces are bound to the export it refuses, and says which. Kubeconfigs that were written stay where they are, and open nothing any more.`,
      )
      .option("--with-tenants", "unbind the tenants first: all their objects of TMC's kinds are deleted")
      .option("--dry-run", "show what would be deleted, without doing it")
      .option("-y, --yes", "do not ask")
      .addOption(timeoutOption()),
  ).action((options: UninstallOptions) =>
    inKcp(io, { ...options, defaultWorkspace: exportWorkspace }, async ({ kcp, path, openEndpoint }) => {
      const wait = { limitMs: options.timeout * 1000, clock: io.clock };
      const removal = await findInstallation(kcp, path, wait);
      if (removal === undefined || (!removal.takesWorkspace && removal.objects.length === 0)) {
        io.out(`${path}: there is nothing of TMC's\n`);
        return;
      }
      const tenants = await listTenants(kcp, { path, openEndpoint });
      if (options.dryRun === true) {
        io.out(formatRemoval(path, removal, tenants));
        return;
      }
      if (tenants.length > 0 && options.withTenants !== true) {
        const names = tenants.map((tenant) => tenant.path).join(", ");
        throw new ControllerError(
          "conflict",
          `${path}: its export is bound in ${names}; --with-tenants takes it out of there, with all objects of TMC's kinds`,
        );
      }
      const others =
        tenants.length === 0
          ? ""
          : ` All objects of TMC's kinds in ${tenants.map((tenant) => tenant.path).join(", ")} are deleted.`;
      const question = `Uninstall TMC from ${path}?${others}`;
      if (!(await confirmDeletion(io, { yes: options.yes === true, question }))) return;
      for (const tenant of tenants) {
        await removeTenant(kcp, tenant, wait);
        io.out(`${tenant.path}: unbound\n`);
      }
      await removeInstallation(kcp, { path, removal }, wait);
      io.out(formatRemoved(path, removal));
    }),
  );
}

function formatRemoval(path: string, { takesWorkspace, objects }: Removal, tenants: readonly BoundTenant[]): string {
  return formatTable(
    ["ACTION", "KIND", "NAME"],
    [
      ...tenants.map((tenant) => ["delete", "APIBinding", `${tenant.binding} in ${tenant.path}`]),
      ...objects.map(({ kind, name }) => ["delete", kind, name]),
      ...(takesWorkspace ? [["delete", "Workspace", path]] : []),
    ],
  );
}

function formatRemoved(path: string, { takesWorkspace, stays, objects }: Removal): string {
  if (takesWorkspace) return `${path}: deleted\n`;
  return `${path}: ${objects.length} objects deleted; the workspace stays: ${stays}\n`;
}
