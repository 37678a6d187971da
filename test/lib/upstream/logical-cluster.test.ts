import { afterAll, beforeAll, expect, test } from "vitest";
import { clientOf, isWorkspaceAddress, resolveLogicalCluster } from "../../../lib/upstream/logical-cluster.ts";
import { startTenants, type Tenants } from "./tenants.ts";

let tenants: Tenants;
beforeAll(async () => {
  tenants = await startTenants(["root:org:team"]);
});
afterAll(() => tenants.stop());

test("resolveLogicalCluster accepts the path and the name of a workspace", async () => {
  const [name = ""] = tenants.clusters;
  expect(await resolveLogicalCluster(tenants.client, "root:org:team")).toEqual({ name, path: "root:org:team" });
  expect((await resolveLogicalCluster(tenants.client, name)).name).toBe(name);
  expect((await resolveLogicalCluster(tenants.client, "root")).name).toBe("root");
});

test.each(["root:nowhere", "nowhere", "Root:Demo", "root:", "", "a/b", "root::demo"])(
  "the error for an unknown or invalid workspace names it in one line: %j",
  async (workspace) => {
    const failing = resolveLogicalCluster(tenants.client, workspace);
    await expect(failing).rejects.toMatchObject({ fault: "invalid" });
    await expect(failing).rejects.toThrow(new RegExp(`^workspace "${workspace}": [^\n]+$`));
  },
);

test("an unreachable kcp is a transient fault", async () => {
  const partition = tenants.kcp.faults.inject({ effect: { kind: "partition", requests: "refuse" } });
  await expect(resolveLogicalCluster(tenants.client, "root:org:team")).rejects.toMatchObject({ fault: "unreachable" });
  partition.remove();
});

test("clientOf keeps the URL of a plain upstream, and adds the name of a logical cluster", () => {
  const below = tenants.client.at("/k8s/clusters/c-1");
  expect(clientOf(below, "").server).toBe(`${tenants.kcp.url}/k8s/clusters/c-1`);
  expect(clientOf(tenants.client, "abc").server).toBe(`${tenants.kcp.url}/clusters/abc`);
  expect(isWorkspaceAddress("root:org:team")).toBe(true);
});
