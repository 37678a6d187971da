import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { expect, it } from "vitest";
import { ensureWorkspace } from "../../../lib/install/workspaces.ts";
import { type WorkspaceObject, workspaces } from "../../../lib/upstream/kcp-types.ts";
import {
  aConfigMap,
  configMaps,
  eventually,
  eventuallyGone,
  eventuallyOk,
  namespaces,
  refusal,
  unique,
} from "../resources.ts";
import type { MakeRoom } from "../server-under-test.ts";

const logicalClusters = { group: "core.kcp.io", version: "v1alpha1", plural: "logicalclusters" };

export function workspaceCases(room: MakeRoom): void {
  it("gives a workspace a logical cluster with a name of its own", async () => {
    const { server } = await room();
    const name = unique("ws");
    const cluster = await ensureWorkspace(server.admin, `root:${name}`);
    expect(cluster).toMatch(/^[a-z0-9]{16}$/);
    const workspace = await server.admin.at("/clusters/root").get<WorkspaceObject>({ type: workspaces, name });
    expect(workspace.spec?.URL).toMatch(new RegExp(`/clusters/root:${name}$`));
    expect(workspace.status?.phase).toBe("Ready");
  });

  it("serves a workspace by path and by name, and they are the same", async () => {
    const { server } = await room();
    const name = unique("ws");
    const cluster = await ensureWorkspace(server.admin, `root:${name}`);
    const byPath = server.admin.at(`/clusters/root:${name}`);
    const byName = server.admin.at(`/clusters/${cluster}`);
    await eventuallyOk(() => byPath.create({ type: configMaps, namespace: "default" }, aConfigMap("a")));
    const object = await byName.get({ type: configMaps, namespace: "default", name: "a" });
    expect(object.metadata.annotations?.["kcp.io/cluster"]).toBe(cluster);
  });

  it("nests workspaces", async () => {
    const { server } = await room();
    const name = unique("ws");
    const inner = await ensureWorkspace(server.admin, `root:${name}:inner`);
    const cluster = await server.admin
      .at(`/clusters/root:${name}:inner`)
      .get<KubeObject>({ type: logicalClusters, name: "cluster" });
    expect(cluster.metadata.annotations).toMatchObject({
      "kcp.io/cluster": inner,
      "kcp.io/path": `root:${name}:inner`,
    });
  });

  it("keeps workspaces apart", async () => {
    const { server } = await room();
    const one = server.admin.at(`/clusters/${await ensureWorkspace(server.admin, `root:${unique("ws")}`)}`);
    const two = server.admin.at(`/clusters/${await ensureWorkspace(server.admin, `root:${unique("ws")}`)}`);
    const name = unique("only-in-one");
    await eventuallyOk(() =>
      one.create({ type: namespaces }, { apiVersion: "v1", kind: "Namespace", metadata: { name } }),
    );
    expect(await refusal(two.get({ type: namespaces, name }))).toMatchObject({ status: 404, reason: "NotFound" });
  });

  it("has a default namespace in a new workspace", async () => {
    const { server } = await room();
    const client = server.admin.at(`/clusters/${await ensureWorkspace(server.admin, `root:${unique("ws")}`)}`);
    await eventuallyOk(() => client.get({ type: namespaces, name: "default" }));
  });

  it("answers 404 for a workspace that is not there", async () => {
    const { server } = await room();
    const { status, text } = await server.admin.raw("GET", "/clusters/root:no-such-workspace/api/v1/namespaces");
    expect(status).toBe(404);
    expect(JSON.parse(text)).toMatchObject({
      reason: "NotFound",
      message: 'workspaces.tenancy.kcp.io "root:no-such-workspace" not found',
    });
  });

  it("serves none of the workload types by itself", async () => {
    const { client } = await room();
    expect((await client.raw("GET", "/apis/apps/v1/deployments")).status).toBe(404);
    expect((await client.raw("GET", "/api/v1/pods")).status).toBe(404);
    expect((await client.raw("GET", "/api/v1/services")).status).toBe(404);
  });

  it("refuses a second workspace of the same name", async () => {
    const { server } = await room();
    const name = unique("ws");
    await ensureWorkspace(server.admin, `root:${name}`);
    const again = server.admin
      .at("/clusters/root")
      .create({ type: workspaces }, { apiVersion: "tenancy.kcp.io/v1alpha1", kind: "Workspace", metadata: { name } });
    expect(await refusal(again)).toEqual({
      status: 409,
      reason: "AlreadyExists",
      message: `workspaces.tenancy.kcp.io "${name}" already exists`,
    });
  });

  it("refuses a workspace of a type that is not there", async () => {
    const { server } = await room();
    const call = server.admin.at("/clusters/root").create(
      { type: workspaces },
      {
        apiVersion: "tenancy.kcp.io/v1alpha1",
        kind: "Workspace",
        metadata: { name: unique("ws") },
        spec: { type: { name: "nosuchtype", path: "root" } },
      },
    );
    const failure = await refusal(call);
    expect(failure).toMatchObject({ status: 403, reason: "Forbidden" });
    expect(failure.message).toContain('workspacetypes.tenancy.kcp.io "root:nosuchtype" not found');
  });

  it("removes a workspace with all that is in it", async () => {
    const { server } = await room();
    const name = unique("ws");
    const cluster = await ensureWorkspace(server.admin, `root:${name}`);
    const inside = server.admin.at(`/clusters/${cluster}`);
    await eventuallyOk(() => inside.create({ type: configMaps, namespace: "default" }, aConfigMap("a")));
    const root = server.admin.at("/clusters/root");
    await root.delete({ type: workspaces, name });
    await eventuallyGone(root, { type: workspaces, name }, 60_000);
    await eventually(async () => {
      const { status } = await server.admin.raw("GET", `/clusters/root:${name}/api/v1/namespaces`);
      return status === 404 ? undefined : `the path still answers ${status}`;
    });
  }, 90_000);

  it("refuses a user who has no access", async () => {
    const { clientAs, server } = await room();
    const path = `/clusters/${await ensureWorkspace(server.admin, `root:${unique("ws")}`)}`;
    const stranger = clientAs({ impersonate: { user: "stranger", groups: ["system:authenticated"] } }).at(path);
    const failure = await refusal(stranger.list({ type: configMaps, namespace: "default" }));
    expect(failure).toMatchObject({ status: 403, reason: "Forbidden" });
    expect(failure.message).toContain(
      'User "stranger" cannot list resource "configmaps" in API group "" in the namespace "default"',
    );
    expect(failure.message).toContain("access denied");
  });

  it("refuses all but reading on the wildcard", async () => {
    const { server } = await room();
    const { status } = await server.admin.raw("POST", "/clusters/*/api/v1/namespaces", {
      body: "{}",
      contentType: "application/json",
    });
    expect([403, 405]).toContain(status);
  });
}
