import { Command, CommanderError } from "commander";
import { tmcVersion } from "../model/version.ts";
import { bindCommand } from "./bind.ts";
import { bootstrapCommand } from "./bootstrap.ts";
import { type CliIo, Ending, processIo, UsageError } from "./cli-io.ts";
import { clusterCommand } from "./cluster.ts";
import { completionCommand } from "./completion.ts";
import { confirmCommand } from "./confirm.ts";
import { controllerCommand } from "./controller.ts";
import { costCommand } from "./cost.ts";
import { deadLettersCommand } from "./dead-letters.ts";
import { diffCommand } from "./diff.ts";
import { explainCommand } from "./explain.ts";
import { localCommand } from "./local.ts";
import { manifestsCommand } from "./manifests.ts";
import { placementCommand } from "./placement.ts";
import { queueCommand } from "./queue.ts";
import { reconcileCommand } from "./reconcile.ts";
import { unbindCommand } from "./unbind.ts";
import { uninstallCommand } from "./uninstall.ts";
import { workloadCommand } from "./workload.ts";

const examples = `
Examples:
  tmc local                        try it: a kcp, two clusters and the controller, in memory, on this machine
  tmc controller --help            run the controller against a kcp of your own
  tmc cluster list                 the registered clusters and their health
  tmc explain web                  why a placement is where it is
  tmc bootstrap                    offer TMC to the tenants of a kcp
  tmc manifests --format kcp       what a kcp workspace needs to offer the API to tenants

From a clone of the sources, the same commands are: npm run tmc -- <command>
`;

/** The whole command line, one file per command beside this one. */
export function createProgram(io: CliIo = processIo): Command {
  const program: Command = new Command("tmc")
    .description("Transparent Multi-Cluster for kcp: workloads of kcp workspaces on many Kubernetes clusters.")
    .version(tmcVersion(), "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help, or a command's")
    .helpCommand("help [command]", "print the help of a command")
    .commandsGroup("Run it:")
    .addCommand(localCommand(io))
    .addCommand(controllerCommand(io))
    .commandsGroup("Look at a workspace and change it:")
    .addCommand(clusterCommand(io))
    .addCommand(placementCommand(io))
    .addCommand(workloadCommand(io))
    .addCommand(explainCommand(io))
    .addCommand(diffCommand(io))
    .addCommand(confirmCommand(io))
    .addCommand(reconcileCommand(io))
    .commandsGroup("Look after the deployed form:")
    .addCommand(queueCommand(io))
    .addCommand(deadLettersCommand(io))
    .addCommand(costCommand(io))
    .commandsGroup("Set up:")
    .addCommand(bootstrapCommand(io))
    .addCommand(bindCommand(io))
    .addCommand(unbindCommand(io))
    .addCommand(uninstallCommand(io))
    .addCommand(manifestsCommand(io.out))
    .addCommand(completionCommand(io, () => program))
    .addHelpText("after", examples);
  for (const command of allCommands(program)) {
    command
      .exitOverride()
      .showSuggestionAfterError()
      .showHelpAfterError(false)
      .helpOption("-h, --help", command === program ? "print this help, or a command's" : "print this help")
      .configureOutput({
        writeOut: io.out,
        writeErr: io.err,
        outputError: (text, write) => write(`${inOneLine(text)}; see ${pathOf(command)} --help\n`),
      });
  }
  return program;
}

/** Runs one command line and gives the exit code: 1 when it failed, 2 when it was not understood. Errors are one line. */
export async function runTmc(args: readonly string[], io: CliIo = processIo): Promise<number> {
  const program = createProgram(io);
  try {
    if (args.length === 0) {
      program.outputHelp();
      return 2;
    }
    await program.parseAsync(args, { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2; // commander has printed it
    const words = wordsOf(error);
    if (words !== "") io.err(`tmc: ${words}\n`);
    if (error instanceof Ending) return error.exitCode;
    return error instanceof UsageError ? 2 : 1;
  }
}

/** A command and all that are below it. */
export function allCommands(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(allCommands)];
}

/** `tmc cluster list`: a command's name with those above it. */
export function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}

/** commander's own words in the form of our errors: its suggestion comes on a second line. */
function inOneLine(text: string): string {
  return `tmc: ${text
    .trim()
    .replace(/^error: /, "")
    .replace(/\n\(Did you mean (.*)\?\)$/s, " (did you mean $1?)")
    .replace(/\s+/g, " ")
    .replace(/\.$/, "")}`;
}

function wordsOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\s+/g, " ").trim();
}
