import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { open } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const superviseScript = fileURLToPath(new URL("supervise.sh", import.meta.url));

/** What an API server or etcd gets to end by itself; an API server whose etcd has vanished would take minutes. */
const defaultGraceMs = 5_000;

export type SupervisedOptions = Readonly<{
  name: string;
  command: string;
  args: readonly string[];
  /** Standard output and error are appended here. */
  logFile: string;
  cwd?: string | undefined;
  /** How long `stop` waits before it kills. @default 5000 */
  graceMs?: number | undefined;
  env?: Readonly<Record<string, string | undefined>> | undefined;
}>;

/** A program that ends when this process does, even when this process is killed. */
export interface SupervisedProcess {
  readonly name: string;
  readonly logFile: string;
  /** The process group that holds the program and its supervisor. */
  readonly group: number;
  /** How it ended, in words; undefined while it runs. */
  ended(): string | undefined;
  /** Settles when it has ended, with its exit code, or null after a signal. */
  readonly exit: Promise<number | null>;
  /** SIGTERM, then SIGKILL after a grace period. Answers when it is gone; calling it again is harmless. */
  stop(): Promise<void>;
  /** SIGKILL at once, as a crash would. */
  kill(): Promise<void>;
}

/** Starts a program that can outlive neither `stop` nor this process. */
export function startSupervised(options: SupervisedOptions): SupervisedProcess {
  const log = openSync(options.logFile, "a");
  // Detached: its own process group, so that Ctrl-C reaches only us and we choose the order in which things end.
  const supervisor = spawn("/bin/sh", [superviseScript, options.command, ...options.args], {
    detached: true,
    stdio: ["pipe", log, log],
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    env: { ...process.env, ...options.env },
  });
  closeSync(log);
  const group = supervisor.pid;
  if (group === undefined) throw new Error(`real: start ${options.name}: /bin/sh cannot be run`);

  let ended: string | undefined;
  const exit = once(supervisor, "exit").then(([code, signal]: unknown[]) => {
    ended = typeof code === "number" ? `exit code ${code}` : `signal ${String(signal)}`;
    return typeof code === "number" ? code : null;
  });
  // The supervisor may end while the pipe is still open on our side.
  supervisor.stdin?.on("error", () => {});

  const signalGroup = (target: number, signal: NodeJS.Signals) => {
    if (ended !== undefined) return;
    try {
      process.kill(target, signal);
    } catch {
      // Already gone: what was wanted.
    }
  };
  const kill = async () => {
    signalGroup(-group, "SIGKILL");
    await exit;
  };
  return {
    name: options.name,
    logFile: options.logFile,
    group,
    ended: () => ended,
    exit,
    kill,
    stop: async () => {
      signalGroup(group, "SIGTERM");
      const patience = new AbortController();
      await Promise.race([
        exit,
        delay(options.graceMs ?? defaultGraceMs, undefined, { signal: patience.signal }).catch(() => {}),
      ]);
      patience.abort();
      await kill();
    },
  };
}

/** The last lines of a log file, for an error message. */
export async function readTail(logFile: string, lines = 15): Promise<string> {
  const tailBytes = 16_384;
  const file = await open(logFile, "r");
  try {
    const { size } = await file.stat();
    const start = Math.max(0, size - tailBytes);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(tailBytes), 0, tailBytes, start);
    return buffer.toString("utf8", 0, bytesRead).trimEnd().split("\n").slice(-lines).join("\n");
  } finally {
    await file.close();
  }
}
