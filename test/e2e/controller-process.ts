import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startSupervised } from "../real/supervised-process.ts";
import { eventually } from "../support/eventually.ts";

const command = fileURLToPath(new URL("../../bin/tmc.ts", import.meta.url));

/** A controller that runs by itself, as an operator starts it. */
export interface ControllerProcess {
  /** Asks it for `/readyz`, `/livez` or `/metrics`; 0 is the status of one that does not answer. */
  ask(path: string): Promise<Readonly<{ status: number; text: string }>>;
  /** The sum of a metric over the series whose labels contain all of these. */
  metric(name: string, labels?: Readonly<Record<string, string>>): Promise<number>;
  /** The messages it has logged so far. */
  messages(): Promise<readonly string[]>;
  /** Everything it has printed so far. */
  output(): Promise<string>;
  /** How it ended; undefined while it runs. */
  ended(): string | undefined;
  readonly exit: Promise<number | null>;
  /** Waits until it says that it is ready. */
  untilReady(limitMs: number): Promise<void>;
  /** SIGTERM, once. */
  terminate(): void;
  /** SIGKILL. */
  kill(): Promise<void>;
}

/** Starts a controller by the real command and answers once its ports are open; it may not be ready yet. */
export async function startController(
  folder: string,
  flags: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<ControllerProcess> {
  const logFile = join(folder, `controller-${randomUUID()}.log`);
  const args = [command, "controller", ...flags, "--metrics-port=0", "--health-port=0"];
  const supervised = startSupervised({ name: "controller", command: process.execPath, args, logFile, env });
  const output = (): Promise<string> => readFile(logFile, "utf8");
  const ports: { metrics?: unknown; health?: unknown } = {};
  const running: ControllerProcess = {
    output,
    messages: async () => linesOf(await output()).map(({ message }) => String(message)),
    ask: async (path) => {
      const port = path === "/metrics" ? ports.metrics : ports.health;
      const answer = await fetch(`http://127.0.0.1:${String(port)}${path}`).catch(() => undefined);
      return { status: answer?.status ?? 0, text: (await answer?.text()) ?? "" };
    },
    metric: async (name, labels = {}) => {
      const { text } = await running.ask("/metrics");
      const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
      return text
        .split("\n")
        .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
        .filter((line) => wanted.every((label) => line.includes(label)))
        .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
    },
    ended: supervised.ended,
    untilReady: (limitMs) =>
      eventually(async () => {
        if (supervised.ended() !== undefined) throw new Error(`controller: ${supervised.ended()}: ${await output()}`);
        const { status, text } = await running.ask("/readyz");
        return status === 200 ? undefined : `/readyz: ${status} ${text}`;
      }, limitMs),
    exit: supervised.exit,
    terminate: () => process.kill(supervised.group, "SIGTERM"),
    kill: supervised.kill,
  };
  await eventually(async () => {
    if (supervised.ended() !== undefined) throw new Error(`controller: ${supervised.ended()}: ${await output()}`);
    const start = linesOf(await output()).find(({ message }) => message === "controller starting");
    if (start === undefined) return "the controller has not said that it starts";
    ports.metrics = start.metricsPort;
    ports.health = start.healthPort;
    return undefined;
  }, 60_000);
  return running;
}

/** What a command that ended by itself has printed, and its exit code. */
export type Ended = Readonly<{ code: number | null; out: string; err: string }>;

/** Runs the controller with flags that it will not run with; it is killed, without a code, should it do so all the same. */
export function runRefused(flags: readonly string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(process.execPath, [command, "controller", ...flags], { timeout: 30_000 }, (error, out, err) => {
      resolve({ code: error === null ? 0 : typeof error.code === "number" ? error.code : null, out, err });
    });
  });
}

/** The lines of a log that are whole; a last one may still be on its way. */
function linesOf(text: string): Readonly<Record<string, unknown>>[] {
  return text.split("\n").flatMap((line) => {
    try {
      const parsed: unknown = JSON.parse(line);
      return typeof parsed === "object" && parsed !== null ? [{ ...parsed }] : [];
    } catch {
      return [];
    }
  });
}
