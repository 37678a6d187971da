import { access, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { type ApiAccess, callApi } from "./api-call.ts";
import { type RealCluster, startCluster } from "./cluster.ts";
import { startKcp } from "./kcp.ts";
import { runKubectl } from "./kubectl.ts";
import { realServers } from "./servers.ts";
import { listGroups } from "./support/processes.ts";

const { kubectl } = realServers();
const groupsOf = (server: Pick<RealCluster, "group">) => server.group.processes.map((process) => process.group);

async function expectKubectl(kubeconfig: string, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runKubectl(args, { kubectl, kubeconfig });
  expect(stderr).toBe("");
  expect(code).toBe(0);
  return stdout;
}

describe("the real kcp", () => {
  const { kcp } = realServers();
  const admin: ApiAccess = { ...kcp, token: kcp.adminToken };
  const workspaces = "/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces";

  it("creates a ready workspace that serves its own objects", async () => {
    const manifest = {
      apiVersion: "tenancy.kcp.io/v1alpha1",
      kind: "Workspace",
      metadata: { generateName: "harness-" },
    };
    const created = await callApi(admin, "POST", workspaces, manifest);
    expect(created.status).toBe(201);
    const name: unknown = JSON.parse(created.body).metadata.name;
    await eventually(async () => {
      const { status } = JSON.parse((await callApi(admin, "GET", `${workspaces}/${name}`)).body);
      return status?.phase === "Ready" ? undefined : `still missing: phase Ready: ${JSON.stringify(status)}`;
    }, 30_000);
    const configMaps = await callApi(admin, "GET", `/clusters/root:${name}/api/v1/configmaps`);
    expect(configMaps.status).toBe(200);
    await expectKubectl(kcp.kubeconfigPath, "delete", "workspace", String(name), "--wait=false");
  });

  it("authenticates its configured users, who have no permissions", async () => {
    const configMaps = "/clusters/root/api/v1/configmaps";
    const answer = await callApi({ ...kcp, token: kcp.users.alice.token }, "GET", configMaps);
    expect(answer.status).toBe(403);
    expect(answer.body).toContain("alice");
    expect((await callApi({ ...kcp, token: "nobody" }, "GET", configMaps)).status).toBe(401);
  });

  it("writes every request to its audit log", async () => {
    // The workspace is not in the URI that is logged but in an annotation.
    const mark = `/api/v1/namespaces/audit-${process.pid}`;
    await callApi(admin, "GET", `/clusters/root${mark}`);
    await eventually(async () => {
      const log = await readFile(kcp.auditLogPath, "utf8");
      return log.includes(mark) ? undefined : `still missing: ${mark}`;
    }, 30_000);
  });

  it("reports its version", async () => {
    expect(JSON.parse((await callApi(admin, "GET", "/clusters/root/version")).body).gitVersion).toBe(
      "v1.35.1+kcp-v0.31.2",
    );
  });

  it("keeps its workspaces over a restart on the same data and port, and leaves no process behind", async () => {
    const dataDir = join(await mkdtemp(join(tmpdir(), "tmc-kcp-")), "data");
    const first = await startKcp({ dataDir, name: "kcp-restart" });
    const logicalCluster = await first.createWorkspace("root:kept");
    await first.stop();
    expect(await listGroups(groupsOf(first))).toEqual([]);

    const second = await startKcp({ dataDir, port: first.port, name: "kcp-restart" });
    expect(second.url).toBe(first.url);
    expect(second.adminToken).not.toBe(first.adminToken);
    expect(await second.createWorkspace("root:kept")).toBe(logicalCluster);
    await second.stop();
    expect(await listGroups(groupsOf(second))).toEqual([]);
    await access(dataDir);
    await rm(join(dataDir, ".."), { recursive: true });
  }, 120_000);
});

describe("the real cluster", () => {
  const { cluster } = realServers();

  it("runs a Deployment until it is available", async () => {
    const namespace = `harness-${process.pid}`;
    await expectKubectl(cluster.kubeconfigPath, "create", "namespace", namespace);
    const within = (...args: string[]) => expectKubectl(cluster.kubeconfigPath, "-n", namespace, ...args);
    await within("create", "deployment", "web", "--image=web", "--replicas=3");
    await within("wait", "deployment/web", "--for=condition=Available", "--timeout=30s");
    const ready = await within("get", "deployment", "web", "-o", "jsonpath={.status.readyReplicas}");
    expect(ready).toBe("3");
    await expectKubectl(cluster.kubeconfigPath, "delete", "namespace", namespace, "--wait=false");
  });

  it("authenticates its admin by certificate and by token, and grants nothing to others", async () => {
    expect(await expectKubectl(cluster.kubeconfigPath, "auth", "can-i", "*", "*")).toBe("yes\n");
    const nodes = (token: string) => callApi({ ...cluster, token }, "GET", "/api/v1/nodes");
    expect((await nodes(cluster.adminToken)).status).toBe(200);
    expect((await nodes(cluster.users.bob.token)).status).toBe(403);
    expect((await nodes("nobody")).status).toBe(401);
  });

  it("reports its version", async () => {
    expect(await expectKubectl(cluster.kubeconfigPath, "version")).toContain("Server Version: v1.36.3");
  });
});

describe("more clusters", () => {
  let clusters: RealCluster[];
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "tmc-clusters-"));
    clusters = await Promise.all([startCluster({ name: "east", nodes: 1 }), startCluster({ name: "west", nodes: 3 })]);
    for (const { name, kubeconfig } of clusters) await writeFile(join(folder, name), kubeconfig, { mode: 0o600 });
  });
  afterAll(async () => {
    await Promise.all(clusters.map((cluster) => cluster.stop()));
    await rm(folder, { recursive: true });
  });

  it("run side by side, each with its own nodes", async () => {
    const nodes = async (name: string) =>
      (await expectKubectl(join(folder, name), "get", "nodes", "-o", "name")).trim();
    expect(await nodes("east")).toBe("node/east-node-1");
    expect((await nodes("west")).split("\n")).toHaveLength(3);
  });

  it("do not trust each other's certificates", async () => {
    const [east, west] = clusters;
    const strayed = callApi({ url: String(east?.url), ca: String(west?.ca) }, "GET", "/readyz");
    await expect(strayed).rejects.toThrow(/certificate/);
  });

  it("leave no process and no folder behind when they are stopped", async () => {
    const groups = clusters.flatMap(groupsOf);
    expect((await listGroups(groups)).length).toBeGreaterThanOrEqual(10);
    const began = performance.now();
    expect(await Promise.all(clusters.map((cluster) => cluster.stop()))).toEqual([undefined, undefined]);
    expect(await listGroups(groups)).toEqual([]);
    expect(performance.now() - began).toBeLessThan(12_000);
    for (const { group } of clusters) await expect(access(group.folder.path)).rejects.toThrow("ENOENT");
  });
});

