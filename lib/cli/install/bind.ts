import type { KubeClient } from "@tmc/kube/client.ts";
import { ApiError, faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { Argument, Command } from "commander";
import { bindingName, exportWorkspace } from "../../api/group.ts";
import { bindExport, boundTypes } from "../../install/bind.ts";
import { userRoles } from "../../install/bootstrap-objects.ts";
import { ensureObjects } from "../../install/ensure-objects.ts";
import { ensureWorkspace } from "../../install/workspaces.ts";
import { workspaces } from "../../upstream/kcp-types.ts";
import type { CliIo } from "../cli-io.ts";
import { parseName, parseWorkspaceArgument } from "../names.ts";
import { timeoutOption } from "../options.ts";
import { formatObjects, outputOption } from "../output.ts";
import { type WorkspaceOptions, withWorkspaceOptions } from "../workspace.ts";
import { withKcp } from "./kcp-connection.ts";

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
  # Bind TMC's APIExport in a workspace
  tmc bind --workspace root:team-a

  # Create the workspace first if it does not exist
  tmc bind --workspace root:team-a --create

  # Bind the APIExport of another provider workspace in the current workspace
  tmc bind root:other:tmc
`;

/** Creates the `bind` command. */
export function bindCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    new Command("bind")
      .summary("Bind TMC's APIExport in a workspace")
      .description(
        "Bind TMC's APIExport in a workspace, accept all its permission claims, and wait until its resources are served. An existing binding is updated. The command also creates the ClusterRoles tmc:viewer, tmc:operator and tmc:cluster-admin in the workspace, for role bindings of users.",
      )
      .addArgument(
        new Argument("[provider]", "Path of the workspace that contains the APIExport")
          .argParser(parseWorkspaceArgument)
          .default(exportWorkspace),
      )
      .option("--name <name>", "Name of the APIBinding, if it is created", parseName, bindingName)
      .option("--create", "Create the workspace if it does not exist")
      .option("--no-roles", "Do not create the ClusterRoles for users")
      .addOption(timeoutOption())
      .addOption(outputOption(["table", "json", "yaml"])),
  )
    .addHelpText("after", help)
    .action((provider: string, options: BindOptions) =>
      withKcp(io, options, async ({ kcp, path, client }) => {
        const wait = { timeoutMs: options.timeout * 1000, clock: io.clock };
        if (options.create === true) await ensureWorkspace(kcp, path, wait);
        else if (!(await mayExist(kcp, path))) {
          throw new ControllerError("not-found", `workspace "${path}": does not exist; add --create to create it`);
        }
        const { binding, isChanged } = await bindExport(client, provider, { ...wait, name: options.name });
        if (options.roles) {
          // A user who may bind an export may lack the permission to create roles; the binding itself has succeeded.
          await ensureObjects(client, userRoles(boundTypes(binding)), wait).catch((error: unknown) => {
            if (faultOf(error) !== "forbidden" && faultOf(error) !== "unreachable") throw error;
            io.err(
              `tmc: ${path}: cannot create the ClusterRoles tmc:*: ${error instanceof Error ? error.message : "forbidden"}\n`,
            );
          });
        }
        const { output } = options;
        if (output !== "table") io.out(formatObjects(binding, output));
        else {
          const name = binding.metadata.name ?? "";
          io.out(
            `${path}: ${isChanged ? "bound" : "already bound"} to ${provider} by APIBinding ${name}, ${boundTypes(binding).length} resources\n`,
          );
        }
      }),
    );
}

/**
 * Returns false if the parent of a workspace does not have it. The wait for the binding cannot know: kcp answers 404 also while it
 * prepares a new workspace. A user who may not read the parent gets no answer, which counts as true.
 */
async function mayExist(kcp: KubeClient, path: string): Promise<boolean> {
  const at = path.lastIndexOf(":");
  if (at < 0) return true;
  try {
    await kcp.at(`/clusters/${path.slice(0, at)}`).get({ type: workspaces, name: path.slice(at + 1) });
    return true;
  } catch (error) {
    if (faultOf(error) === "forbidden") return true;
    if (error instanceof ApiError && error.status === 404 && error.body?.details?.name !== undefined) return false;
    throw error;
  }
}
