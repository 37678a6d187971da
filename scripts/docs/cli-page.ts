import type { Command } from "commander";
import { allCommands, createProgram, pathOf } from "../../lib/cli/program.ts";

/** The page about the command line, as Markdown, made from the commands themselves. */
export function cliPage(): string {
  const program = createProgram();
  const commands = allCommands(program).filter((command) => command !== program);
  return `${[
    "# Commands",
    "<!-- Made from lib/cli by `npm run generate`; change it there. -->",
    "From a clone of the sources `tmc` is `npm run tmc --`. Errors are one line on standard error; the exit code is 0 when all went well, 1 when something failed, 2 when the command line was not understood.",
    table(
      ["Command", "What it does"],
      commands
        .filter(({ commands: below }) => below.length === 0)
        .map((command) => [`[\`${pathOf(command)}\`](#${anchorOf(command)})`, command.summary()]),
    ),
    ...commands.filter(({ commands: below }) => below.length === 0).flatMap(sectionOf),
  ].join("\n\n")}\n`;
}

function sectionOf(command: Command): readonly string[] {
  const help = command.createHelp();
  const options = help.visibleOptions(command);
  const words = command.description() || `${sentence(command.summary())}`;
  const parts = [`## ${pathOf(command)}`, words, `\`\`\`\n${usageOf(command)}\n\`\`\``];
  if (command.aliases().length > 0)
    parts.push(
      `Also: ${command
        .aliases()
        .map((alias) => `\`${alias}\``)
        .join(", ")}.`,
    );
  const rows = [
    ...help
      .visibleArguments(command)
      .map((argument) => [
        `\`${argument.required ? `<${argument.name()}>` : `[${argument.name()}]`}\``,
        help.argumentDescription(argument),
      ]),
    ...options.map((option) => [`\`${option.flags}\``, help.optionDescription(option)]),
  ];
  parts.push(table(["Option", "Meaning"], rows));
  const examples = helpAfter(command);
  if (examples !== "") parts.push(`\`\`\`\n${examples}\n\`\`\``);
  return parts;
}

function usageOf(command: Command): string {
  const help = command.createHelp();
  return help.commandUsage(command);
}

/** What a command's help says after its options. */
function helpAfter(command: Command): string {
  let text = "";
  command.configureOutput({
    writeOut: (words) => {
      text += words;
    },
  });
  command.outputHelp();
  return text.slice(command.helpInformation().length).trim();
}

const anchorOf = (command: Command): string => pathOf(command).replaceAll(" ", "-");

const sentence = (words: string): string => `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}
