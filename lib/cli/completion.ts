import { Argument, Command } from "commander";
import type { CliIo } from "./cli-io.ts";

const shells = ["bash", "zsh", "fish"] as const;
type Shell = (typeof shells)[number];

const help = `
Examples:
  source <(tmc completion bash)                                    # this shell; put it into ~/.bashrc for all
  source <(tmc completion zsh)                                     # the same for zsh, in ~/.zshrc
  tmc completion fish > ~/.config/fish/completions/tmc.fish
`;

/** The command that prints a script by which a shell completes our commands. */
export function completionCommand(io: CliIo, program: () => Command): Command {
  return new Command("completion")
    .summary("print the completion script of a shell")
    .addArgument(new Argument("<shell>", "which shell").choices(shells))
    .addHelpText("after", help)
    .action((shell: Shell) => io.out(formatCompletion(shell, program())));
}

/** All that can follow the words of a command: the next words, its options, and the values that its arguments choose from. */
type Level = Readonly<{ words: readonly string[]; next: readonly string[]; summary: string }>;

/** The script that completes a program's commands, options and choices in a shell. */
export function formatCompletion(shell: Shell, program: Command): string {
  const name = program.name();
  const levels = levelsOf(program, []);
  if (shell === "fish") return fishScript(name, program, levels);
  const cases = levels.map(({ words, next }) => `    "${words.join(" ")}") words="${next.join(" ")}" ;;`).join("\n");
  const script = `_${name}() {
  local current="\${COMP_WORDS[COMP_CWORD]}" path="" word words="" known=" ${levels
    .map(({ words }) => words.at(-1) ?? "")
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

function levelsOf(command: Command, words: readonly string[]): readonly Level[] {
  const children = command.commands.flatMap((child) => levelsOf(child, [...words, child.name()]));
  const next = [
    ...command.commands.map((child) => child.name()),
    ...command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
    ...command.options.flatMap(({ long, short }) => long ?? short ?? []),
    "--help",
  ];
  return [{ words, next, summary: command.summary() }, ...children];
}

function fishScript(name: string, program: Command, levels: readonly Level[]): string {
  const quoted = (text: string): string => `'${text.replaceAll("'", "\\'")}'`;
  const lines = [`complete -c ${name} -f`];
  const commandAt = (words: readonly string[]): Command | undefined =>
    words.reduce<Command | undefined>(
      (command, word) => command?.commands.find((child) => child.name() === word),
      program,
    );
  for (const { words } of levels) {
    const command = commandAt(words);
    if (command === undefined) continue;
    const others = command.commands.map((child) => child.name()).join(" ");
    const seen = words.map((word) => `__fish_seen_subcommand_from ${word}`);
    const here = [...seen, ...(others === "" ? [] : [`not __fish_seen_subcommand_from ${others}`])].join("; and ");
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
