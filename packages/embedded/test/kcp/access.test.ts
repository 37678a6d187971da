import { textAt } from "@tmc/kube/json.ts";
import { beforeEach, describe, expect, it } from "vitest";
import { aBinding, bindingsPath, exportedWidgets, exportsPath, kcpForEachTest, merge, workspaces } from "./support.ts";

const test = kcpForEachTest();
beforeEach(() => void test.kcp.createWorkspace("root:a"));

const roles = "/apis/rbac.authorization.k8s.io/v1";
const aRole = (name: string, rules: readonly object[]) => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  metadata: { name },
  rules,
});
const aRoleBinding = (name: string, role: string, subject: object) => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRoleBinding",
  metadata: { name },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
  subjects: [subject],
});
const alice = { kind: "User", name: "alice" };
const asAlice = { token: "alice-token" };

describe("paths of a kcp server", () => {
  const places: Record<string, { path: string; status: number; says: string }> = {
    "a path that leads nowhere is not found": {
      path: "/clusters/root:nope/api",
      status: 404,
      says: 'workspaces.tenancy.kcp.io "root:nope" not found',
    },
    "a name that no logical cluster has is forbidden": {
      path: "/clusters/nope/apis",
      status: 403,
      says: 'forbidden: User "kcp-admin" cannot get path "/apis": access denied',
    },
    "a name that none can have is a bad request": {
      path: "/clusters/Root/api",
      status: 400,
      says: 'invalid cluster: "Root" does not match the regex',
    },
    "outside of workspaces there is nothing": {
      path: "/version",
      status: 403,
      says: 'forbidden: User "kcp-admin" cannot get path "/version": access denied',
    },
    "across all workspaces nobody looks": {
      path: "/clusters/*/api/v1/namespaces",
      status: 403,
      says: 'namespaces is forbidden: User "kcp-admin" cannot list resource "namespaces" in API group "" at the cluster scope: access denied',
    },
    "a type that no workspace has is not found": {
      path: "/clusters/root/api/v1/pods",
      status: 404,
      says: "the server could not find the requested resource",
    },
  };
  for (const [rule, { path, status, says }] of Object.entries(places)) {
    it(rule, async () => {
      expect(await test.call("GET", path)).toMatchObject({ status, message: says });
    });
  }

  it("report readiness to everyone except requests with an invalid token", async () => {
    expect(await test.call("GET", "/readyz", undefined, { token: "" })).toMatchObject({ status: 200, body: "ok" });
    expect((await test.call("GET", "/readyz", undefined, { token: "wrong" })).status).toBe(401);
  });
});

