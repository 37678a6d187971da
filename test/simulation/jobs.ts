import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Mode } from "./mode.ts";
import type { Result } from "./simulate.ts";

export type JobsOptions = Readonly<{
  /** Read one at a time, when a process becomes free; seeds that are not read are not run. */
  seeds: Iterable<number>;
  /** Processes at once. */
  jobs: number;
  /** Features that every seed has. */
  features?: readonly string[] | undefined;
  /** The sources to run. @default these */
  root?: string | undefined;
  /** Where the processes keep the sources that they have compiled. @default nowhere */
  compileCache?: string | undefined;
  /** Ends all processes. */
  signal?: AbortSignal | undefined;
  /** The mode of every seed, in place of the one that it chooses. */
  mode?: Mode | undefined;
  /** Called with each seed that is done, in the order in which they end. */
  onResult(result: Result): void;
}>;

/** The task of a worker process, and its answer. */
export type Task = Readonly<{ seed: number }> & Pick<JobsOptions, "features" | "mode">;
export type Answer = Readonly<{ result: Result } | { seed: number; error: string }>;

const execArgv = [
  // Most of what a run allocates is garbage soon; a nursery that is large from the start collects it cheaply.
  "--max-semi-space-size=32",
  "--min-semi-space-size=32",
  // Thousands of calls are meant to fail, and no one reads where: a seed that breaks a law is run again by itself.
  "--stack-trace-limit=0",
];
const longestErrorText = 4_000;

/** Runs seeds in processes of their own. Fails when a process does, or when a seed cannot be run; no process is left then. */
export async function runSeeds(options: JobsOptions): Promise<void> {
  const left = options.seeds[Symbol.iterator]();
  const failed = new AbortController();
  const signal = AbortSignal.any([failed.signal, ...(options.signal === undefined ? [] : [options.signal])]);
  const work = async (): Promise<void> => {
    try {
      await runProcess(options, left, signal);
    } catch (error) {
      // The first failure is the one that is reported.
      failed.abort(error);
    }
  };
  await Promise.all(Array.from({ length: options.jobs }, work));
  signal.throwIfAborted();
}

/** Runs seeds in one process until none is left, or until the signal. Settles after the process has ended. */
async function runProcess(
  { features, mode, root = join(import.meta.dirname, "../.."), compileCache, onResult }: JobsOptions,
  left: Iterator<number>,
  signal: AbortSignal,
): Promise<void> {
  let failure: Error | undefined;
  let errorText = "";
  const child = fork(join(root, "test/simulation/worker.ts"), {
    execArgv,
    stdio: ["ignore", "inherit", "pipe", "ipc"],
    env: { ...process.env, ...(compileCache === undefined ? {} : { NODE_COMPILE_CACHE: compileCache }) },
  });
  const stop = (): void => {
    child.kill("SIGKILL");
  };
  const next = (): void => {
    const { value, done } = left.next();
    if (done === true) child.disconnect();
    else child.send({ seed: value, features, mode } satisfies Task);
  };
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    errorText = (errorText + text).slice(-longestErrorText);
  });
  // Only worker.ts is at the other end.
  child.on("message", (message) => {
    const answer = message as Answer;
    if ("error" in answer) {
      failure ??= new Error(`simulation: seed ${answer.seed}: ${answer.error}`);
      stop();
      return;
    }
    onResult(answer.result);
    next();
  });
  next();
  // The text of a failure may arrive after the exit. "close" is no help: it does not follow a disconnect by the parent.
  const [[code, endedBy]] = await Promise.all([once(child, "exit"), child.stderr && once(child.stderr, "close")]);
  signal.removeEventListener("abort", stop);
  if (code !== 0) failure ??= new Error(`simulation: a process ended with ${endedBy ?? code}: ${errorText.trim()}`);
  if (failure !== undefined) throw failure;
}
