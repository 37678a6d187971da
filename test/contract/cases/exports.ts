import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { beforeAll, expect, it } from "vitest";
import { apiBinding, apiExport } from "../../../lib/api/api-export.ts";
import { exportName } from "../../../lib/api/group.ts";
import { offeredKinds } from "../../../lib/api/kinds.ts";
import { apiResourceSchema } from "../../../lib/api/resource-schema.ts";
import { bindExport, installExport } from "../../../lib/install/bind.ts";
import { ensureWorkspace } from "../../../lib/install/workspaces.ts";
import {
  type ApiBinding,
  type ApiExport,
  apiBindings,
  apiExports,
  apiResourceSchemas,
} from "../../../lib/upstream/kcp-types.ts";
import {
  aRegistration,
  aTenant,
  type EndpointSlice,
  endpointSlices,
  type Provider,
  providerOf,
  registrations,
  type Tenant,
} from "../provider.ts";
import { deployments, eventually, eventuallyGone, eventuallyOk, refusal, unique } from "../resources.ts";
import type { MakeRoom, Room } from "../server-under-test.ts";

const placements = { group: "tmc.kcp.io", version: "v1alpha1", plural: "workloadplacements" };

type Bound = ApiBinding & {
  metadata: { finalizers?: string[] };
  status: {
    boundResources?: { group: string; resource: string; schema: { name: string; identityHash: string } }[];
    apiExportClusterName?: string;
  };
};
type Deployment = KubeObject & { spec: { replicas?: number; template: { spec: { containers: object[] } } } };

const aDeployment = (name: string): object => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name, labels: { app: name } },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: {
        containers: [
          { name: "web", image: "nginx:1", ports: [{ containerPort: 80 }], env: [{ name: "A", value: "1" }] },
          { name: "side", image: "busybox:1" },
        ],
      },
    },
  },
});

