import { link, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

/** The holder shows that it is alive this often; silent for the second time, it is taken for dead. */
const heartbeatMs = 2_000;
const staleMs = 30_000;

/**
 * Runs something while no other process holds the same lock file.
 *
 * A holder that died without a word is noticed: its process is gone or its heartbeat has stopped. Two waiters that notice
 * at the same moment may both get in; so what is done under the lock must be safe to do twice, and only wasteful.
 */
export async function withLock<T>(
  path: string,
  onWait: (holder: string) => void,
  run: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const own = `${path}.${process.pid}`;
  await writeFile(own, `${process.pid}`);
  try {
    // A hard link appears with its content, so nobody reads a lock that does not say yet whose it is.
    while (!(await tryLink(own, path))) {
      const holder = await readHolder(path);
      if (holder === undefined) continue;
      if (holder.dead) {
        await rm(path, { force: true });
        continue;
      }
      onWait(holder.pid);
      await delay(500, undefined, { signal });
    }
  } finally {
    await rm(own, { force: true });
  }
  const heartbeat = setInterval(() => void touch(path), heartbeatMs);
  try {
    return await run();
  } finally {
    clearInterval(heartbeat);
    await rm(path, { force: true });
  }
}

async function tryLink(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if (hasCode(error, "EEXIST")) return false;
    throw error;
  }
}

async function readHolder(path: string): Promise<Readonly<{ pid: string; dead: boolean }> | undefined> {
  try {
    const [pid, { mtimeMs }] = await Promise.all([readFile(path, "utf8"), stat(path)]);
    return { pid, dead: Date.now() - mtimeMs > staleMs || !isAlive(Number(pid)) };
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  }
}

async function touch(path: string): Promise<void> {
  const now = new Date();
  await utimes(path, now, now).catch(() => {});
}

/** Whether a process of that id runs, ours or somebody else's. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return hasCode(error, "EPERM");
  }
}

/** Whether an error carries this system error code. */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
