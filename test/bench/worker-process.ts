import { fork } from "node:child_process";
import { isAbsolute } from "node:path";
import { fileURLToPath } from "node:url";

/** A process of its own that does tasks, so that nobody's memory, sockets or event loop gets in another's way. */
export interface WorkerProcess extends AsyncDisposable {
  /** Sends a task and waits for its answer; fails when the task does, or when the process ends. */
  ask<Answer>(task: object): Promise<Answer>;
}

type Waiting = Readonly<{ resolve: (answer: unknown) => void; reject: (error: Error) => void }>;
/** What goes between the two processes. */
export type TaskMessage = Readonly<{ id: number; task: object }>;
export type AnswerMessage = Readonly<{ id: number; answer?: unknown; error?: string }>;

/** Starts the process that runs a file of `workers/`, or one elsewhere by its whole path, which calls `serveTasks`. */
export function startWorkerProcess(file: string): WorkerProcess {
  const path = isAbsolute(file) ? file : fileURLToPath(new URL(`workers/${file}`, import.meta.url));
  const child = fork(path, { execArgv: [] });
  const waiting = new Map<number, Waiting>();
  let next = 0;
  const ended = new Promise<void>((resolve) => {
    child.once("exit", (code, signal) => {
      for (const { reject } of waiting.values()) reject(new Error(`bench: ${file} ended with ${signal ?? code}`));
      waiting.clear();
      resolve();
    });
  });
  // Only `serveTasks` is at the other end.
  child.on("message", (message) => {
    const { id, answer, error } = message as AnswerMessage;
    const asked = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) asked?.resolve(answer);
    else asked?.reject(new Error(`bench: ${file}: ${error}`));
  });
  return {
    ask: <Answer>(task: object) =>
      new Promise<Answer>((resolve, reject) => {
        const id = next++;
        // The caller names the answer of its own task.
        waiting.set(id, { resolve: (answer) => resolve(answer as Answer), reject });
        child.send({ id, task } satisfies TaskMessage, (error) => {
          if (error === null) return;
          waiting.delete(id);
          reject(error);
        });
      }),
    [Symbol.asyncDispose]: () => {
      child.kill("SIGKILL"); // nothing in it is worth keeping, and thousands of leaked sockets take long to close
      return ended;
    },
  };
}
