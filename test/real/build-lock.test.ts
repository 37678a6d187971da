import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { withLock } from "./build-lock.ts";

let folder: string;
let lock: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tmc-lock-"));
  lock = join(folder, "lock");
});
afterEach(() => rm(folder, { recursive: true }));

/** A process that takes the lock, says so, and keeps it until it is killed. */
async function holdInOtherProcess() {
  const script = `
    const { withLock } = await import(${JSON.stringify(new URL("build-lock.ts", import.meta.url).href)});
    await withLock(${JSON.stringify(lock)}, () => {}, async () => {
      console.log("held");
      await new Promise((resolve) => setTimeout(resolve, 600_000));
    });`;
  const holder = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(holder.stdout, "data");
  return holder;
}

describe("a lock", () => {
  it("is waited for while another process holds it, and free once that process is killed", async () => {
    const holder = await holdInOtherProcess();
    const waited: string[] = [];
    let gone = false;
    holder.on("exit", () => {
      gone = true;
    });
    const onWait = (pid: string) => {
      waited.push(pid);
      holder.kill("SIGKILL");
    };
    const goneInside = await withLock(lock, onWait, async () => gone);
    expect(waited[0]).toBe(String(holder.pid));
    expect(goneInside).toBe(true);
    expect(await readdir(folder)).toEqual([]);
  });

  it("is taken over from a dead holder even if another process has its pid", async () => {
    await writeFile(lock, String(process.pid));
    const longAgo = new Date(Date.now() - 60_000);
    await utimes(lock, longAgo, longAgo);
    const answer = await withLock(
      lock,
      () => {
        throw new Error("it waits");
      },
      async () => "in",
    );
    expect(answer).toBe("in");
  });

  it("is released when the callback fails", async () => {
    const failing = withLock(
      lock,
      () => {},
      async () => {
        throw new Error("no");
      },
    );
    await expect(failing).rejects.toThrow("no");
    expect(await readdir(folder)).toEqual([]);
  });
});
