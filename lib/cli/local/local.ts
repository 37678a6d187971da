import { Command, InvalidArgumentError, Option } from "commander";
import { durationForm, parseDurationSeconds } from "../../model/timestamp.ts";
import type { CliIo } from "../cli-io.ts";
import type { LocalOptions } from "./run.ts";

const help = `
All data is in memory and is lost when the command ends. The command writes a
kubeconfig for kcp (kcp.kubeconfig, with the contexts demo and root) and one for
each cluster to the directory, and removes them at the end. One command at a
time uses a directory.

On a terminal with TERM=dumb or without UTF-8, and without a terminal, it prints
events as lines instead of the board. NO_COLOR and FORCE_COLOR=0 turn color off.

Examples:
  # Show a live board; press h for help and q to quit
  tmc local

  # Run until everything is ready, print the state as JSON, and exit
  tmc local --once -o json

  # See workloads move soon after a cluster was disconnected (press E)
  tmc local --evict-after 20s

  # Add a custom workload type
  tmc local --crd database-crd.yaml

  # Use a real kcp and real clusters (requires a clone of the repository and Go)
  tmc local --real
`;

const collect = (file: string, previous: readonly string[] = []): readonly string[] => [...previous, file];

function parseEvictAfter(text: string): number {
  const seconds = parseDurationSeconds(text);
  if (seconds === undefined) throw new InvalidArgumentError(`expected ${durationForm}.`);
  return seconds;
}

/** Creates the `local` command. */
export function localCommand(io: CliIo): Command {
  return new Command("local")
    .summary("Run kcp, two clusters and the controller in memory, to try TMC")
    .description(
      "Run a kcp with a workspace, the clusters east and west, and the controller in this process, with sample placements and workloads.",
    )
    .option("--dir <folder>", "Directory for the kubeconfigs (default: .tmc; with --once, a temporary directory)")
    .option("--once", "Run until everything is ready, print the state, and exit")
    .option("--crd <file>", "Path to a CustomResourceDefinition of a workload type to add; can be repeated", collect)
    .addOption(
      new Option(
        "--evict-after <duration>",
        "How long workloads stay on a cluster that is not Ready (default: 5m)",
      ).argParser(parseEvictAfter),
    )
    .option("--real", "Use a real kcp and real clusters, which are built first if necessary")
    .addOption(
      new Option(
        "-o, --output <format>",
        "Output format; json prints one document with --once, and otherwise one line per event",
      )
        .choices(["text", "json"])
        .default("text"),
    )
    .addHelpText("after", help)
    .action(async (options: LocalOptions) => {
      // Imported on demand, because loading the embedded servers would slow the start of every other command.
      const { runLocal } = await import("./run.ts");
      await runLocal(io, options);
    });
}
