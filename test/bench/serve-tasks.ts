import type { AnswerMessage, TaskMessage } from "./worker-process.ts";

/** Does the tasks that the parent process asks for, until that process goes away. */
export function serveTasks<Task extends object>(perform: (task: Task) => Promise<unknown>): void {
  process.on("disconnect", () => process.exit());
  // Only `startWorkerProcess` is at the other end, and it asks each worker for that worker's tasks.
  process.on("message", (message) => {
    const { id, task } = message as TaskMessage;
    const answer = (outcome: Omit<AnswerMessage, "id">) => process.send?.({ id, ...outcome } satisfies AnswerMessage);
    perform(task as Task).then(
      (result) => answer({ answer: result }),
      (error: unknown) => answer({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
    );
  });
}
