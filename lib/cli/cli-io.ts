import { createInterface } from "node:readline/promises";
import { text } from "node:stream/consumers";
import { type Clock, systemClock } from "@tmc/kube/clock.ts";
import { untilInterrupted } from "./interrupt.ts";

/** The part of a terminal's output that the board uses. */
export interface Screen {
  readonly columns: number;
  readonly rows: number;
  write(text: string): unknown;
  on(event: "resize", listener: () => void): unknown;
  off(event: "resize", listener: () => void): unknown;
}

/** The part of a terminal's input that the board uses. */
export interface Keyboard {
  /** In raw mode every key press is delivered as data, including Ctrl-C. */
  setRawMode(on: boolean): unknown;
  on(event: "data", listener: (data: Buffer | string) => void): unknown;
  off(event: "data", listener: (data: Buffer | string) => void): unknown;
  resume(): unknown;
  pause(): unknown;
}

/** A terminal that a command can draw on and read keys from. */
export type Terminal = Readonly<{
  output: Screen;
  /** Undefined when standard input is not a terminal. */
  input: Keyboard | undefined;
  /** Requests the end of the command, as Ctrl-C does. */
  interrupt(): void;
}>;

/** The environment of a command: its output, its user, environment variables and the clock. */
export interface CliIo {
  out(text: string): void;
  err(text: string): void;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** The working directory. */
  readonly directory: string;
  /** Undefined when standard output is not a terminal. */
  readonly terminal: Terminal | undefined;
  /** Whether standard error is a terminal. @default false */
  readonly isErrTerminal?: boolean;
  /** Asks the user a yes/no question; undefined when standard input or error is not a terminal. */
  confirm(question: string): Promise<boolean | undefined>;
  /** Reads standard input to its end. */
  readInput(): Promise<string>;
  /** Resolves at the first SIGINT, SIGTERM or SIGHUP; the second one exits the process. */
  untilInterrupted(): Promise<void>;
  /** Registers a task that runs when the process exits, after a crash too; it must not wait. Returns a function that cancels it. */
  atExit(task: () => void): () => void;
}

/** The environment of a command that runs in this process. */
export const processIo: CliIo = {
  out: (output) => void process.stdout.write(output),
  err: (output) => void process.stderr.write(output),
  env: process.env,
  clock: systemClock,
  get directory() {
    return process.cwd();
  },
  get terminal() {
    if (!process.stdout.isTTY) return undefined;
    return {
      output: process.stdout,
      input: process.stdin.isTTY ? process.stdin : undefined,
      interrupt: () => process.kill(process.pid, "SIGINT"),
    };
  },
  get isErrTerminal() {
    return process.stderr.isTTY;
  },
  confirm: async (question) => {
    if (!process.stdin.isTTY || !process.stderr.isTTY) return undefined;
    // The question goes to standard error, because a program may read standard output.
    const lines = createInterface({ input: process.stdin, output: process.stderr });
    try {
      return /^y(es)?$/i.test((await lines.question(`${question} [y/N] `)).trim());
    } finally {
      lines.close();
    }
  },
  readInput: () => text(process.stdin),
  untilInterrupted,
  atExit: (task) => {
    process.once("exit", task);
    return () => void process.off("exit", task);
  },
};

/** Whether to use color on a terminal: NO_COLOR (https://no-color.org), FORCE_COLOR=0 and TERM=dumb turn it off. */
export function usesColor({ NO_COLOR = "", FORCE_COLOR = "", TERM }: CliIo["env"]): boolean {
  return NO_COLOR === "" && FORCE_COLOR !== "0" && FORCE_COLOR !== "false" && TERM !== "dumb";
}

/** An invalid command line; the exit code is 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Ends a command with an exit code that is its result, such as 1 for "not ready"; the message, if any, is printed. */
export class CommandExit extends Error {
  override readonly name = "CommandExit";
  readonly exitCode: number;

  constructor(exitCode: number, message = "", options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

/** Asks the user to confirm a deletion, unless `yes` is set; returns whether to continue. */
export async function confirmDeletion(
  io: CliIo,
  { yes, question }: Readonly<{ yes: boolean; question: string }>,
): Promise<boolean> {
  if (yes) return true;
  const answer = await io.confirm(question);
  if (answer === undefined)
    throw new UsageError("cannot ask for confirmation without a terminal; use --yes to skip the question");
  if (!answer) io.err("tmc: canceled, nothing was changed\n");
  return answer;
}
