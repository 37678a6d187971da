import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { isRecord } from "@tmc/kube/json.ts";

/** The processes of this machine, as far as a lock needs them. */
export type ProcessTable = Readonly<{
  pid: number;
  host: string;
  /**
   * Identifies a running process beyond its pid, which the system reuses: when it started. `unknown` if the process runs but
   * the system does not say since when, undefined if no process has this pid.
   */
  startOf(pid: number): string | undefined;
}>;

/** A held lock. */
export type FolderLock = Readonly<{
  /** Removes the lock file, if it is still the own one. */
  release(): void;
}>;

const lockFile = "local.lock";
/** A lock without content is being written at this moment; after this time, its writer has died. */
const writeTimeMs = 5_000;

/**
 * Locks a folder for this process with a file that names it. Replaces the lock of a process that has ended without removing it.
 * Throws if another process holds the lock.
 */
export function lockFolder(dir: string, processes: ProcessTable = systemProcesses, nowMs = Date.now()): FolderLock {
  const path = join(dir, lockFile);
  const { pid, host } = processes;
  const own = `${JSON.stringify({ pid, host, started: processes.startOf(pid), id: randomUUID() })}\n`;
  while (!writeExclusively(path, own)) {
    const found = readLock(path);
    if (found === undefined) continue; // removed in the meantime
    if (isHeld(found, processes, nowMs)) throw new Error(heldText(found.text, path, host));
    removeStale(path, found.text);
  }
  return {
    release: () => {
      if (readLock(path)?.text === own) rmSync(path, { force: true });
    },
  };
}

type FoundLock = Readonly<{ text: string; modifiedMs: number }>;
type Holder = Readonly<{ pid: number; host: string; started: string | undefined }>;

function isHeld({ text, modifiedMs }: FoundLock, processes: ProcessTable, nowMs: number): boolean {
  const holder = parseHolder(text);
  if (holder === undefined) return nowMs - modifiedMs < writeTimeMs;
  // A process of another machine or container that shares the folder cannot be examined.
  if (holder.host !== processes.host) return true;
  const started = processes.startOf(holder.pid);
  if (started === undefined) return false;
  return started === "unknown" || holder.started === "unknown" || started === holder.started;
}

function heldText(text: string, path: string, host: string): string {
  const holder = parseHolder(text);
  const advice = "use --dir to name another folder";
  if (holder === undefined || holder.host === host) {
    return `already running here${holder === undefined ? "" : ` (pid ${holder.pid})`}; ${advice}`;
  }
  return `already running here (pid ${holder.pid} on ${holder.host}); ${advice}, or delete ${path} if that process has ended`;
}

function parseHolder(text: string): Holder | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined; // not completely written
  }
  if (!isRecord(value) || typeof value.pid !== "number" || typeof value.host !== "string") return undefined;
  return { pid: value.pid, host: value.host, started: typeof value.started === "string" ? value.started : "unknown" };
}

function writeExclusively(path: string, text: string): boolean {
  try {
    writeFileSync(path, text, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if (hasCode(error, "EEXIST")) return false;
    throw error;
  }
}

function readLock(path: string): FoundLock | undefined {
  try {
    return { text: readFileSync(path, "utf8"), modifiedMs: statSync(path).mtimeMs };
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  }
}

/** Removes a stale lock, but not the lock of a process that has replaced it in the meantime. */
function removeStale(path: string, text: string): void {
  const aside = `${path}.${randomUUID()}`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return;
    throw error;
  }
  if (readFileSync(aside, "utf8") === text) rmSync(aside, { force: true });
  else renameSync(aside, path);
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

/** The processes of the machine that this process runs on. */
export const systemProcesses: ProcessTable = {
  pid: process.pid,
  host: hostname(),
  startOf: (pid) => (isRunning(pid) ? startTimeOf(pid) : undefined),
};

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return hasCode(error, "EPERM");
  }
}

function startTimeOf(pid: number): string | undefined {
  if (process.platform === "linux") {
    try {
      // The name of the program is in parentheses and may itself contain spaces and parentheses.
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(")").at(-1)?.trim().split(" ") ?? [];
      const [state, ticks] = [fields[0], fields[19]];
      if (state === "Z") return undefined; // ended; only its parent has not noticed yet
      return `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()}/${ticks}`;
    } catch {
      return "unknown";
    }
  }
  try {
    const env = { ...process.env, LC_ALL: "C", TZ: "UTC" };
    const started = execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], {
      env,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    return started.trim() || "unknown";
  } catch {
    return "unknown";
  }
}
