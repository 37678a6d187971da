import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { eventually } from "../support/eventually.ts";
import type { AwsEndpoint } from "./endpoint.ts";

/** The processes in which an endpoint of our own runs functions. */
export async function findFunctionProcesses({ folder }: AwsEndpoint): Promise<readonly number[]> {
  if (folder === undefined) return [];
  const marker = join(folder, "tmp", "ministack-lambda-");
  const found = await Promise.all(
    (await readdir("/proc"))
      .filter((name) => /^\d+$/.test(name))
      .map(async (pid) => {
        const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
        return command.includes(marker) ? [Number(pid)] : [];
      }),
  );
  return found.flat();
}

/** Kills every function in the middle of whatever it does and sees it gone; the next batch gets a new process. */
export async function killFunctions(endpoint: AwsEndpoint): Promise<void> {
  const killed = await findFunctionProcesses(endpoint);
  for (const pid of killed) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // Already gone: what was wanted.
    }
  }
  await eventually(async () => {
    const left = (await Promise.all(killed.map(hasEnded))).filter((ended) => !ended).length;
    return left === 0 ? undefined : `${left} functions have not ended`;
  });
}

/** Whether a process is gone, or waits for its parent to take notice: with its last thread it has ended for the parent too. */
async function hasEnded(pid: number): Promise<boolean> {
  const [stat, threads] = await Promise.all([
    readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined),
    readdir(`/proc/${pid}/task`).catch(() => []),
  ]);
  // The state comes after the name, which may hold anything but ends with the last parenthesis.
  return stat === undefined || (stat.slice(stat.lastIndexOf(")")).startsWith(") Z") && threads.length <= 1);
}
