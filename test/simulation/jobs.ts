import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Mode } from "./mode.ts";
import type { Result } from "./simulate.ts";

export type JobsOptions = Readonly<{
  seeds: Iterable<number>;
  /** Processes at once. */
  jobs: number;
  /** Features that every seed has. */
  features?: readonly string[] | undefined;
  /** The mode of every seed, in place of the one that it chooses. */
  mode?: Mode | undefined;
  /** Hears of each seed that is done, in the order in which they end. */
  onResult(result: Result): void;
}>;

/** The task of a worker process, and its answer. */
export type Task = Readonly<{ seed: number }> & Pick<JobsOptions, "features" | "mode">;
export type Answer = Readonly<{ result: Result } | { seed: number; error: string }>;

/** Runs seeds in processes of their own, each as it becomes free. Fails when a process does, or a seed cannot be run. */
export async function runSeeds({ seeds, jobs, features, mode, onResult }: JobsOptions): Promise<void> {
  const left = seeds[Symbol.iterator]();
  const work = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const child = fork(fileURLToPath(new URL("worker.ts", import.meta.url)), {
        // What a run leaves behind is garbage all at once; a larger nursery lets most of it go unseen. Thousands of calls are
        // meant to fail, and nobody reads where: a seed that breaks a law is run again by itself.
        execArgv: ["--max-semi-space-size=32", "--stack-trace-limit=0"],
      });
      const next = (): void => {
        const { value, done } = left.next();
        if (done === true) child.disconnect();
        else child.send({ seed: value, features, mode } satisfies Task);
      };
      child.once("error", reject);
      child.once("exit", (code, signal) => {
        if (code === 0) resolve();
        else reject(new Error(`simulation: a process ended with ${signal ?? code}`));
      });
      // Only worker.ts is at the other end.
      child.on("message", (message) => {
        const answer = message as Answer;
        if ("error" in answer) {
          child.kill();
          reject(new Error(`simulation: seed ${answer.seed}: ${answer.error}`));
          return;
        }
        onResult(answer.result);
        next();
      });
      next();
    });
  await Promise.all(Array.from({ length: jobs }, work));
}