describe("users", () => {
  it("read the root's workspaces and types, and enter only workspaces that they have access to", async () => {
    expect((await test.call("GET", `/clusters/root${workspaces}/a`, undefined, asAlice)).status).toBe(200);
    expect(await test.call("GET", "/clusters/root:a/api", undefined, asAlice)).toMatchObject({
      status: 403,
      message: 'forbidden: User "alice" cannot get path "/api": access denied',
    });
    await test.call(
      "POST",
      `/clusters/root:a${roles}/clusterrolebindings`,
      aRoleBinding("in", "system:kcp:workspace:access", alice),
    );
    expect((await test.call("GET", "/clusters/root:a/api", undefined, asAlice)).status).toBe(200);
    expect((await test.call("GET", "/clusters/root:a/api/v1/namespaces", undefined, asAlice)).status).toBe(403);
    await test.call(
      "POST",
      `/clusters/root:a${roles}/clusterrolebindings`,
      aRoleBinding("all", "cluster-admin", alice),
    );
    expect((await test.call("GET", "/clusters/root:a/api/v1/namespaces", undefined, asAlice)).status).toBe(200);
  });

  it("own the workspaces that they create", async () => {
    await test.call(
      "POST",
      `/clusters/root${roles}/clusterroles`,
      aRole("maker", [{ apiGroups: ["tenancy.kcp.io"], resources: ["workspaces"], verbs: ["create"] }]),
    );
    await test.call("POST", `/clusters/root${roles}/clusterrolebindings`, aRoleBinding("maker", "maker", alice));
    const body = { apiVersion: "tenancy.kcp.io/v1alpha1", kind: "Workspace", metadata: { name: "own" } };
    expect((await test.call("POST", `/clusters/root${workspaces}`, body, asAlice)).status).toBe(201);
    expect((await test.call("GET", "/clusters/root:own/api/v1/secrets", undefined, asAlice)).status).toBe(200);
  });

  it("bind an export if they have the verb bind on it", async () => {
    await exportedWidgets(test);
    await test.call(
      "POST",
      `/clusters/root:a${roles}/clusterrolebindings`,
      aRoleBinding("all", "cluster-admin", alice),
    );
    const bind = () =>
      test.call("POST", `/clusters/root:a${bindingsPath}`, aBinding("w", "root:provider", "example.dev"), asAlice);
    expect((await bind()).status).toBe(403);
    const rule = {
      apiGroups: ["apis.kcp.io"],
      resources: ["apiexports"],
      resourceNames: ["example.dev"],
      verbs: ["bind"],
    };
    await test.call("POST", `/clusters/root:provider${roles}/clusterroles`, aRole("bind", [rule]));
    await test.call("POST", `/clusters/root:provider${roles}/clusterrolebindings`, aRoleBinding("bind", "bind", alice));
    expect((await bind()).status).toBe(201);
  });

  it("are limited by an export's maximal permission policy, including the admin", async () => {
    await exportedWidgets(test);
    const policy = { spec: { maximalPermissionPolicy: { local: {} } } };
    await test.call("PATCH", `/clusters/root:provider${exportsPath}/example.dev`, policy, { type: merge });
    const list = () => test.call("GET", "/clusters/root:consumer/apis/example.dev/v1/widgets");
    expect((await list()).status).toBe(403);
    const rule = { apiGroups: ["example.dev"], resources: ["widgets"], verbs: ["list"] };
    const everyone = { kind: "Group", name: "apis.kcp.io:binding:system:authenticated" };
    await test.call("POST", `/clusters/root:provider${roles}/clusterroles`, aRole("policy", [rule]));
    await test.call(
      "POST",
      `/clusters/root:provider${roles}/clusterrolebindings`,
      aRoleBinding("policy", "policy", everyone),
    );
    expect((await list()).status).toBe(200);
  });

  it("access a virtual workspace with the verbs that they have on the export's content", async () => {
    const { everywhere, inConsumer } = await exportedWidgets(test);
    const widgets = "/apis/example.dev/v1/widgets";
    const created = await test.call("POST", "/clusters/root:provider/api/v1/namespaces/default/serviceaccounts", {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: "relay" },
    });
    expect(created.status).toBe(201);
    const issued = await test.call(
      "POST",
      "/clusters/root:provider/api/v1/namespaces/default/serviceaccounts/relay/token",
      {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec: {},
      },
    );
    const relay = { token: textAt(issued.body, "status", "token") };
    expect((await test.call("GET", everywhere + widgets, undefined, relay)).status).toBe(403);
    const rule = {
      apiGroups: ["apis.kcp.io"],
      resources: ["apiexports/content"],
      resourceNames: ["example.dev"],
      verbs: ["list", "watch"],
    };
    const account = { kind: "ServiceAccount", name: "relay", namespace: "default" };
    await test.call("POST", `/clusters/root:provider${roles}/clusterroles`, aRole("content", [rule]));
    await test.call(
      "POST",
      `/clusters/root:provider${roles}/clusterrolebindings`,
      aRoleBinding("content", "content", account),
    );
    expect((await test.call("GET", everywhere + widgets, undefined, relay)).status).toBe(200);
    expect((await test.call("GET", inConsumer + widgets, undefined, relay)).status).toBe(200);
    const one = `${inConsumer}/apis/example.dev/v1/namespaces/default/widgets/a`;
    expect((await test.call("GET", one, undefined, relay)).status).toBe(403);
    expect((await test.call("GET", `${everywhere}/apis`, undefined, relay)).status).toBe(403);
    expect((await test.call("GET", "/clusters/root:consumer/api", undefined, relay)).status).toBe(403);
    expect((await test.call("GET", "/clusters/root:provider/api", undefined, relay)).status).toBe(200);
    expect((await test.call("GET", "/api", undefined, relay)).status).toBe(200);
  });
});
