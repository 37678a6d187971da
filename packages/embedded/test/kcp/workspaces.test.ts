import { describe, expect, it } from "vitest";
import {
  anExport,
  aWorkspace,
  bindingsPath,
  configMapClaim,
  exportsPath,
  kcpForAllTests,
  merge,
  workspaces,
} from "./support.ts";

const test = kcpForAllTests();

const root = `/clusters/root${workspaces}`;

describe("workspaces", () => {
  it("get a logical cluster, its URL and finally the phase Ready", async () => {
    const created = await test.call("POST", root, aWorkspace("a", { name: "universal", path: "root" }));
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({ status: { phase: "Scheduling" } });
    const ready = await test.call("GET", `${root}/a`);
    const cluster = test.kcp.createWorkspace("root:a");
    expect(ready.body).toMatchObject({
      metadata: {
        labels: { "tenancy.kcp.io/phase": "Ready" },
        finalizers: ["core.kcp.io/logicalcluster"],
        annotations: { "kcp.io/cluster": "root", "experimental.tenancy.kcp.io/owner": '{"username":"kcp-admin"}' },
      },
      spec: { cluster, URL: `${test.kcp.url}/clusters/root:a`, type: { name: "universal", path: "root" } },
      status: { phase: "Ready" },
    });
    expect(await test.read(`/clusters/${cluster}/apis/core.kcp.io/v1alpha1/logicalclusters/cluster`)).toMatchObject({
      metadata: { annotations: { "kcp.io/path": "root:a", "internal.tenancy.kcp.io/type": "root:universal" } },
      status: { phase: "Ready", URL: `${test.kcp.url}/clusters/${cluster}` },
    });
  });

  it("start with namespaces, service accounts and the bindings of their type", async () => {
    test.kcp.createWorkspace("root:filled");
    const names = async (path: string) => {
      const items = await test.read(`/clusters/root:filled${path}`, "items");
      return Array.isArray(items) ? items.map((item) => item.metadata.name) : items;
    };
    expect(await names("/api/v1/namespaces")).toEqual(["default", "kube-system"]);
    expect(await names("/api/v1/serviceaccounts")).toEqual(["default", "default"]);
    expect(await names("/api/v1/configmaps")).toEqual(["kube-root-ca.crt", "kube-root-ca.crt"]);
    expect(await names(bindingsPath)).toEqual([
      expect.stringMatching(/^tenancy\.kcp\.io-/),
      expect.stringMatching(/^topology\.kcp\.io-/),
    ]);
  });

  it("are reachable by path from the root, by path from any logical cluster, and by name", async () => {
    const inner = test.kcp.createWorkspace("root:outer:inner");
    const outer = test.kcp.createWorkspace("root:outer");
    for (const place of ["root:outer:inner", `${outer}:inner`, inner]) {
      expect(
        await test.read(`/clusters/${place}/api/v1/namespaces/default`, "metadata", "annotations", "kcp.io/cluster"),
      ).toBe(inner);
    }
  });

  it("get the default child type of their parent's type", async () => {
    await test.call("POST", root, aWorkspace("org"));
    expect(await test.read(`${root}/org`, "spec", "type")).toEqual({ name: "organization", path: "root" });
    const below = `/clusters/root:org${workspaces}`;
    await test.call("POST", below, aWorkspace("child"));
    expect(await test.read(`${below}/child`, "spec", "type")).toEqual({ name: "universal", path: "root" });
  });

  const refused: Record<string, { name: string; type: { name: string; path?: string }; says: string }> = {
    "a type that does not exist": {
      name: "x",
      type: { name: "nope", path: "root" },
      says: 'Internal error occurred: workspacetypes.tenancy.kcp.io "root:nope" not found',
    },
    "a type that cannot be found from here": {
      name: "x",
      type: { name: "nope" },
      says: 'workspace type "nope" cannot be resolved',
    },
    "a type that allows other parents only": {
      name: "x",
      type: { name: "team", path: "root" },
      says: "workspace type root:team only allows [root:organization root:team] parent workspaces, but parent type root:root only implements [root:root root:universal]",
    },
    "a type that has no parents": {
      name: "x",
      type: { name: "root", path: "root" },
      says: "workspace type root:root cannot have any parent",
    },
  };
  for (const [rule, { name, type, says }] of Object.entries(refused)) {
    it(`are refused with ${rule}`, async () => {
      expect(await test.call("POST", root, aWorkspace(name, type))).toMatchObject({
        status: 403,
        message: `workspaces.tenancy.kcp.io "${name}" is forbidden: ${says}`,
      });
    });
  }

  it("are rejected with a name that is invalid in a path", async () => {
    const { status, message } = await test.call("POST", root, aWorkspace("x.y", { name: "universal", path: "root" }));
    expect(status).toBe(422);
    expect(message).toContain("metadata.name in body should match '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'");
  });

  it("cannot change their type and their logical cluster", async () => {
    test.kcp.createWorkspace("root:fixed");
    const change = (spec: object) => test.call("PATCH", `${root}/fixed`, { spec }, { type: merge });
    expect(await change({ type: { name: "team" } })).toMatchObject({
      status: 422,
      message: 'Workspace.tenancy.kcp.io "fixed" is invalid: spec.type: Invalid value: name is immutable',
    });
    expect(await change({ cluster: "abc" })).toMatchObject({
      status: 422,
      message: 'Workspace.tenancy.kcp.io "fixed" is invalid: spec.cluster: Invalid value: "abc": cluster is immutable',
    });
  });

  it("are deleted with their content, and wait for its finalizers", async () => {
    const cluster = test.kcp.createWorkspace("root:going");
    test.kcp.createWorkspace("root:going:below");
    const held = `/clusters/${cluster}/api/v1/namespaces/default/configmaps`;
    await test.call("POST", held, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "held", finalizers: ["example.dev/hold"] },
    });
    await test.call("DELETE", `${root}/going`);
    expect(await test.read(`${root}/going`, "metadata", "labels")).toEqual({ "tenancy.kcp.io/phase": "Deleting" });
    await test.call("PATCH", `${held}/held`, { metadata: { finalizers: null } }, { type: merge });
    expect((await test.call("GET", `${root}/going`)).status).toBe(404);
    expect((await test.call("GET", "/clusters/root:going/api/v1/namespaces")).message).toBe(
      'workspaces.tenancy.kcp.io "root:going" not found',
    );
    expect(test.kcp.store.list("configmaps", { logicalCluster: cluster })).toEqual([]);
  });

  it("of a type with default bindings are bound at once, with all claims of the export accepted", async () => {
    test.kcp.createWorkspace("root:types");
    await test.call(
      "POST",
      `/clusters/root:types${exportsPath}`,
      anExport("claims.dev", { permissionClaims: [configMapClaim] }),
    );
    await test.call("POST", "/clusters/root:types/apis/tenancy.kcp.io/v1alpha1/workspacetypes", {
      apiVersion: "tenancy.kcp.io/v1alpha1",
      kind: "WorkspaceType",
      metadata: { name: "tenant" },
      spec: {
        extend: { with: [{ name: "universal", path: "root" }] },
        defaultAPIBindings: [{ path: "root:types", export: "claims.dev" }],
      },
    });
    await test.call("POST", root, aWorkspace("tenant", { name: "tenant", path: "root:types" }));
    expect(await test.read(`${root}/tenant`, "status", "phase")).toBe("Ready");
    const items = await test.read(`/clusters/root:tenant${bindingsPath}`, "items");
    expect(items).toContainEqual(
      expect.objectContaining({
        spec: expect.objectContaining({
          permissionClaims: [
            expect.objectContaining({ ...configMapClaim, state: "Accepted", selector: { matchAll: true } }),
          ],
        }),
        status: expect.objectContaining({ phase: "Bound" }),
      }),
    );
  });
});
