import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { isAlive } from "./build-lock.ts";
import { startSupervised } from "./supervised-process.ts";
import { listGroups } from "./support/processes.ts";

let folder: string;
let logFile: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tmc-supervised-"));
  logFile = join(folder, "log");
});
afterEach(() => rm(folder, { recursive: true }));

const startShell = (script: string, graceMs?: number) =>
  startSupervised({ name: "shell", command: "/bin/sh", args: ["-c", script], logFile, graceMs });

const waitForLog = async (pattern: RegExp): Promise<string> => {
  let match: RegExpExecArray | null = null;
  await eventually(async () => {
    match = pattern.exec(await readFile(logFile, "utf8").catch(() => ""));
    return match === null ? `still missing: ${pattern} in the log` : undefined;
  }, 30_000);
  return String(match?.[1]);
};

describe("a supervised process", () => {
  it("ends with all its children when its parent is killed", async () => {
    const script = `
      const { startSupervised } = await import(${JSON.stringify(new URL("supervised-process.ts", import.meta.url).href)});
      const started = startSupervised({ name: "victim", command: "/bin/sh", logFile: ${JSON.stringify(logFile)},
        args: ["-c", "trap '' TERM HUP INT; sleep 600 & echo pid $!; wait"] });
      console.log(started.group);`;
    const starter = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [output]: unknown[] = await once(starter.stdout, "data");
    const group = Number(String(output));
    const grandchild = Number(await waitForLog(/pid (\d+)/));
    expect(isAlive(grandchild)).toBe(true);
    expect((await listGroups([group])).length).toBeGreaterThanOrEqual(3);

    starter.kill("SIGKILL");
    await eventually(async () => {
      const left = await listGroups([group]);
      return left.length === 0 ? undefined : `still missing: the end of ${JSON.stringify(left)}`;
    }, 5_000);
  });

  it("returns the exit code of its program, and leaves no process behind", async () => {
    const started = startShell("echo out; echo err >&2; exit 3");
    expect(await started.exit).toBe(3);
    expect(started.ended()).toBe("exit code 3");
    expect(await readFile(logFile, "utf8")).toBe("out\nerr\n");
    expect(await listGroups([started.group])).toEqual([]);
  });

  it("gets SIGTERM first, so that it can shut down cleanly", async () => {
    const started = startShell("trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done");
    await waitForLog(/(up)/);
    await started.stop();
    expect(await readFile(logFile, "utf8")).toBe("up\nbye\n");
    expect(started.ended()).toBe("exit code 0");
    expect(await listGroups([started.group])).toEqual([]);
  });

  it("is killed when it does not end within its grace period", async () => {
    const started = startShell("trap '' TERM; echo up; while :; do sleep 0.05; done", 200);
    await waitForLog(/(up)/);
    await started.stop();
    expect(started.ended()).toBe("signal SIGKILL");
    expect(await listGroups([started.group])).toEqual([]);
  });

  it("can be stopped again after its end", async () => {
    const started = startShell("exit 0");
    await started.exit;
    await started.stop();
    await started.kill();
    expect(started.ended()).toBe("exit code 0");
  });

  it("reports that the program does not exist", async () => {
    const started = startSupervised({ name: "nothing", command: join(folder, "missing"), args: [], logFile });
    expect(await started.exit).toBe(127);
    expect(await readFile(logFile, "utf8")).toContain("missing");
  });
});
