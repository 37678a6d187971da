import type { KubeClient } from "@tmc/kube/client.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { beforeAll, expect, it } from "vitest";
import { exportName } from "../../../lib/api/group.ts";
import { ensureWorkspace } from "../../../lib/install/workspaces.ts";
import { apiBindings } from "../../../lib/upstream/kcp-types.ts";
import { aRegistration, type Provider, providerOf, registrations, type Tenant } from "../provider.ts";
import {
  aClusterRole,
  aClusterRoleBinding,
  aConfigMap,
  configMaps,
  deployments,
  events,
  eventually,
  eventuallyOk,
  failureOf,
  rbac,
  refusal,
  secrets,
  tokenOfNewAccount,
  unique,
} from "../resources.ts";
import type { MakeRoom, Room } from "../server-under-test.ts";

export function virtualWorkspaceCases(room: MakeRoom): void {
  let here: Room;
  let provider: Provider;
  let one: Tenant;
  let two: Tenant;
  let all: KubeClient;
  let inOne: KubeClient;
  beforeAll(async () => {
    here = await room();
    provider = await providerOf(here.server);
    [one, two] = provider.tenants;
    all = here.server.admin.at(`${provider.view}/clusters/*`);
    inOne = here.server.admin.at(`${provider.view}/clusters/${one.cluster}`);
    await eventuallyOk(() => all.list({ type: registrations }), 30_000);
  }, 120_000);

  it("lists the objects of all tenants, each with its logical cluster", async () => {
    const name = unique("both");
    await one.client.create({ type: registrations }, aRegistration(name));
    await two.client.create({ type: registrations }, aRegistration(name));
    const { items } = await all.listAll({ type: registrations });
    const mine = items.filter((item) => item.metadata.name === name);
    expect(mine.map((item) => item.metadata.annotations?.["kcp.io/cluster"]).toSorted()).toEqual(
      [one.cluster, two.cluster].toSorted(),
    );
  });

  // kcp reads such a selector as one place in its store, which in a list of all tenants is nowhere.
  it("finds nothing by name over all tenants", async () => {
    const name = unique("named");
    await one.client.create({ type: registrations }, aRegistration(name));
    expect((await all.list({ type: registrations }, { fieldSelector: `metadata.name=${name}` })).items).toEqual([]);
    expect((await inOne.list({ type: registrations }, { fieldSelector: `metadata.name=${name}` })).items).toHaveLength(
      1,
    );
  });

  it("watches the objects of all tenants", async () => {
    const { metadata } = await all.list({ type: registrations });
    const name = unique("watched");
    await one.client.create({ type: registrations }, aRegistration(name));
    await two.client.create({ type: registrations }, aRegistration(name));
    const seen: (string | undefined)[] = [];
    for await (const event of all.watch(
      { type: registrations },
      { resourceVersion: metadata.resourceVersion, timeoutSeconds: 20 },
    )) {
      if (event.type !== "BOOKMARK" && event.object.metadata.name === name)
        seen.push(event.object.metadata.annotations?.["kcp.io/cluster"]);
      if (seen.length === 2) break;
    }
    expect(seen).toEqual([one.cluster, two.cluster]);
  });

  it("pages the list of all tenants", async () => {
    for (const tenant of [one, two]) await tenant.client.create({ type: registrations }, aRegistration(unique("page")));
    const first = await all.list({ type: registrations }, { limit: 1 });
    expect(first.items).toHaveLength(1);
    expect(first.metadata.continue).toBeTruthy();
    expect(first.metadata.remainingItemCount).toBeGreaterThan(0);
    const paged = await all.listAll({ type: registrations }, { limit: 1 });
    const whole = await all.list({ type: registrations });
    expect(paged.items.map((item) => item.metadata.uid)).toEqual(whole.items.map((item) => item.metadata.uid));
  });

  it("answers metadata alone for all tenants", async () => {
    await one.client.create({ type: registrations }, aRegistration(unique("partial")));
    const { items } = await all.metadata.list({ type: registrations });
    expect(items[0]).toMatchObject({ kind: "PartialObjectMetadata" });
    expect(items[0]?.metadata.annotations?.["kcp.io/cluster"]).toBeTruthy();
  });

  it("reads and writes in one tenant by its logical cluster's name", async () => {
    const name = unique("written");
    await inOne.create({ type: registrations }, aRegistration(name));
    const seen = await one.client.get({ type: registrations, name });
    await inOne.patch({ type: registrations, name }, { type: "merge", body: { spec: { location: "moved" } } });
    expect((await one.client.get<KubeObject & { spec: object }>({ type: registrations, name })).spec).toMatchObject({
      location: "moved",
    });
    await inOne.delete({ type: registrations, name }, { preconditions: { uid: seen.metadata.uid } });
    expect(await refusal(one.client.get({ type: registrations, name }))).toMatchObject({ status: 404 });
  });

  it("writes status", async () => {
    const name = unique("status");
    await one.client.create({ type: registrations }, aRegistration(name));
    const body = {
      apiVersion: "tmc.kcp.io/v1alpha1",
      kind: "ClusterRegistration",
      metadata: { name },
      status: {
        conditions: [
          {
            type: "Ready",
            status: "True",
            reason: "ClusterReady",
            message: "",
            lastTransitionTime: "2026-01-01T00:00:00Z",
          },
        ],
      },
    };
    const next = await inOne.patch<KubeObject & { status: object }>(
      { type: registrations, name },
      { type: "apply", body },
      { fieldManager: "tmc", subresource: "status" },
    );
    expect(next.status).toMatchObject({ conditions: [{ type: "Ready", status: "True" }] });
    expect(next.metadata.managedFields?.find((entry) => entry.manager === "tmc")).toMatchObject({
      subresource: "status",
    });
  });

  it("refuses a status write from an older resourceVersion", async () => {
    const name = unique("stale");
    await one.client.create({ type: registrations }, aRegistration(name));
    const call = inOne.patch(
      { type: registrations, name },
      { type: "merge", body: { metadata: { resourceVersion: "1" }, status: { conditions: [] } } },
      { subresource: "status" },
    );
    expect(await refusal(call)).toMatchObject({ status: 409, reason: "Conflict" });
  });

  it("does not serve a tenant by its path", async () => {
    const { status } = await here.server.admin.raw(
      "GET",
      `${provider.view}/clusters/${one.path}/apis/tmc.kcp.io/v1alpha1/clusterregistrations`,
    );
    expect(status).toBe(403);
  });

  it("answers 404 without a logical cluster", async () => {
    const { status } = await here.server.admin.raw(
      "GET",
      `${provider.view}/apis/tmc.kcp.io/v1alpha1/clusterregistrations`,
    );
    expect(status).toBe(403);
  });

  it("refuses writes to all tenants at once", async () => {
    const { status } = await all.raw("POST", "/apis/tmc.kcp.io/v1alpha1/clusterregistrations", {
      body: JSON.stringify(aRegistration("x")),
      contentType: "application/json",
    });
    expect(status).toBe(404);
  });

  it("refuses to read one object of all tenants", async () => {
    const { status } = await all.raw("GET", "/apis/tmc.kcp.io/v1alpha1/clusterregistrations/x");
    expect(status).toBe(404);
  });

  it("refuses to list one namespace of all tenants", async () => {
    const { status, text } = await all.raw("GET", "/apis/apps/v1/namespaces/default/deployments");
    expect(status).toBe(400);
    expect(text).toContain("cross-cluster LIST and WATCH are required to be cross-namespace");
  });

  it("refuses a workspace that has not bound the export", async () => {
    const cluster = await ensureWorkspace(here.server.admin, `root:${unique("unbound")}`);
    const call = here.server.admin.at(`${provider.view}/clusters/${cluster}`).list({ type: registrations });
    const failure = await refusal(call);
    expect(failure).toMatchObject({ status: 403, reason: "Forbidden" });
  });

  it("fails for a missing export before authentication", async () => {
    const path = `${provider.view.replace(/[^/]+$/, "nothing.example.dev")}/clusters/${one.cluster}`;
    const token = await tokenOfNewAccount(provider.client, "default", unique("nobody"));
    const nobody = here.server.clientAs({ token: async () => token, certificate: undefined, key: undefined });
    for (const client of [here.server.admin, nobody]) {
      const failure = await failureOf(client.at(path).list({ type: registrations }));
      expect(failure.status).toBe(500);
      expect(failure.message).toContain("API export not found");
    }
    await nobody.close();
  });

  it("shows the bindings: they are the list of tenants", async () => {
    await eventually(async () => {
      const { items } = await all.list({ type: apiBindings });
      const clusters = items.map((item) => item.metadata.annotations?.["kcp.io/cluster"]);
      return clusters.includes(one.cluster) && clusters.includes(two.cluster)
        ? undefined
        : `bindings in ${clusters.join(", ")}`;
    });
  });

  it("does not let the provider write bindings", async () => {
    const failure = await refusal(
      inOne.patch(
        { type: apiBindings, name: "tmc-binding" },
        { type: "merge", body: { metadata: { labels: { a: "b" } } } },
      ),
    );
    expect([403, 405]).toContain(failure.status);
  });

  it("shows claimed types of tenants that accepted the claim", async () => {
    const name = unique("claimed");
    await one.client.create({ type: configMaps, namespace: "default" }, aConfigMap(name));
    await eventuallyOk(() => inOne.get({ type: configMaps, namespace: "default", name }), 30_000);
    await eventually(async () => {
      const { items } = await all.listAll({ type: configMaps });
      return items.some((item) => item.metadata.name === name) ? undefined : "not in the list of all tenants";
    }, 30_000);
  });

  it("refuses verbs that the claim does not have", async () => {
    const failure = await refusal(
      inOne.create(
        { type: secrets, namespace: "default" },
        { apiVersion: "v1", kind: "Secret", metadata: { name: unique("s") } },
      ),
    );
    expect(failure).toMatchObject({ status: 403, reason: "Forbidden" });
  });

  it("takes verbs that the claim has", async () => {
    const name = unique("event");
    await eventuallyOk(() =>
      inOne.create(
        { type: events, namespace: "default" },
        {
          apiVersion: "v1",
          kind: "Event",
          metadata: { name, namespace: "default" },
          involvedObject: { apiVersion: "v1", kind: "ConfigMap", name: "x", namespace: "default" },
          reason: "Tried",
          message: "tried",
          type: "Normal",
        },
      ),
    );
    await one.client.get({ type: events, namespace: "default", name });
  });

  it("does not serve types that are neither exported nor claimed", async () => {
    const { status } = await inOne.raw("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles");
    expect([403, 404]).toContain(status);
  });

  it("serves no scale", async () => {
    const name = unique("web");
    await one.client.create(
      { type: deployments, namespace: "default" },
      {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name },
        spec: { replicas: 1, selector: {}, template: {} },
      },
    );
    await eventuallyOk(() => inOne.get({ type: deployments, namespace: "default", name }));
    const { status } = await inOne.raw("GET", `/apis/apps/v1/namespaces/default/deployments/${name}/scale`);
    expect(status).toBe(404);
  });

  it("serves discovery of what it offers", async () => {
    const { text, status } = await all.raw("GET", "/apis/tmc.kcp.io/v1alpha1");
    expect(status).toBe(200);
    const names = JSON.parse(text).resources.map((resource: { name: string }) => resource.name);
    expect(names).toEqual(expect.arrayContaining(["clusterregistrations", "clusterregistrations/status"]));
  });

  it("does not answer its version below the view", async () => {
    const { status } = await here.server.admin.raw("GET", `${provider.view}/version`);
    expect(status).toBe(403);
  });

  it("gives the relay's identity reading and nothing else", async () => {
    const { client, cluster } = provider;
    const name = unique("relay");
    const content = { apiGroups: ["apis.kcp.io"], resources: ["apiexports/content"], resourceNames: [exportName] };
    const token = await tokenOfNewAccount(client, "default", name);
    await client.create({ type: rbac("clusterroles") }, aClusterRole(name, [{ ...content, verbs: ["list", "watch"] }]));
    await client.create(
      { type: rbac("clusterrolebindings") },
      aClusterRoleBinding(name, { name, namespace: "default" }),
    );
    const relay = here.server.clientAs({ token: async () => token, certificate: undefined, key: undefined });
    const view = relay.at(`${provider.view}/clusters/*`);
    await eventuallyOk(() => view.list({ type: registrations }), 30_000);
    const object = unique("guarded");
    await one.client.create({ type: registrations }, aRegistration(object));
    const inside = relay.at(`${provider.view}/clusters/${one.cluster}`);
    expect(await refusal(inside.get({ type: registrations, name: object }))).toMatchObject({ status: 403 });
    expect(
      await refusal(
        inside.patch({ type: registrations, name: object }, { type: "merge", body: { spec: { location: "x" } } }),
      ),
    ).toMatchObject({ status: 403 });
    expect(await refusal(inside.delete({ type: registrations, name: object }))).toMatchObject({ status: 403 });
    const direct = await failure404or403(relay.at(`/clusters/${one.cluster}`));
    expect([401, 403, 404]).toContain(direct);
    const home = await refusal(relay.at(`/clusters/${cluster}`).list({ type: configMaps, namespace: "default" }));
    expect(home).toMatchObject({ status: 403 });
    await relay.close();
  }, 60_000);
}

async function failure404or403(client: KubeClient): Promise<number> {
  const { status } = await client.raw("GET", "/api/v1/namespaces/default/configmaps");
  return status;
}
