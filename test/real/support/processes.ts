import { execFile } from "node:child_process";
import { promisify } from "node:util";

export type ProcessRow = Readonly<{ pid: number; parent: number; group: number; state: string; command: string }>;

/** Every process that runs; those that are dead and only wait to be collected are left out. */
export async function listProcesses(): Promise<ProcessRow[]> {
  const { stdout } = await promisify(execFile)("ps", ["-A", "-o", "pid=,ppid=,pgid=,stat=,args="], {
    maxBuffer: 1 << 26,
  });
  return stdout.split("\n").flatMap((line) => {
    const [, pid, parent, group, state, command] = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? [];
    if (state === undefined || command === undefined || state.startsWith("Z")) return [];
    return [{ pid: Number(pid), parent: Number(parent), group: Number(group), state, command }];
  });
}

/** The processes of these groups that still run. */
export async function listGroups(groups: readonly number[]): Promise<ProcessRow[]> {
  return (await listProcesses()).filter(({ group }) => groups.includes(group));
}
