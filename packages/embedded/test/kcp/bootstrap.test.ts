import { valueAt } from "@tmc/kube/json.ts";
import { describe, expect, it } from "vitest";
import { bindingsPath, exportsPath, kcpForAllTests, schemasPath } from "./support.ts";

const test = kcpForAllTests();

const roles = "/apis/rbac.authorization.k8s.io/v1";
const names = async (path: string): Promise<unknown> => {
  const items = await test.read(`/clusters/root${path}`, "items");
  return Array.isArray(items) ? items.map((item) => valueAt(item, "metadata", "name")) : items;
};

describe("a new kcp", () => {
  const starts: Record<string, { path: string; with: readonly string[] }> = {
    "the exports that workspaces are made of": {
      path: exportsPath,
      with: ["cache.kcp.io", "shards.core.kcp.io", "tenancy.kcp.io", "topology.kcp.io"],
    },
    "the types of workspaces": {
      path: "/apis/tenancy.kcp.io/v1alpha1/workspacetypes",
      with: ["home", "organization", "root", "team", "universal"],
    },
    "its one shard": { path: "/apis/core.kcp.io/v1alpha1/shards", with: ["root"] },
    "the root bound to its own exports": {
      path: bindingsPath,
      with: ["shards.core.kcp.io", "tenancy.kcp.io", "topology.kcp.io"],
    },
    "the identities of its exports": {
      path: "/api/v1/namespaces/kcp-system/secrets",
      with: ["cache.kcp.io", "shards.core.kcp.io", "tenancy.kcp.io", "topology.kcp.io"],
    },
  };
  for (const [what, { path, with: expected }] of Object.entries(starts)) {
    it(`starts with ${what}`, async () => {
      expect(await names(path)).toEqual(expected);
    });
  }

  // Initial objects are stored without validation; an update validates them.
  const written = [
    schemasPath,
    exportsPath,
    "/apis/tenancy.kcp.io/v1alpha1/workspacetypes",
    "/apis/core.kcp.io/v1alpha1/shards",
    `${roles}/clusterroles`,
    `${roles}/clusterrolebindings`,
  ];
  for (const path of written) {
    it(`accepts its own bootstrap objects at ${path}`, async () => {
      const items = await test.read(`/clusters/root${path}`, "items");
      const found = Array.isArray(items) ? items : [];
      expect(found.length).toBeGreaterThan(0);
      const [, , , version] = path.split("/");
      const group = path.split("/")[2] ?? "";
      for (const item of found) {
        const name = String(valueAt(item, "metadata", "name"));
        const whole = await test.call("GET", `/clusters/root${path}/${name}`);
        expect(valueAt(whole.body, "apiVersion")).toBe(`${group}/${version}`);
        expect(await test.call("PUT", `/clusters/root${path}/${name}`, whole.body)).toMatchObject({ status: 200 });
      }
    });
  }
});