export function exportCases(room: MakeRoom): void {
  let here: Room;
  let provider: Provider;
  let tenant: Tenant;
  beforeAll(async () => {
    here = await room();
    provider = await providerOf(here.server);
    tenant = provider.tenants[0];
  }, 120_000);

  it("gives an export an identity of its own", async () => {
    const { status } = await provider.client.get<ApiExport>({ type: apiExports, name: exportName });
    expect(status?.identityHash).toMatch(/^[0-9a-f]{64}$/);
    expect(status?.conditions).toContainEqual(expect.objectContaining({ type: "IdentityValid", status: "True" }));
  });

  it("shows an export in both of its versions", async () => {
    const old = await provider.client.get<KubeObject & { spec: { latestResourceSchemas: string[] } }>({
      type: { ...apiExports, version: "v1alpha1" },
      name: exportName,
    });
    expect(old.apiVersion).toBe("apis.kcp.io/v1alpha1");
    expect(old.spec.latestResourceSchemas.toSorted()).toEqual(
      offeredKinds.map((kind) => apiResourceSchema(kind).metadata.name).toSorted(),
    );
  });

  it("changes nothing when the export is installed again", async () => {
    const before = await provider.client.get({ type: apiExports, name: exportName });
    await installExport(provider.client);
    const after = await provider.client.get({ type: apiExports, name: exportName });
    expect(after.metadata.resourceVersion).toBe(before.metadata.resourceVersion);
  });

  it("publishes an endpoint once somebody has bound it", async () => {
    const slice = await provider.client.get<EndpointSlice>({ type: endpointSlices, name: exportName });
    expect(slice.status?.endpoints?.map(({ url }) => new URL(url).pathname)).toEqual([
      `/services/apiexport/${provider.cluster}/${exportName}`,
    ]);
  });

  it("publishes no endpoint before anybody has bound it", async () => {
    const cluster = await ensureWorkspace(here.server.admin, `root:${unique("lonely")}`);
    const client = here.server.admin.at(`/clusters/${cluster}`);
    await installExport(client);
    await eventuallyOk(() => client.get({ type: endpointSlices, name: exportName }));
    const slice = await client.get<EndpointSlice>({ type: endpointSlices, name: exportName });
    expect(slice.status?.endpoints ?? []).toEqual([]);
  }, 60_000);

  it("reports what a binding has bound", async () => {
    const binding = await tenant.client.get<Bound>({ type: apiBindings, name: "tmc-binding" });
    expect(binding.status.phase).toBe("Bound");
    expect(binding.status.apiExportClusterName).toBe(provider.cluster);
    const { status } = await provider.client.get<ApiExport>({ type: apiExports, name: exportName });
    const bound = binding.status.boundResources ?? [];
    expect(bound.map(({ group, resource }) => `${resource}.${group}`).toSorted()).toEqual(
      offeredKinds.map(({ group, plural }) => `${plural}.${group}`).toSorted(),
    );
    expect(new Set(bound.map(({ schema }) => schema.identityHash))).toEqual(new Set([status?.identityHash]));
    expect(binding.metadata.finalizers).toEqual(["apis.kcp.io/apibinding-finalizer"]);
    expect(binding.status.conditions).toContainEqual(expect.objectContaining({ type: "Ready", status: "True" }));
  });

  it("serves the bound types in the tenant's workspace", async () => {
    const { text } = await tenant.client.raw("GET", "/apis/tmc.kcp.io/v1alpha1");
    const names = JSON.parse(text).resources.map((resource: { name: string }) => resource.name);
    expect(names).toEqual(
      expect.arrayContaining([
        "clusterregistrations",
        "clusterregistrations/status",
        "workloadplacements",
        "workloadsyncs",
      ]),
    );
  });

  it("validates and defaults a bound type", async () => {
    expect(await refusal(tenant.client.create({ type: registrations }, aRegistration("bad", {})))).toEqual({
      status: 422,
      reason: "Invalid",
      message: 'ClusterRegistration.tmc.kcp.io "bad" is invalid: spec.location: Required value',
    });
    const call = tenant.client.create(
      { type: placements },
      {
        apiVersion: "tmc.kcp.io/v1alpha1",
        kind: "WorkloadPlacement",
        metadata: { name: "bad" },
        spec: { strategy: "Wrong" },
      },
    );
    const failure = await refusal(call);
    expect(failure.message).toContain('spec.strategy: Unsupported value: "Wrong": supported values: ');
  });

  it("stamps a bound object with its logical cluster", async () => {
    const name = unique("east");
    const made = await tenant.client.create({ type: registrations }, aRegistration(name));
    expect(made.metadata.annotations?.["kcp.io/cluster"]).toBe(tenant.cluster);
    expect(made.metadata.generation).toBe(1);
  });

  it("keeps the whole of an exported built-in type", async () => {
    const made = await tenant.client.create<Deployment>(
      { type: deployments, namespace: "default" },
      aDeployment(unique("web")),
    );
    expect(made.spec.template.spec.containers).toEqual([
      { name: "web", image: "nginx:1", ports: [{ containerPort: 80 }], env: [{ name: "A", value: "1" }] },
      { name: "side", image: "busybox:1" },
    ]);
  });

  it("refuses a strategic patch of a pod template instead of losing what it does not name", async () => {
    const name = unique("web");
    const made = await tenant.client.create<Deployment>({ type: deployments, namespace: "default" }, aDeployment(name));
    const patch = { spec: { template: { spec: { containers: [{ name: "web", image: "nginx:2" }] } } } };
    const failure = await refusal(
      tenant.client.patch({ type: deployments, namespace: "default", name }, { type: "strategic", body: patch }),
    );
    expect(failure.message).toContain("unable to find api field");
    const after = await tenant.client.get<Deployment>({ type: deployments, namespace: "default", name });
    expect(after.spec).toEqual(made.spec);
  });

  it("takes a strategic patch of a described scalar", async () => {
    const name = unique("web");
    const made = await tenant.client.create<Deployment>({ type: deployments, namespace: "default" }, aDeployment(name));
    const next = await tenant.client.patch<Deployment>(
      { type: deployments, namespace: "default", name },
      { type: "strategic", body: { spec: { replicas: 5 } } },
    );
    expect(next.spec).toEqual({ ...made.spec, replicas: 5 });
  });

  it("takes a strategic patch of labels and annotations", async () => {
    const name = unique("web");
    await tenant.client.create({ type: deployments, namespace: "default" }, aDeployment(name));
    const next = await tenant.client.patch(
      { type: deployments, namespace: "default", name },
      { type: "strategic", body: { metadata: { labels: { extra: "1" }, annotations: { note: "x" } } } },
    );
    expect(next.metadata.labels).toEqual({ app: name, extra: "1" });
  });

  it("refuses a strategic patch of our own kinds", async () => {
    const name = unique("east");
    await tenant.client.create({ type: registrations }, aRegistration(name));
    const failure = await refusal(
      tenant.client.patch({ type: registrations, name }, { type: "strategic", body: { spec: { location: "x" } } }),
    );
    expect(failure).toMatchObject({ status: 415, reason: "UnsupportedMediaType" });
  });

  it("applies an exported built-in type server-side without losing anything", async () => {
    const name = unique("web");
    const address = { type: deployments, namespace: "default", name };
    await tenant.client.patch(address, { type: "apply", body: aDeployment(name) }, { fieldManager: "me" });
    const changed = JSON.parse(JSON.stringify(aDeployment(name)));
    changed.spec.template.spec.containers[0].image = "nginx:2";
    const next = await tenant.client.patch<Deployment>(
      address,
      { type: "apply", body: changed },
      { fieldManager: "me" },
    );
    expect(next.spec).toEqual(changed.spec);
  });

  it("scales an exported built-in type", async () => {
    const name = unique("web");
    const address = { type: deployments, namespace: "default", name };
    await tenant.client.create({ type: deployments, namespace: "default" }, aDeployment(name));
    await tenant.client.patch(address, { type: "merge", body: { spec: { replicas: 7 } } }, { subresource: "scale" });
    expect((await tenant.client.get<Deployment>(address)).spec.replicas).toBe(7);
  });

  it("binds the text of the older version", async () => {
    const cluster = await ensureWorkspace(here.server.admin, `root:${unique("old")}`);
    const client = here.server.admin.at(`/clusters/${cluster}`);
    const binding = {
      apiVersion: "apis.kcp.io/v1alpha1",
      kind: "APIBinding",
      metadata: { name: "tmc-binding" },
      spec: { reference: { export: { path: provider.path, name: exportName } } },
    };
    await eventuallyOk(() => client.create({ type: { ...apiBindings, version: "v1alpha1" } }, binding), 30_000);
    await eventually(async () => {
      const { status } = await client.get<ApiBinding>({ type: apiBindings, name: "tmc-binding" });
      return status?.phase === "Bound" ? undefined : `phase ${status?.phase}`;
    }, 30_000);
    await eventuallyOk(() => client.list({ type: registrations }));
  }, 60_000);

  it("says so when the export of a binding is not there", async () => {
    const cluster = await ensureWorkspace(here.server.admin, `root:${unique("lost")}`);
    const client = here.server.admin.at(`/clusters/${cluster}`);
    const binding = { ...apiBinding({ path: provider.path }), metadata: { name: "lost" } };
    binding.spec.reference.export.name = "no-such-export";
    const failure = await refusal(client.create({ type: apiBindings }, binding));
    expect(failure).toMatchObject({ status: 403, reason: "Forbidden" });
    expect(failure.message).toContain("no permission to bind to export");
  });

  it("refuses a change of a binding's reference", async () => {
    const failure = await refusal(
      tenant.client.patch(
        { type: apiBindings, name: "tmc-binding" },
        { type: "merge", body: { spec: { reference: { export: { name: "other" } } } } },
      ),
    );
    expect(failure).toMatchObject({ status: 403, reason: "Forbidden" });
    expect(failure.message).toContain("unable to update APIBinding: no permission to bind to export");
  });

  it("deletes the bound objects with their binding", async () => {
    const other = await aTenant(here.server, provider.path);
    await other.client.create({ type: registrations }, aRegistration("east"));
    await other.client.delete({ type: apiBindings, name: "tmc-binding" });
    await eventuallyGone(other.client, { type: apiBindings, name: "tmc-binding" }, 60_000);
    await eventually(async () => {
      const { status } = await other.client.raw("GET", "/apis/tmc.kcp.io/v1alpha1/clusterregistrations");
      return status === 404 ? undefined : `the type still answers ${status}`;
    }, 30_000);
  }, 120_000);

  const schemaOf = (
    change: (schema: { metadata: { name: string }; spec: Record<string, unknown> }) => void,
  ): object => {
    const schema = JSON.parse(JSON.stringify(apiResourceSchema(offeredKinds[0] ?? fail())));
    change(schema);
    return schema;
  };

  it("refuses a schema whose name does not end in its plural and group", async () => {
    const failure = await refusal(
      provider.client.create(
        { type: apiResourceSchemas },
        schemaOf((schema) => {
          schema.metadata.name = "v1.things.tmc.kcp.io";
        }),
      ),
    );
    expect(failure).toEqual({
      status: 403,
      reason: "Forbidden",
      message:
        'apiresourceschemas.apis.kcp.io "v1.things.tmc.kcp.io" is forbidden: [metadata.name: Invalid value: "v1.things.tmc.kcp.io": must end in .clusterregistrations.tmc.kcp.io]',
    });
  });

  it("refuses a schema whose name begins with a digit", async () => {
    const failure = await refusal(
      provider.client.create(
        { type: apiResourceSchemas },
        schemaOf((schema) => {
          schema.metadata.name = "1v.clusterregistrations.tmc.kcp.io";
        }),
      ),
    );
    expect(failure).toMatchObject({ status: 403, reason: "Forbidden" });
    expect(failure.message).toContain(
      "must match ^[a-z]([-a-z0-9]*[a-z0-9])?$ in front of .clusterregistrations.tmc.kcp.io",
    );
  });

  it("refuses a change of a schema", async () => {
    const kind = offeredKinds[0] ?? fail();
    const name = apiResourceSchema(kind).metadata.name;
    const failure = await refusal(
      provider.client.patch(
        { type: apiResourceSchemas, name },
        { type: "merge", body: { spec: { scope: "Namespaced" } } },
      ),
    );
    expect(failure).toMatchObject({ status: 403, reason: "Forbidden" });
    expect(failure.message).toContain("spec: Invalid value");
    expect(failure.message).toContain("is immutable");
  });

  it("rolls a changed schema out to tenants that are bound already", async () => {
    const path = `root:${unique("rolling")}`;
    const cluster = await ensureWorkspace(here.server.admin, path);
    const client = here.server.admin.at(`/clusters/${cluster}`);
    await installExport(client);
    const user = await aTenant(here.server, path);
    await user.client.create({ type: registrations }, aRegistration("old"));
    const next = schemaOf((schema) => {
      schema.metadata.name = "vnext.clusterregistrations.tmc.kcp.io";
      const text = JSON.stringify(schema.spec).replace('"location":{', '"brandNew":{"type":"string"},"location":{');
      schema.spec = JSON.parse(text);
    });
    await client.create({ type: apiResourceSchemas }, next);
    const wanted = JSON.parse(JSON.stringify(apiExport(offeredKinds)));
    for (const resource of wanted.spec.resources) {
      if (resource.name === "clusterregistrations") resource.schema = "vnext.clusterregistrations.tmc.kcp.io";
    }
    await client.patch(
      { type: apiExports, name: exportName },
      { type: "apply", body: wanted, force: true },
      { fieldManager: "tmc" },
    );
    await eventually(async () => {
      const made = await user.client.create<KubeObject & { spec: Record<string, unknown> }>(
        { type: registrations },
        aRegistration(unique("probe"), { location: "x", brandNew: "yes" }),
      );
      return made.spec.brandNew === "yes" ? undefined : "the new field is still dropped";
    }, 60_000);
    await user.client.get({ type: registrations, name: "old" });
  }, 120_000);

  it("may be bound again where it is bound already without a change", async () => {
    const before = await tenant.client.get({ type: apiBindings, name: "tmc-binding" });
    await bindExport(tenant.client, provider.path);
    const after = await tenant.client.get({ type: apiBindings, name: "tmc-binding" });
    expect(after.metadata.resourceVersion).toBe(before.metadata.resourceVersion);
  });
}

function fail(): never {
  throw new Error("no kinds are offered");
}
