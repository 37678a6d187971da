import { Command, CommanderError, Help, type HelpConfiguration } from "commander";
import { tmcVersion } from "../model/version.ts";
import { type CliIo, CommandExit, processIo, UsageError } from "./cli-io.ts";
import { clusterCommand } from "./cluster/cluster.ts";
import { orphansCommand } from "./cluster/orphans.ts";
import { completionCommand } from "./completion.ts";
import { namesCommand, printNames } from "./completion-names.ts";
import { controllerCommand } from "./controller/controller.ts";
import { doctorCommand } from "./doctor/doctor.ts";
import { bindCommand } from "./install/bind.ts";
import { bootstrapCommand } from "./install/bootstrap.ts";
import { hubCommand } from "./install/hub.ts";
import { manifestsCommand } from "./install/manifests.ts";
import { unbindCommand } from "./install/unbind.ts";
import { uninstallCommand } from "./install/uninstall.ts";
import { localCommand } from "./local/local.ts";
import { commandName } from "./names.ts";
import { explainCommand } from "./placement/explain.ts";
import { placementCommand } from "./placement/placement.ts";
import { costCommand } from "./queue/cost.ts";
import { deadLettersCommand } from "./queue/dead-letters.ts";
import { queueCommand } from "./queue/queue.ts";
import { reconcileCommand } from "./queue/reconcile.ts";
import { versionCommand } from "./version.ts";
import { confirmCommand } from "./workload/confirm.ts";
import { diffCommand } from "./workload/diff.ts";
import { workloadCommand } from "./workload/workload.ts";

const examples = `
Examples:
  # Run kcp, two clusters and the controller in memory on this machine
  tmc local

  # List the options of the controller
  tmc controller --help

  # List the registered clusters and their health
  tmc cluster list

  # Explain why a placement selected its clusters
  tmc explain web

  # Install TMC's APIExport in kcp
  tmc bootstrap

In a clone of the repository, run the same commands as: ./tmc <command>
`;

/** The width of a help text; the texts after the options are written for it. */
const helpColumns = 80;
/** An option that is longer has its description below it, so that there is room to wrap the descriptions of the others. */
const maxTermColumns = 30;

const helpFormat: HelpConfiguration = {
  minWidthToWrap: 20,
  padWidth: (command, helper) => Math.min(Help.prototype.padWidth.call(helper, command, helper), maxTermColumns),
  formatItem: (term, termWidth, description, helper) => {
    const format = (shown: string, text: string): string =>
      Help.prototype.formatItem.call(helper, shown, termWidth, text, helper);
    if (description === "" || helper.displayWidth(term) <= termWidth) return format(term, description);
    return `${format(term, "")}\n${format("", description)}`;
  },
};

/** Builds the command tree of `tmc`. */
export function createProgram(io: CliIo = processIo): Command {
  const program: Command = new Command("tmc")
    .description(
      "Transparent Multi-Cluster for kcp: places workloads of kcp workspaces on Kubernetes clusters and synchronizes them.",
    )
    .version(tmcVersion(), "-V, --version", "Print the version")
    .helpOption("-h, --help", "Print help")
    .helpCommand("help [command]", "Print help for a command")
    .commandsGroup("Run TMC:")
    .addCommand(localCommand(io))
    .addCommand(controllerCommand(io))
    .commandsGroup("Work with a workspace:")
    .addCommand(clusterCommand(io))
    .addCommand(placementCommand(io))
    .addCommand(workloadCommand(io))
    .addCommand(explainCommand(io))
    .addCommand(diffCommand(io))
    .addCommand(confirmCommand(io))
    .addCommand(orphansCommand(io))
    .addCommand(reconcileCommand(io))
    .commandsGroup("Operate TMC on AWS:")
    .addCommand(queueCommand(io))
    .addCommand(deadLettersCommand(io))
    .addCommand(costCommand(io))
    .addCommand(doctorCommand(io))
    .commandsGroup("Install TMC:")
    .addCommand(bootstrapCommand(io))
    .addCommand(bindCommand(io))
    .addCommand(unbindCommand(io))
    .addCommand(uninstallCommand(io))
    .addCommand(hubCommand(io))
    .addCommand(manifestsCommand(io.out))
    .addCommand(completionCommand(io, () => program))
    .addCommand(versionCommand(io))
    .addHelpText("after", examples);
  for (const command of allCommands(program)) {
    command
      .exitOverride()
      .showSuggestionAfterError()
      .showHelpAfterError(false)
      .helpOption("-h, --help", "Print help")
      .configureHelp(helpFormat)
      .configureOutput({
        getOutHelpWidth: () => Math.min(io.terminal?.output.columns ?? helpColumns, helpColumns),
        writeOut: io.out,
        writeErr: io.err,
        outputError: (text, write) => write(`${toOneLine(text)}; see ${commandPath(command, commandName())} --help\n`),
      });
  }
  return program;
}

/** Runs one command line and returns the exit code: 1 after a failure, 2 after a usage error. An error is printed as one line. */
export async function runTmc(args: readonly string[], io: CliIo = processIo): Promise<number> {
  const program = createProgram(io);
  try {
    if (args.length === 0) {
      program.outputHelp();
      return 2;
    }
    if (args[0] === namesCommand) await printNames(io, args.slice(1));
    else await program.parseAsync(args, { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2; // commander has printed the error already
    const message = errorText(error);
    if (message !== "") io.err(`tmc: ${message}\n`);
    if (error instanceof CommandExit) return error.exitCode;
    return error instanceof UsageError ? 2 : 1;
  }
}

/** Returns a command and all its subcommands, recursively. */
export function allCommands(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(allCommands)];
}

/** Returns the full name of a command, such as `tmc cluster list`; `program` replaces the name of the program. */
export function commandPath(command: Command, program?: string): string {
  if (command.parent === null) return program ?? command.name();
  return `${commandPath(command.parent, program)} ${command.name()}`;
}

/** Converts an error message of commander to our format; commander prints its suggestion on a second line. */
function toOneLine(text: string): string {
  return `tmc: ${text
    .trim()
    .replace(/^error: /, "")
    .replace(/\n\(Did you mean (.*)\?\)$/s, " (did you mean $1?)")
    .replace(/\s+/g, " ")
    .replace(/\.$/, "")}`;
}

function errorText(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\s+/g, " ").trim();
}