describe("a start that fails", () => {
  it("reports at once which process died and why, keeps its logs, and leaves no process behind", async () => {
    const began = performance.now();
    const failure: unknown = await startCluster({ name: "broken", flags: ["--no-such-flag"] }).catch((error) => error);
    expect(performance.now() - began).toBeLessThan(20_000);
    const message = String(Object(failure).message);
    expect(message).toMatch(/^real: start broken: kube-apiserver ended with exit code 1/);
    expect(message).toContain("unknown flag: --no-such-flag");

    const logs = String(/^logs: (.*)$/m.exec(message)?.[1]);
    expect((await readdir(logs)).toSorted()).toEqual(["etcd.log", "kube-apiserver.log"]);
    expect(await readFile(join(logs, "kube-apiserver.log"), "utf8")).toContain("unknown flag");
    await rm(join(logs, ".."), { recursive: true });
    const folders = (await readdir(tmpdir())).filter((name) => name.startsWith(`tmc-real-${process.pid}-broken`));
    expect(folders).toEqual([]);
  });

  it("ends early and without output when it is aborted", async () => {
    const caller = new AbortController();
    const start = startCluster({ name: "called-off", signal: caller.signal });
    caller.abort();
    await expect(start).rejects.toThrow("aborted");
    const folders = (await readdir(tmpdir())).filter((name) => name.startsWith(`tmc-real-${process.pid}-called-off`));
    expect(folders).toEqual([]);
  });
});

describe("a crash in a running cluster", () => {
  it("keeps the logs when it stops", async () => {
    const cluster = await startCluster({ name: "crash", workloads: false, nodes: 0 });
    await cluster.group.processes.find(({ name }) => name === "kube-apiserver")?.kill();
    const logs = await cluster.stop();
    expect(await readdir(String(logs))).toContain("kube-apiserver.log");
    await rm(join(String(logs), ".."), { recursive: true });
  });
});
