import { Command, Option } from "commander";
import type { CliIo } from "./cli-io.ts";
import type { LocalOptions } from "./local/run.ts";

const help = `
It keeps nothing: when it ends, all that was in it is gone. Kubeconfigs are written to the folder (kcp.kubeconfig with the
contexts demo, the current one, and root; one for each cluster) and removed at the end.

Examples:
  tmc local                        a live board; h shows what to try, q ends it
  tmc local --once -o json         run until everything is settled, print the facts, end
  tmc local --real                 with a real kcp and real clusters (in a clone of the sources; needs Go)
`;

/** The command that starts everything on this machine, for trying it out. */
export function localCommand(io: CliIo): Command {
  return new Command("local")
    .summary("try it: a kcp, two clusters and the controller, in memory")
    .description(
      "Starts a kcp with a workspace, the clusters east and west, and the controller in this process, with some samples to look at.",
    )
    .option("--dir <folder>", "where kubeconfigs are written (default: .tmc, with --once a temporary folder)")
    .option("--once", "run until everything is settled, print the facts, and end")
    .option("--real", "use a real kcp and real clusters; they are built when that has not been done yet")
    .addOption(
      new Option(
        "-o, --output <format>",
        "how to print it; json gives one document with --once, otherwise a line for each event",
      )
        .choices(["text", "json"])
        .default("text"),
    )
    .addHelpText("after", help)
    .action(async (options: LocalOptions) => {
      // Only now: a kcp and two clusters would make every other command slow to start.
      const { runLocal } = await import("./local/run.ts");
      await runLocal(io, options);
    });
}
