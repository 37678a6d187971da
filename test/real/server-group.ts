import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { findFreePorts } from "./ports.ts";
import { createRunFolder, type RunFolder } from "./run-folder.ts";
import { readTail, type SupervisedOptions, type SupervisedProcess, startSupervised } from "./supervised-process.ts";

const pollMs = 50;
const portAttempts = 3;

export type StopOptions = Readonly<{
  /** Keeps the logs and prints their path. @default after a crash, and with PRESERVE=1 */
  keepLogs?: boolean;
  /** Says nothing of kept logs, because the caller does. @default false */
  quiet?: boolean;
}>;

/** The processes that together are one server, such as an API server and its etcd. */
export interface ServerGroup {
  readonly name: string;
  readonly folder: RunFolder;
  readonly processes: readonly SupervisedProcess[];
  /** Starts a process. Layers are stopped from the highest down, so what others lean on gets the lowest. */
  start(layer: number, options: Omit<SupervisedOptions, "logFile">): SupervisedProcess;
  /** Starts a process that was killed once more, as it was started before; it takes the killed one's place. */
  restart(name: string): SupervisedProcess;
  /** Asks again and again what is still missing until nothing is; fails at once when a process of the group has died. */
  waitUntilNothingMissing(missing: () => Promise<string | undefined>, timeoutMs: number): Promise<void>;
  /** Ends every process and deletes the folder. Answers where the logs are if they were kept. */
  stop(options?: StopOptions): Promise<string | undefined>;
}

/**
 * Builds up a group on free ports. When that fails, nothing of it keeps running and the error says where the logs are;
 * a port that somebody else took in the meantime is no failure but a reason to try again.
 */
export async function startGroup<T>(
  { name, portCount, signal }: Readonly<{ name: string; portCount: number; signal?: AbortSignal | undefined }>,
  build: (group: ServerGroup, ports: readonly number[]) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    const group = await createGroup(name, signal);
    try {
      return await build(group, await findFreePorts(portCount));
    } catch (cause) {
      if (signal?.aborted === true) {
        await group.stop();
        throw cause;
      }
      const portTaken = await lostPort(group);
      if (portTaken && attempt < portAttempts) {
        await group.stop({ keepLogs: false });
        continue;
      }
      const logs = await group.stop({ keepLogs: true, quiet: true });
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`real: start ${name}: ${why}\nlogs: ${logs}`, { cause });
    }
  }
}

type Member = { readonly layer: number; readonly options: SupervisedOptions; process: SupervisedProcess };

async function createGroup(name: string, signal: AbortSignal | undefined): Promise<ServerGroup> {
  const folder = await createRunFolder(name);
  const members: Member[] = [];
  let stopping: Promise<string | undefined> | undefined;
  const dead = () => members.map(({ process: member }) => member).find((member) => member.ended() !== undefined);

  const stopAll = async (options: StopOptions): Promise<string | undefined> => {
    const crashed = dead();
    for (const layer of [...new Set(members.map((member) => member.layer))].toSorted((a, b) => b - a)) {
      await Promise.all(members.filter((member) => member.layer === layer).map((member) => member.process.stop()));
    }
    const keepLogs = options.keepLogs ?? (crashed !== undefined || process.env.PRESERVE === "1");
    const kept = await folder.remove({ keepLogs });
    if (kept !== undefined && options.quiet !== true) {
      const why = crashed === undefined ? "" : ` (${crashed.name} had ended by itself: ${crashed.ended()})`;
      process.stderr.write(`real: the logs of ${name} are kept in ${kept}${why}\n`);
    }
    return kept;
  };

  return {
    name,
    folder,
    get processes() {
      return members.map((member) => member.process);
    },
    start: (layer, options) => {
      const whole = { ...options, logFile: join(folder.logs, `${options.name}.log`) };
      const started = startSupervised(whole);
      members.push({ layer, options: whole, process: started });
      return started;
    },
    restart: (processName) => {
      const member = members.find(({ options }) => options.name === processName);
      if (member?.process.ended() === undefined) throw new Error(`real: restart ${processName}: it has not ended`);
      member.process = startSupervised(member.options);
      return member.process;
    },
    waitUntilNothingMissing: async (missing, timeoutMs) => {
      const deadline = Date.now() + timeoutMs;
      for (;;) {
        signal?.throwIfAborted();
        const what = await missing().catch((error: unknown) => String(error));
        if (what === undefined) return;
        const ended = dead();
        if (ended !== undefined) {
          throw new Error(`${ended.name} ended with ${ended.ended()}\n${await readTail(ended.logFile)}`);
        }
        if (Date.now() > deadline) throw new Error(`after ${timeoutMs / 1000} s still missing: ${what}`);
        await delay(pollMs);
      }
    },
    stop: (options = {}) => {
      stopping ??= stopAll(options);
      return stopping;
    },
  };
}

async function lostPort(group: ServerGroup): Promise<boolean> {
  const tails = group.processes
    .filter((member) => member.ended() !== undefined)
    .map((member) => readTail(member.logFile));
  return (await Promise.all(tails)).some((tail) => tail.includes("address already in use"));
}
