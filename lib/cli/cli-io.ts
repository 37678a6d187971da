import { createInterface } from "node:readline/promises";
import { text } from "node:stream/consumers";
import { type Clock, systemClock } from "@tmc/kube/clock.ts";
import { untilInterrupted } from "./interrupt.ts";

/** A terminal's screen, as much of it as is drawn with. */
export interface Screen {
  readonly columns: number;
  readonly rows: number;
  write(text: string): unknown;
  on(event: "resize", listener: () => void): unknown;
  off(event: "resize", listener: () => void): unknown;
}

/** A terminal's keys. */
export interface Keyboard {
  /** Whether each key is told by itself, Ctrl-C too. */
  setRawMode(on: boolean): unknown;
  on(event: "data", listener: (data: Buffer | string) => void): unknown;
  off(event: "data", listener: (data: Buffer | string) => void): unknown;
  resume(): unknown;
  pause(): unknown;
}

/** A terminal that a command can draw on. */
export type Terminal = Readonly<{
  output: Screen;
  /** Missing when keys do not come from a terminal. */
  input: Keyboard | undefined;
  /** Asks the command to end, as Ctrl-C does. */
  interrupt(): void;
  /** Has something done when the process ends, however it does. */
  atExit(task: () => void): void;
}>;

/** What a command has of the world around it: where it writes, whom it can ask, the environment and the time. */
export interface CliIo {
  out(text: string): void;
  err(text: string): void;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Missing when what is printed does not go to a terminal. */
  readonly terminal: Terminal | undefined;
  /** Asks a person a question with yes or no; undefined when there is no person to ask. */
  confirm(question: string): Promise<boolean | undefined>;
  /** All of standard input. */
  readInput(): Promise<string>;
  /** Resolves when the command is asked to end; a second request ends the process. */
  untilInterrupted(): Promise<void>;
}

/** The world of a command that a person has started in a shell. */
export const processIo: CliIo = {
  out: (words) => void process.stdout.write(words),
  err: (words) => void process.stderr.write(words),
  env: process.env,
  clock: systemClock,
  get terminal() {
    if (!process.stdout.isTTY) return undefined;
    return {
      output: process.stdout,
      input: process.stdin.isTTY ? process.stdin : undefined,
      interrupt: () => process.kill(process.pid, "SIGINT"),
      atExit: (task: () => void) => void process.once("exit", task),
    };
  },
  confirm: async (question) => {
    if (!process.stdin.isTTY || !process.stderr.isTTY) return undefined;
    // The question goes where errors go: what is printed may be read by a program.
    const lines = createInterface({ input: process.stdin, output: process.stderr });
    try {
      return /^y(es)?$/i.test((await lines.question(`${question} [y/N] `)).trim());
    } finally {
      lines.close();
    }
  },
  readInput: () => text(process.stdin),
  untilInterrupted,
};

/** A command line that cannot be carried out as it was written; the exit code is 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** A command that has done what it was asked to and ends with an exit code that says what it found; its words, if any, are printed. */
export class Ending extends Error {
  override readonly name = "Ending";
  readonly exitCode: number;

  constructor(exitCode: number, words = "", options?: ErrorOptions) {
    super(words, options);
    this.exitCode = exitCode;
  }
}

/** Asks before something is deleted, unless that was agreed to beforehand; answers whether to go on. */
export async function confirmDeletion(
  io: CliIo,
  { yes, question }: Readonly<{ yes: boolean; question: string }>,
): Promise<boolean> {
  if (yes) return true;
  const answer = await io.confirm(question);
  if (answer === undefined) throw new UsageError("nobody is there to be asked; say --yes to go on without a question");
  if (!answer) io.err("tmc: nothing was changed\n");
  return answer;
}
