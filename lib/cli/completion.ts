import { Argument, Command } from "commander";
import type { CliIo } from "./cli-io.ts";

const shells = ["bash", "zsh", "fish"] as const;
type Shell = (typeof shells)[number];

const help = `
Examples:
  # Load the completion into the current bash; add this line to ~/.bashrc to load it always
  source <(tmc completion bash)

  # Load the completion into the current zsh; add this line to ~/.zshrc to load it always
  source <(tmc completion zsh)

  # Install the completion for fish
  tmc completion fish > ~/.config/fish/completions/tmc.fish
`;

/** Creates the `completion` command. */
export function completionCommand(io: CliIo, program: () => Command): Command {
  return new Command("completion")
    .summary("Print the completion script for a shell")
    .description("Print a script that completes the commands and options of tmc in a shell.")
    .addArgument(new Argument("<shell>", "Name of the shell").choices(shells))
    .addHelpText("after", help)
    .action((shell: Shell) => io.out(formatCompletion(shell, program())));
}

/** The completions after one command: its subcommands, its options, and the choices of its arguments. */
type Level = Readonly<{ path: readonly string[]; next: readonly string[]; summary: string }>;

/** Returns the script that completes the commands, options and choices of a program in a shell. */
export function formatCompletion(shell: Shell, program: Command): string {
  const name = program.name();
  const levels = levelsOf(program, []);
  if (shell === "fish") return fishScript(name, program, levels);
  const cases = levels.map(({ path, next }) => `    "${path.join(" ")}") words="${next.join(" ")}" ;;`).join("\n");
  const script = `_${name}() {
  local current="\${COMP_WORDS[COMP_CWORD]}" path="" word words="" known=" ${levels
    .map(({ path }) => path.at(-1) ?? "")
    .filter(Boolean)
    .join(" ")} "
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$known" in *" $word "*) path="\${path:+$path }$word" ;; esac
  done
  case "$path" in
${cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _${name} ${name}
`;
  return shell === "bash" ? script : `autoload -U +X bashcompinit && bashcompinit\n${script}`;
}

function levelsOf(command: Command, path: readonly string[]): readonly Level[] {
  const children = command.commands.flatMap((child) => levelsOf(child, [...path, child.name()]));
  const next = [
    ...command.commands.map((child) => child.name()),
    ...command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
    ...command.options.flatMap(({ long, short }) => long ?? short ?? []),
    "--help",
  ];
  return [{ path, next, summary: command.summary() }, ...children];
}

function fishScript(name: string, program: Command, levels: readonly Level[]): string {
  const quoted = (text: string): string => `'${text.replaceAll("'", "\\'")}'`;
  const lines = [`complete -c ${name} -f`];
  const commandAt = (path: readonly string[]): Command | undefined =>
    path.reduce<Command | undefined>(
      (command, name) => command?.commands.find((child) => child.name() === name),
      program,
    );
  for (const { path } of levels) {
    const command = commandAt(path);
    if (command === undefined) continue;
    const subcommands = command.commands.map((child) => child.name()).join(" ");
    const seen = path.map((commandName) => `__fish_seen_subcommand_from ${commandName}`);
    const here = [...seen, ...(subcommands === "" ? [] : [`not __fish_seen_subcommand_from ${subcommands}`])].join(
      "; and ",
    );
    const condition = here === "" ? "" : ` -n ${quoted(here)}`;
    for (const child of command.commands) {
      lines.push(`complete -c ${name}${condition} -a ${child.name()} -d ${quoted(child.summary())}`);
    }
    for (const { argChoices } of command.registeredArguments) {
      if (argChoices !== undefined) lines.push(`complete -c ${name}${condition} -a ${quoted(argChoices.join(" "))}`);
    }
    for (const { long, short, description, argChoices, required } of command.options) {
      const names = `${short === undefined ? "" : ` -s ${short.slice(1)}`}${long === undefined || long === null ? "" : ` -l ${long.slice(2)}`}`;
      const values = argChoices === undefined ? (required ? " -r -F" : "") : ` -x -a ${quoted(argChoices.join(" "))}`;
      lines.push(`complete -c ${name}${condition}${names}${values} -d ${quoted(description)}`);
    }
  }
  return `${lines.join("\n")}\n`;
}
