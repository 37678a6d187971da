import { readFileSync } from "node:fs";
import { Command, CommanderError } from "commander";
import { localCommand } from "./local.ts";
import { manifestsCommand } from "./manifests.ts";

/** Set when the command line is bundled; from a clone package.json says it. */
function version(): string {
  const bundled = process.env.TMC_VERSION;
  if (bundled !== undefined) return bundled;
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  const parsed: unknown = JSON.parse(text);
  return typeof parsed === "object" && parsed !== null && "version" in parsed ? String(parsed.version) : "unknown";
}

const examples = `
Examples:
  tmc local                        try it: a kcp and two clusters in memory, on this machine
  tmc manifests --format kcp       what a kcp workspace needs to offer the API to tenants
  tmc manifests --format crd       what a plain Kubernetes cluster needs to be the hub

From a clone of the sources, the same commands are: npm run tmc -- <command>
`;

/** The whole command line, one file per command beside this one. */
export function createProgram(): Command {
  return new Command("tmc")
    .description("Transparent Multi-Cluster for kcp: workloads of kcp workspaces on many Kubernetes clusters.")
    .version(version(), "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help, or a command's")
    .helpCommand("help [command]", "print the help of a command")
    .addCommand(localCommand())
    .addCommand(manifestsCommand())
    .addHelpText("after", examples)
    .showHelpAfterError("(run tmc --help for what there is)")
    .showSuggestionAfterError();
}

/** Runs one command line and gives the exit code; errors are one line on standard error. */
export async function runTmc(args: readonly string[]): Promise<number> {
  const program = createProgram();
  for (const command of [program, ...program.commands]) command.exitOverride();
  try {
    if (args.length === 0) {
      program.outputHelp();
      return 2;
    }
    await program.parseAsync(args, { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode; // commander has printed it
    process.stderr.write(`tmc: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
}
