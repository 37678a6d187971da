import { afterAll, beforeAll, expect, test } from "vitest";
import { clientOf, isWorkspaceAddress, resolveLogicalCluster } from "../../../lib/upstream/logical-cluster.ts";
import { startTenants, type Tenants } from "./tenants.ts";

let tenants: Tenants;
beforeAll(async () => {
  tenants = await startTenants(["root:org:team"]);
});
afterAll(() => tenants.stop());

test("a path and a name lead to the same logical cluster", async () => {
  const [name = ""] = tenants.clusters;
  expect(await resolveLogicalCluster(tenants.client, "root:org:team")).toEqual({ name, path: "root:org:team" });
  expect((await resolveLogicalCluster(tenants.client, name)).name).toBe(name);
  expect((await resolveLogicalCluster(tenants.client, "root")).name).toBe("root");
});

test.each(["root:nowhere", "nowhere", "Root:Demo", "root:", "", "a/b", "root::demo"])(
  "an unknown or impossible workspace is named in one line: %j",
  async (workspace) => {
    const failing = resolveLogicalCluster(tenants.client, workspace);
    await expect(failing).rejects.toMatchObject({ fault: "invalid" });
    await expect(failing).rejects.toThrow(new RegExp(`^workspace "${workspace}": [^\n]+$`));
  },
);

test("a kcp that cannot be reached is a fault that may pass", async () => {
  const partition = tenants.kcp.faults.inject({ effect: { kind: "partition", requests: "refuse" } });
  await expect(resolveLogicalCluster(tenants.client, "root:org:team")).rejects.toMatchObject({ fault: "unreachable" });
  partition.remove();
});

test("a plain hub is reached where its client points, a logical cluster below its name", () => {
  const below = tenants.client.at("/k8s/clusters/c-1");
  expect(clientOf(below, "").server).toBe(`${tenants.kcp.url}/k8s/clusters/c-1`);
  expect(clientOf(tenants.client, "abc").server).toBe(`${tenants.kcp.url}/clusters/abc`);
  expect(isWorkspaceAddress("root:org:team")).toBe(true);
});
