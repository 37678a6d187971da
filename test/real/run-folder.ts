import { mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isAlive } from "./build-lock.ts";

const prefix = "tmc-real-";

/** Where one real server keeps its data and its logs while it runs. */
export interface RunFolder {
  readonly path: string;
  readonly logs: string;
  /** Deletes everything; with `keepLogs` the logs move to a folder of their own, whose path is answered. */
  remove(options: Readonly<{ keepLogs: boolean }>): Promise<string | undefined>;
}

/** Makes a folder that belongs to this process alone. What killed processes have left behind goes at the same time. */
export async function createRunFolder(name: string): Promise<RunFolder> {
  await removeLeftovers();
  const path = await mkdtemp(join(tmpdir(), `${prefix}${process.pid}-${name}-`));
  const logs = join(path, "logs");
  await mkdir(logs);
  return {
    path,
    logs,
    remove: async ({ keepLogs }) => {
      let kept: string | undefined;
      if (keepLogs) {
        kept = join(await mkdtemp(join(tmpdir(), `${prefix}logs-`)), name);
        await rename(logs, kept);
      }
      await rm(path, { recursive: true, force: true });
      return kept;
    },
  };
}

/** Data folders name the process they belong to, so those of killed test runs can be recognized. Kept logs stay. */
async function removeLeftovers(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const owner = new RegExp(`^${prefix}(\\d+)-`).exec(name)?.[1];
    if (owner === undefined || isAlive(Number(owner))) continue;
    // Another user's folder cannot be removed, and need not be.
    await rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => {});
  }
}
