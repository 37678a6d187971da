// Runs the seeds that it receives, one after the other, until its channel closes.
import type { Answer, Task } from "./jobs.ts";
import { startServers } from "./servers.ts";
import { simulate } from "./simulate.ts";

const starting = startServers();

async function answer({ seed, features, mode }: Task): Promise<Answer> {
  try {
    return { result: await simulate(seed, { servers: await starting, features, mode }) };
  } catch (error) {
    return { seed, error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

process.on("message", (message) => {
  // Only jobs.ts is at the other end, and it sends one task at a time.
  void answer(message as Task).then((answered) => process.send?.(answered));
});
