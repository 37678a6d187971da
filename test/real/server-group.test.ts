import { access, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type ServerGroup, startGroup } from "./server-group.ts";

/** Starts a shell script as a server; it is up once it has said so in its log. */
async function startScript(group: ServerGroup, layer: number, name: string, script: string): Promise<void> {
  const { logFile } = group.start(layer, { name, command: "/bin/sh", args: ["-c", script] });
  await group.waitUntilNothingMissing(async () => {
    return (await readFile(logFile, "utf8")).includes("up") ? undefined : "up";
  }, 5_000);
}
const untilStopped = "echo up; while :; do sleep 0.02; done";

describe("a group of servers", () => {
  it("gets distinct ports, and new ones when a port is taken meanwhile", async () => {
    const seen: (readonly number[])[] = [];
    const group = await startGroup({ name: "unlucky", portCount: 3 }, async (attempt, ports) => {
      seen.push(ports);
      const bad = "echo 'listen tcp 127.0.0.1:1: bind: address already in use'; exit 1";
      await startScript(attempt, 0, "server", seen.length < 3 ? bad : untilStopped);
      return attempt;
    });
    expect(seen).toHaveLength(3);
    for (const ports of seen) expect(new Set(ports).size).toBe(3);
    expect(await group.stop()).toBeUndefined();
  });

  it("fails after the third port that was taken", async () => {
    let attempts = 0;
    const start = startGroup({ name: "hopeless", portCount: 1 }, async (group) => {
      attempts += 1;
      await startScript(group, 0, "server", "echo 'address already in use'; exit 1");
    });
    const failure: unknown = await start.catch((error: unknown) => error);
    expect(attempts).toBe(3);
    const message = String(Object(failure).message);
    expect(message).toMatch(/^real: start hopeless: server ended with exit code 1\naddress already in use\nlogs: /);
    await rm(join(String(/^logs: (.*)$/m.exec(message)?.[1]), ".."), { recursive: true });
  });

  it("stops from the highest layer down", async () => {
    const group = await startGroup({ name: "layers", portCount: 0 }, async (made) => {
      for (const [layer, name] of ["etcd", "apiserver", "scheduler"].entries()) {
        const sayBye = `trap 'echo ${name} >> ${made.folder.logs}/order; exit 0' TERM`;
        await startScript(made, layer, name, `${sayBye}; ${untilStopped}`);
      }
      return made;
    });
    const logs = String(await group.stop({ keepLogs: true, quiet: true }));
    expect(await readFile(join(logs, "order"), "utf8")).toBe("scheduler\napiserver\netcd\n");
    await expect(access(group.folder.path)).rejects.toThrow("ENOENT");
    await rm(join(logs, ".."), { recursive: true });
  });

  it("restarts a killed member unchanged, and no member that still runs", async () => {
    const group = await startGroup({ name: "again", portCount: 0 }, async (made) => {
      await startScript(made, 0, "etcd", untilStopped);
      return made;
    });
    expect(() => group.restart("etcd")).toThrow("real: restart etcd: it has not ended");
    await group.processes[0]?.kill();
    const { logFile } = group.restart("etcd");
    await group.waitUntilNothingMissing(async () => {
      return (await readFile(logFile, "utf8")) === "up\nup\n" ? undefined : "up for the second time";
    }, 5_000);
    expect(group.processes).toHaveLength(1);
    expect(await group.stop()).toBeUndefined();
  });

  it("reports what was still missing at its timeout", async () => {
    const start = startGroup({ name: "slow", portCount: 0 }, (group) =>
      group.waitUntilNothingMissing(async () => "the moon", 100),
    );
    const failure: unknown = await start.catch((error: unknown) => error);
    const message = String(Object(failure).message);
    expect(message).toContain("real: start slow: after 0.1 s still missing: the moon");
    await rm(join(String(/^logs: (.*)$/m.exec(message)?.[1]), ".."), { recursive: true });
  });
});
