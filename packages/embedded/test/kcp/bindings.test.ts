import { valueAt } from "@tmc/kube/json.ts";
import { beforeEach, describe, expect, it } from "vitest";
import {
  aBinding,
  anExport,
  aResource,
  aSchema,
  aWidget,
  bindingsPath,
  configMapClaim,
  exportedWidgets,
  exportsPath,
  kcpForEachTest,
  merge,
  schemasPath,
  slicesPath,
} from "./support.ts";

const test = kcpForEachTest();

const provider = "/clusters/root:provider";
const consumer = "/clusters/root:consumer";
const widgets = `${consumer}/apis/example.dev/v1/namespaces/default/widgets`;

describe("APIResourceSchemas", () => {
  beforeEach(() => test.kcp.createWorkspace("root:provider"));
  const refused: Record<string, { schema: object; says: string }> = {
    "a name that does not end in its type": {
      schema: aSchema("widgets.example.dev"),
      says: 'metadata.name: Invalid value: "widgets.example.dev": must end in .widgets.example.dev',
    },
    "a name that begins with a digit": {
      schema: aSchema("1.widgets.example.dev"),
      says: 'metadata.name: Invalid value: "1.widgets.example.dev": must match ^[a-z]([-a-z0-9]*[a-z0-9])?$ in front of .widgets.example.dev',
    },
    "a group of one word": {
      schema: aSchema("v1.widgets.example", { group: "example" }),
      says: 'spec.group: Invalid value: "example": should be a domain with at least one dot',
    },
    "a group of Kubernetes without approval": {
      schema: aSchema("v1.ingresses.networking.k8s.io", {
        group: "networking.k8s.io",
        plural: "ingresses",
        kind: "Ingress",
      }),
      says: 'metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111',
    },
  };
  for (const [rule, { schema, says }] of Object.entries(refused)) {
    it(`are rejected with ${rule}`, async () => {
      const name = valueAt(schema, "metadata", "name");
      expect(await test.call("POST", provider + schemasPath, schema)).toMatchObject({
        status: 403,
        message: `apiresourceschemas.apis.kcp.io "${String(name)}" is forbidden: [${says}]`,
      });
    });
  }

  it("are immutable", async () => {
    await test.call("POST", provider + schemasPath, aSchema("v1.widgets.example.dev"));
    const path = `${provider}${schemasPath}/v1.widgets.example.dev`;
    const { status, message } = await test.call("PATCH", path, { spec: { scope: "Cluster" } }, { type: merge });
    expect(status).toBe(403);
    expect(message).toMatch(
      /^apiresourceschemas\.apis\.kcp\.io "v1\.widgets\.example\.dev" is forbidden: \[spec: Invalid value: \{"group":"example\.dev","names":\{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"\},"scope":"Cluster",.*: is immutable\]$/,
    );
  });
});

describe("APIExports", () => {
  beforeEach(() => test.kcp.createWorkspace("root:provider"));

  it("get an identity, kept in a secret, and an endpoint slice without endpoints", async () => {
    await test.call("POST", provider + exportsPath, anExport("example.dev", {}));
    const hash = await test.read(`${provider}${exportsPath}/example.dev`, "status", "identityHash");
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
    expect((await test.call("GET", `${provider}/api/v1/namespaces/kcp-system/secrets/example.dev`)).status).toBe(200);
    expect(await test.read(`${provider}${slicesPath}/example.dev`)).toMatchObject({
      spec: { export: { name: "example.dev", path: "root:provider" } },
      status: {
        conditions: [
          { type: "APIExportValid", status: "True" },
          { type: "PartitionValid", status: "True" },
        ],
      },
    });
    expect(await test.read(`${provider}${slicesPath}/example.dev`, "status", "endpoints")).toBeUndefined();
  });

  it("get no endpoint slice if they opt out of it", async () => {
    const given = anExport("example.dev", {});
    const annotations = { "apiexports.apis.kcp.io/skip-endpointslice": "true" };
    await test.call("POST", provider + exportsPath, { ...given, metadata: { ...given.metadata, annotations } });
    expect((await test.call("GET", `${provider}${slicesPath}/example.dev`)).status).toBe(404);
  });

  it("are rejected if they claim types of another export without its identity", async () => {
    const claims = [{ group: "other.dev", resource: "things", verbs: ["*"] }];
    expect(await test.call("POST", provider + exportsPath, anExport("x", { permissionClaims: claims }))).toMatchObject({
      status: 403,
      message:
        'apiexports.apis.kcp.io "x" is forbidden: spec.permissionClaims[0].identityHash: Invalid value: "": identityHash is required for API types that are not built-in',
    });
  });

  it("let only kcp write their status", async () => {
    await test.call("POST", provider + exportsPath, anExport("x", {}));
    const path = `${provider}${exportsPath}/x/status`;
    expect((await test.call("PATCH", path, { status: { identityHash: "y" } }, { type: merge })).status).toBe(403);
  });
});

describe("APIBindings", () => {
  it("serve the export's types in the workspace, with defaults and pruning", async () => {
    await exportedWidgets(test);
    const created = await test.call("POST", widgets, aWidget("a", { size: 1, junk: true }));
    expect(created).toMatchObject({ status: 201, body: { spec: { size: 1, color: "red" } } });
    expect(valueAt(created.body, "spec", "junk")).toBeUndefined();
    expect((await test.call("GET", `${provider}/apis/example.dev/v1/widgets`)).status).toBe(404);
  });

  it("report the bound resources", async () => {
    const { provider: cluster } = await exportedWidgets(test);
    const identityHash = await test.read(`${provider}${exportsPath}/example.dev`, "status", "identityHash");
    expect(await test.read(`${consumer}${bindingsPath}/widgets`)).toMatchObject({
      metadata: { finalizers: ["apis.kcp.io/apibinding-finalizer"], annotations: { "kcp.io/path": "root:consumer" } },
      status: {
        phase: "Bound",
        apiExportClusterName: cluster,
        boundResources: [
          {
            group: "example.dev",
            resource: "widgets",
            schema: { name: "v1.widgets.example.dev", identityHash },
            storageVersions: ["v1"],
          },
        ],
        conditions: [
          { type: "Ready", status: "True" },
          { type: "APIExportValid", status: "True" },
          { type: "BindingUpToDate", status: "True" },
          { type: "InitialBindingCompleted", status: "True" },
          { type: "PermissionClaimsApplied", status: "True" },
          { type: "PermissionClaimsValid", status: "True" },
        ],
      },
    });
  });

  it("keep the export's virtual workspace published until the last of them is deleted", async () => {
    const { service } = await exportedWidgets(test);
    const endpoints = () => test.read(`${provider}${slicesPath}/example.dev`, "status", "endpoints");
    expect(await endpoints()).toEqual([{ url: test.kcp.url + service }]);
    await test.call("DELETE", `${consumer}${bindingsPath}/widgets`);
    expect(await endpoints()).toBeUndefined();
  });

  it("work in their v1alpha1 form", async () => {
    await exportedWidgets(test);
    test.kcp.createWorkspace("root:old");
    const created = await test.call("POST", "/clusters/root:old/apis/apis.kcp.io/v1alpha1/apibindings", {
      apiVersion: "apis.kcp.io/v1alpha1",
      kind: "APIBinding",
      metadata: { name: "old" },
      spec: { reference: { export: { path: "root:provider", name: "example.dev" } } },
    });
    expect(created).toMatchObject({ status: 201, body: { apiVersion: "apis.kcp.io/v1alpha1" } });
    expect(await test.read(`/clusters/root:old${bindingsPath}/old`, "status", "phase")).toBe("Bound");
  });

  it("are rejected with the same message for a missing and for a forbidden export", async () => {
    test.kcp.createWorkspace("root:provider");
    test.kcp.createWorkspace("root:consumer");
    const says = (path: string, name: string) =>
      `apibindings.apis.kcp.io "x" is forbidden: unable to create APIBinding: no permission to bind to export ${path}:${name}`;
    for (const path of ["root:provider", "root:nowhere"]) {
      expect(await test.call("POST", consumer + bindingsPath, aBinding("x", path, "nope"))).toMatchObject({
        status: 403,
        message: says(path, "nope"),
      });
    }
  });

  it("to a missing export of the root wait, and name it in a condition", async () => {
    test.kcp.createWorkspace("root:consumer");
    expect((await test.call("POST", consumer + bindingsPath, aBinding("x", "root", "later.dev"))).status).toBe(201);
    expect(await test.read(`${consumer}${bindingsPath}/x`, "status")).toMatchObject({
      phase: "Binding",
      conditions: [
        { type: "Ready", status: "False", reason: "WaitingForEstablished", severity: "Info" },
        {
          type: "APIExportValid",
          status: "False",
          reason: "APIExportNotFound",
          severity: "Error",
          message: "APIExport root|later.dev not found",
        },
        { type: "InitialBindingCompleted", status: "False" },
      ],
    });
    await test.call("POST", `/clusters/root${exportsPath}`, anExport("later.dev", {}));
    expect(await test.read(`${consumer}${bindingsPath}/x`, "status", "phase")).toBe("Bound");
  });

  it("of a type that another binding has wait until it is free", async () => {
    await exportedWidgets(test);
    await test.call("POST", consumer + bindingsPath, aBinding("second", "root:provider", "example.dev"));
    expect(await test.read(`${consumer}${bindingsPath}/second`, "status")).toMatchObject({
      phase: "Binding",
      conditions: expect.arrayContaining([
        expect.objectContaining({
          type: "BindingUpToDate",
          reason: "NamingConflicts",
          message:
            "Unable to bind APIs because they are bound by other APIBindings or CRDs: map[widgets.example.dev:{widgets false}]",
        }),
      ]),
    });
    await test.call("DELETE", `${consumer}${bindingsPath}/widgets`);
    expect(await test.read(`${consumer}${bindingsPath}/second`, "status", "phase")).toBe("Bound");
  });

  it("separate two exports' types of the same name by identity", async () => {
    await exportedWidgets(test);
    await test.call("POST", widgets, aWidget("a"));
    await test.call(
      "POST",
      provider + exportsPath,
      anExport("other.dev", { resources: [aResource("v1.widgets.example.dev")] }),
    );
    test.kcp.createWorkspace("root:else");
    await test.call("POST", `/clusters/root:else${bindingsPath}`, aBinding("w", "root:provider", "other.dev"));
    expect(await test.read("/clusters/root:else/apis/example.dev/v1/widgets", "items")).toEqual([]);
  });

  it("follow the export to another schema", async () => {
    await exportedWidgets(test);
    await test.call("POST", widgets, aWidget("a", { weight: 1 }));
    const next = aSchema("v2.widgets.example.dev", { properties: { weight: { type: "integer" } } });
    await test.call("POST", provider + schemasPath, next);
    const spec = { resources: [aResource("v2.widgets.example.dev")] };
    await test.call("PATCH", `${provider}${exportsPath}/example.dev`, { spec }, { type: merge });
    const changed = await test.call("PATCH", `${widgets}/a`, { spec: { weight: 2 } }, { type: merge });
    expect(valueAt(changed.body, "spec")).toEqual({ color: "red", weight: 2 });
    const bound = await test.read(`${consumer}${bindingsPath}/widgets`, "status", "boundResources");
    expect(bound).toMatchObject([{ schema: { name: "v2.widgets.example.dev" } }]);
  });

  it("are deleted with the objects of their types, after the finalizers of these", async () => {
    await exportedWidgets(test);
    const held = aWidget("a");
    await test.call("POST", widgets, { ...held, metadata: { ...held.metadata, finalizers: ["example.dev/hold"] } });
    await test.call("DELETE", `${consumer}${bindingsPath}/widgets`);
    expect(await test.read(`${consumer}${bindingsPath}/widgets`, "status", "conditions")).toContainEqual(
      expect.objectContaining({
        type: "BindingResourceDeleteSuccess",
        reason: "SomeFinalizersRemain",
        message: "Some content in the workspace has finalizers remaining: example.dev/hold in 1 resource instances",
      }),
    );
    await test.call("PATCH", `${widgets}/a`, { metadata: { finalizers: null } }, { type: merge });
    expect((await test.call("GET", `${consumer}${bindingsPath}/widgets`)).status).toBe(404);
    expect((await test.call("GET", `${consumer}/apis/example.dev/v1/widgets`)).status).toBe(404);
  });

  const claims: Record<string, { claim: object; says: string }> = {
    "no selector": {
      claim: { ...configMapClaim, state: "Accepted" },
      says: "spec.permissionClaims[0].selector: Required value: either one of matchAll, matchLabels, or matchExpressions must be set",
    },
    "two selectors": {
      claim: { ...configMapClaim, state: "Accepted", selector: { matchAll: true, matchLabels: { a: "b" } } },
      says: 'spec.permissionClaims[0].selector.matchLabels: Invalid value: {"matchLabels":{"a":"b"},"matchAll":true}: matchLabels cannot be used with matchAll',
    },
  };
  for (const [rule, { claim, says }] of Object.entries(claims)) {
    it(`are rejected with a claim of ${rule}`, async () => {
      await exportedWidgets(test);
      const binding = aBinding("x", "root:provider", "example.dev", [claim]);
      expect(await test.call("POST", consumer + bindingsPath, binding)).toMatchObject({
        status: 403,
        message: `apibindings.apis.kcp.io "x" is forbidden: [${says}]`,
      });
    });
  }

  it("cannot be changed to another export", async () => {
    await exportedWidgets(test);
    const spec = { reference: { export: { path: "root", name: "tenancy.kcp.io" } } };
    expect(await test.call("PATCH", `${consumer}${bindingsPath}/widgets`, { spec }, { type: merge })).toMatchObject({
      status: 422,
      message:
        'APIBinding.apis.kcp.io "widgets" is invalid: spec.reference: Invalid value: APIExport reference must not be changed',
    });
  });
});

describe("exported types of groups that client-go knows", () => {
  it("accept strategic merge patches, and types of other groups do not", async () => {
    test.kcp.createWorkspace("root:provider");
    test.kcp.createWorkspace("root:consumer");
    const schema = aSchema("v1.deployments.apps", { group: "apps", plural: "deployments", kind: "Deployment" });
    await test.call("POST", provider + schemasPath, schema);
    await test.call("POST", provider + schemasPath, aSchema("v1.widgets.example.dev"));
    const resources = [aResource("v1.deployments.apps", "deployments", "apps"), aResource("v1.widgets.example.dev")];
    await test.call("POST", provider + exportsPath, anExport("work", { resources }));
    await test.call("POST", consumer + bindingsPath, aBinding("work", "root:provider", "work"));
    const deployments = `${consumer}/apis/apps/v1/namespaces/default/deployments`;
    await test.call("POST", deployments, {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "a" },
      spec: { size: 1 },
    });
    await test.call("POST", widgets, aWidget("a"));
    const type = "application/strategic-merge-patch+json";
    expect((await test.call("PATCH", `${deployments}/a`, { spec: { size: 2 } }, { type })).body).toMatchObject({
      spec: { size: 2 },
    });
    expect((await test.call("PATCH", `${widgets}/a`, { spec: { size: 2 } }, { type })).status).toBe(415);
  });
});
