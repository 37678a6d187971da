import { faultOf } from "@tmc/kube/errors.ts";
import { Argument, Command } from "commander";
import { bindingName, exportWorkspace } from "../api/group.ts";
import { bindExport, boundTypes } from "../install/bind.ts";
import { peopleRoles } from "../install/bootstrap-objects.ts";
import { ensureObjects } from "../install/ensure-objects.ts";
import { ensureWorkspace } from "../install/workspaces.ts";
import type { CliIo } from "./cli-io.ts";
import { inKcp } from "./kcp-connection.ts";
import { parseName, parseWorkspaceArgument } from "./names.ts";
import { timeoutOption } from "./options.ts";
import { formatObjects, outputOption } from "./output.ts";
import { type WorkspaceOptions, withWorkspaceOptions } from "./workspace.ts";

type BindOptions = WorkspaceOptions &
  Readonly<{
    name: string;
    create?: true;
    roles: boolean;
    timeout: number;
    output: "table" | "json" | "yaml";
  }>;

const help = `
Examples:
  tmc bind --workspace root:team-a             offer TMC's kinds in that workspace
  tmc bind --workspace root:team-a --create    make the workspace first
  tmc bind root:other:tmc                      the export of another provider, in the current workspace
`;

/** The command by which a workspace takes up the export. */
export function bindCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    new Command("bind")
      .summary("let a workspace use TMC")
      .description(
        "Binds TMC's export in a workspace with everything accepted that it asks for, and waits until its kinds are served. A binding that is there already is kept and brought up to date. The roles tmc:viewer, tmc:operator and tmc:cluster-admin are put there too, for people to be bound to.",
      )
      .addArgument(
        new Argument("[provider]", "the workspace that holds the export")
          .argParser(parseWorkspaceArgument)
          .default(exportWorkspace),
      )
      .option("--name <name>", "what a new binding is called", parseName, bindingName)
      .option("--create", "make the workspace when there is none")
      .option("--no-roles", "leave the roles for people out")
      .addOption(timeoutOption())
      .addOption(outputOption(["table", "json", "yaml"])),
  )
    .addHelpText("after", help)
    .action((provider: string, options: BindOptions) =>
      inKcp(io, options, async ({ kcp, path, client }) => {
        const wait = { limitMs: options.timeout * 1000, clock: io.clock };
        if (options.create === true) await ensureWorkspace(kcp, path, wait);
        const { binding, isChanged } = await bindExport(client, provider, { ...wait, name: options.name });
        if (options.roles) {
          // Who may bind an export need not be allowed to make roles, and has what he came for.
          await ensureObjects(client, peopleRoles(boundTypes(binding)), wait).catch((error: unknown) => {
            if (faultOf(error) !== "forbidden" && faultOf(error) !== "unreachable") throw error;
            io.err(
              `tmc: ${path}: the roles tmc:* are not there: ${error instanceof Error ? error.message : "refused"}\n`,
            );
          });
        }
        const { output } = options;
        if (output !== "table") io.out(formatObjects(binding, output));
        else {
          const name = binding.metadata.name ?? "";
          io.out(
            `${path}: ${isChanged ? "bound" : "is bound already"} to ${provider} by ${name}, ${boundTypes(binding).length} kinds\n`,
          );
        }
      }),
    );
}
