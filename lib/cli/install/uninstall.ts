import { ControllerError } from "@tmc/kube/fault.ts";
import { Command } from "commander";
import { exportWorkspace } from "../../api/group.ts";
import { findInstallation, type Removal, removeInstallation, removeTenant } from "../../install/uninstall.ts";
import { type BoundTenant, listTenants } from "../../upstream/export/tenants.ts";
import { type CliIo, confirmDeletion } from "../cli-io.ts";
import { timeoutOption } from "../options.ts";
import { formatTable } from "../output.ts";
import { type WorkspaceOptions, withWorkspaceOptions } from "../workspace.ts";
import { withKcp } from "./kcp-connection.ts";

type UninstallOptions = WorkspaceOptions & Readonly<{ withTenants?: true; dryRun?: true; yes?: true; timeout: number }>;

/** Creates the `uninstall` command. */
export function uninstallCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    new Command("uninstall")
      .summary("Remove TMC from kcp")
      .description(
        `Delete the objects that tmc bootstrap created in ${exportWorkspace} (or in the workspace of --workspace), and the workspace itself if tmc bootstrap created it and it contains nothing else. The command fails while workspaces bind the APIExport, unless --with-tenants is set. Kubeconfig files are not deleted, but their credentials become invalid.`,
      )
      .option("--with-tenants", "Unbind all tenants first, which deletes their objects of TMC's resources")
      .option("--dry-run", "Print what would be deleted without deleting it")
      .option("-y, --yes", "Do not ask for confirmation")
      .addOption(timeoutOption()),
  ).action((options: UninstallOptions) =>
    withKcp(io, { ...options, defaultWorkspace: exportWorkspace }, async ({ kcp, path, openEndpoint }) => {
      const wait = { timeoutMs: options.timeout * 1000, clock: io.clock };
      const removal = await findInstallation(kcp, path, wait);
      if (removal === undefined || (!removal.deletesWorkspace && removal.objects.length === 0)) {
        io.out(`${path}: TMC is not installed\n`);
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
          `${path}: the APIExport is bound in ${names}; use --with-tenants to unbind it there and delete all objects of TMC's resources`,
        );
      }
      const tenantsText =
        tenants.length === 0
          ? ""
          : ` This deletes all objects of TMC's resources in ${tenants.map((tenant) => tenant.path).join(", ")}.`;
      const question = `Uninstall TMC from ${path}?${tenantsText}`;
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

function formatRemoval(path: string, { deletesWorkspace, objects }: Removal, tenants: readonly BoundTenant[]): string {
  return formatTable(
    ["ACTION", "KIND", "NAME"],
    [
      ...tenants.map((tenant) => ["delete", "APIBinding", `${tenant.binding} in ${tenant.path}`]),
      ...objects.map(({ kind, name }) => ["delete", kind, name]),
      ...(deletesWorkspace ? [["delete", "Workspace", path]] : []),
    ],
  );
}

function formatRemoved(path: string, { deletesWorkspace, keepReason, objects }: Removal): string {
  if (deletesWorkspace) return `${path}: deleted\n`;
  return `${path}: ${objects.length} objects deleted; the workspace stays: ${keepReason}\n`;
}
