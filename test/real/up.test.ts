import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { runKubectl } from "./kubectl.ts";
import { realServers } from "./servers.ts";
import { listGroups, listProcesses } from "./support/processes.ts";

const upScript = fileURLToPath(new URL("up.ts", import.meta.url));

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tmc-up-"));
});
afterEach(() => rm(folder, { recursive: true }));

function startUp() {
  const up = spawn(process.execPath, [upScript, folder], { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  up.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    output += chunk;
  });
  const waitFor = (text: string) =>
    eventually(async () => (output.includes(text) ? undefined : `still missing: "${text}" in: ${output}`), 90_000);
  /** Each server has a process group of its own, led by a child of ours. */
  const findGroups = async () =>
    (await listProcesses()).filter(({ parent }) => parent === up.pid).map(({ group }) => group);
  return { up, exit: once(up, "exit"), waitFor, findGroups };
}

describe("real:up", () => {
  it("provides working kubeconfigs until Ctrl-C, then stops everything", async () => {
    const { up, exit, waitFor, findGroups } = startUp();
    await waitFor("Ctrl-C ends it all");
    expect((await readdir(folder)).toSorted()).toEqual(["east.kubeconfig", "kcp.kubeconfig", "west.kubeconfig"]);
    const { kubectl } = realServers();
    const ask = async (name: string, ...args: string[]) => {
      const answer = await runKubectl(args, { kubectl, kubeconfig: join(folder, `${name}.kubeconfig`) });
      return answer.stdout + answer.stderr;
    };
    expect(await ask("kcp", "config", "current-context")).toBe("demo\n");
    expect(await ask("kcp", "create", "configmap", "hello")).toBe("configmap/hello created\n");
    expect(await ask("kcp", "--context", "root", "get", "workspaces", "-o", "name")).toContain("demo");
    expect(await ask("east", "get", "nodes", "-o", "name")).toContain("east-node-1");
    expect(await ask("west", "get", "nodes", "-o", "name")).toContain("west-node-1");
    const groups = await findGroups();
    expect(groups).toHaveLength(11); // kcp, and five of each cluster

    up.kill("SIGINT");
    expect(await exit).toEqual([0, null]);
    expect(await listGroups(groups)).toEqual([]);
    expect(await readdir(folder)).toEqual([]);
  }, 120_000);

  it("exits immediately on a second Ctrl-C, and leaves no process running", async () => {
    const { up, exit, waitFor, findGroups } = startUp();
    await waitFor("east: ready");
    const groups = await findGroups();
    up.kill("SIGINT");
    await waitFor("again to end at once");
    up.kill("SIGINT");
    await exit;
    await eventually(async () => {
      const left = await listGroups(groups);
      return left.length === 0 ? undefined : `still missing: the end of ${JSON.stringify(left)}`;
    }, 60_000);
  }, 120_000);
});
