import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Command } from "commander";
import { testedVersions, tmcVersion } from "../model/version.ts";
import type { CliIo } from "./cli-io.ts";
import { formatDocument, formatFields, type Output, outputOption } from "./output.ts";

/** Creates the `version` command. */
export function versionCommand(io: CliIo): Command {
  return new Command("version")
    .summary("Print the version, and what it was tested with")
    .description(
      "Print the version and the commit of tmc, and the versions of kcp and Kubernetes that it is tested with.",
    )
    .addOption(outputOption(["table", "json", "yaml"]))
    .action(async ({ output }: Readonly<{ output: Output }>) => {
      const [version, node] = [tmcVersion(), process.version];
      const commit = await bundledOrClonedCommit();
      const { kcp, kubernetes } = testedVersions;
      if (output === "json" || output === "yaml") {
        io.out(formatDocument({ version, commit: commit ?? null, node, testedWith: { kcp, kubernetes } }, output));
        return;
      }
      io.out(
        formatFields([
          ["Version", version],
          ["Commit", commit ?? "unknown"],
          ["Node", node],
          ["Tested with", `kcp ${kcp}, Kubernetes ${kubernetes}`],
        ]),
      );
    });
}

async function bundledOrClonedCommit(): Promise<string | undefined> {
  // A bundle without a commit may be in the clone of another project.
  if (process.env.TMC_VERSION !== undefined) return process.env.TMC_COMMIT;
  return commitOf(fileURLToPath(new URL("../..", import.meta.url)));
}

/** Returns the commit of a folder that is the root of a git clone; otherwise, or without git, undefined. */
export async function commitOf(folder: string): Promise<string | undefined> {
  const { stdout } = await promisify(execFile)("git", ["-C", folder, "rev-parse", "--show-prefix", "HEAD"]).catch(
    () => ({ stdout: "" }),
  );
  const [prefix, commit] = stdout.split("\n");
  return prefix === "" && commit !== "" ? commit : undefined;
}
