import { Argument, Command } from "commander";
import type { CliIo } from "./cli-io.ts";
import { type CompletedObjects, completedArguments, completedOptions, namesCommand } from "./completion-names.ts";

const shells = ["bash", "zsh", "fish"] as const;
type Shell = (typeof shells)[number];

const help = `
Examples:
  # Load the completion into the current bash; add this line to ~/.bashrc to
  # load it always
  source <(tmc completion bash)

  # Load the completion into the current zsh; add this line to ~/.zshrc to load
  # it always
  source <(tmc completion zsh)

  # Install the completion for fish
  tmc completion fish > ~/.config/fish/completions/tmc.fish
`;

/** Creates the `completion` command. */
export function completionCommand(io: CliIo, program: () => Command): Command {
  return new Command("completion")
    .summary("Print the completion script for a shell")
    .description(
      "Print a script that completes the commands and options of tmc in a shell, and the names of clusters, placements and workloads.",
    )
    .addArgument(new Argument("<shell>", "Name of the shell").choices(shells))
    .addHelpText("after", help)
    .action((shell: Shell) => io.out(formatCompletion(shell, program())));
}

/** The completions after one command: its subcommands, its options, and the choices of its arguments. */
type Level = Readonly<{
  path: readonly string[];
  next: readonly string[];
  names: CompletedObjects | undefined;
  /** The completions of the values of an option. */
  values: readonly Readonly<{
    flags: readonly string[];
    words: readonly string[];
    names: CompletedObjects | undefined;
  }>[];
}>;

/** Returns the script that completes the commands, options, values and names of a program in a shell. */
export function formatCompletion(shell: Shell, program: Command): string {
  const name = program.name();
  const levels = levelsOf(program, []);
  if (shell === "fish") return fishScript(name, program, levels);
  const pathCases = levels.map(
    ({ path, next, names = "" }) => `    "${path.join(" ")}") words="${next.join(" ")}" names="${names}" ;;`,
  );
  const valueCases = levels.flatMap(({ path, values }) =>
    values.map(({ flags, words, names = "" }) => {
      const patterns = flags.map((flag) => `"${path.join(" ")} ${flag}"`).join("|");
      return `    ${patterns}) words="${words.join(" ")}" names="${names}" ;;`;
    }),
  );
  const script = `_${name}() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" path="" word words="" names="" known=" ${levels
    .map(({ path }) => path.at(-1) ?? "")
    .filter(Boolean)
    .join(" ")} "
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$known" in *" $word "*) path="\${path:+$path }$word" ;; esac
  done
  case "$path" in
${pathCases.join("\n")}
  esac
  case "$path $previous" in
${valueCases.join("\n")}
  esac
  if [[ -n "$names" && "$current" != -* ]]; then
    words="$words $("\${COMP_WORDS[0]}" ${namesCommand} "$names" "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)"
  fi
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
  const values = command.options.flatMap(({ long, short, argChoices, required }) => {
    const names = completedOptions.get(long ?? "");
    if (!required || (argChoices === undefined && names === undefined)) return [];
    return [{ flags: [long, short].filter((flag) => typeof flag === "string"), words: argChoices ?? [], names }];
  });
  return [{ path, next, values, names: completedArguments.get(path.join(" ")) }, ...children];
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
    const namesOf = (objects: CompletedObjects): string =>
      quoted(`(${name} ${namesCommand} ${objects} (commandline -opc)[2..] (commandline -ct) 2>/dev/null)`);
    const argument = completedArguments.get(path.join(" "));
    if (argument !== undefined) lines.push(`complete -c ${name}${condition} -a ${namesOf(argument)}`);
    for (const { long, short, description, argChoices, required } of command.options) {
      const flags = `${short === undefined ? "" : ` -s ${short.slice(1)}`}${long === undefined || long === null ? "" : ` -l ${long.slice(2)}`}`;
      const objects = completedOptions.get(long ?? "");
      const names = objects === undefined ? undefined : namesOf(objects);
      const words = argChoices === undefined ? names : quoted(argChoices.join(" "));
      const values = words === undefined ? (required ? " -r -F" : "") : ` -x -a ${words}`;
      lines.push(`complete -c ${name}${condition}${flags}${values} -d ${quoted(description)}`);
    }
  }
  return `${lines.join("\n")}\n`;
}
