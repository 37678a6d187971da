import { valueAt } from "@tmc/kube/json.ts";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { type EmbeddedKcp, type EmbeddedKcpOptions, startEmbeddedKcp } from "../../src/kcp/embedded-kcp.ts";

export type Answer = Readonly<{ status: number; body: unknown; message: string }>;
export type CallOptions = Readonly<{ token?: string; type?: string }>;

export const merge = "application/merge-patch+json";

/** An embedded kcp with helpers. Every call settles kcp's controllers before it returns. */
export type KcpUnderTest = Readonly<{
  kcp: EmbeddedKcp;
  call: (method: string, path: string, body?: unknown, options?: CallOptions) => Promise<Answer>;
  /** Reads the object at an API path, or a field of it. */
  read: (path: string, ...fields: string[]) => Promise<unknown>;
}>;

export async function kcpUnderTest(options: EmbeddedKcpOptions = {}): Promise<KcpUnderTest> {
  const kcp = await startEmbeddedKcp({
    listen: false,
    users: [
      { token: "alice-token", name: "alice" },
      { token: "bob-token", name: "bob", groups: ["team-a"] },
    ],
    ...options,
  });
  const call: KcpUnderTest["call"] = async (method, path, body, { token, type = "application/json" } = {}) => {
    const response = await kcp.transport(token).send({
      method: methodOf(method),
      path,
      headers: body === undefined ? {} : { "content-type": type },
      body: body === undefined ? undefined : JSON.stringify(body),
      timeoutMs: 5_000,
    });
    const text = await response.text();
    kcp.settle();
    const parsed: unknown = text.startsWith("{") ? JSON.parse(text) : text;
    const message = valueAt(parsed, "message");
    return { status: response.status, body: parsed, message: typeof message === "string" ? message : "" };
  };
  return {
    kcp,
    call,
    read: async (path, ...fields) => valueAt((await call("GET", path)).body, ...fields),
  };
}

/** A new kcp for each test of a file; in a hook or test, the current one. */
export const kcpForEachTest = (): KcpUnderTest => kcpWithin(beforeEach, afterEach);

/** One kcp for all tests of a file. */
export const kcpForAllTests = (): KcpUnderTest => kcpWithin(beforeAll, afterAll);

type Hook = (run: () => Promise<void>) => void;

function kcpWithin(before: Hook, after: Hook): KcpUnderTest {
  let started: KcpUnderTest | undefined;
  const current = (): KcpUnderTest => {
    if (started === undefined) throw new Error("kcp runs only within a test");
    return started;
  };
  before(async () => {
    started = await kcpUnderTest();
  });
  after(async () => {
    await started?.kcp.stop();
    started = undefined;
  });
  return {
    get kcp() {
      return current().kcp;
    },
    call: (...args) => current().call(...args),
    read: (...args) => current().read(...args),
  };
}

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

function methodOf(text: string): (typeof methods)[number] {
  const found = methods.find((method) => method === text);
  if (found === undefined) throw new Error(`no method ${text}`);
  return found;
}

export const workspaces = "/apis/tenancy.kcp.io/v1alpha1/workspaces";
export const exportsPath = "/apis/apis.kcp.io/v1alpha2/apiexports";
export const bindingsPath = "/apis/apis.kcp.io/v1alpha2/apibindings";
export const schemasPath = "/apis/apis.kcp.io/v1alpha1/apiresourceschemas";
export const slicesPath = "/apis/apis.kcp.io/v1alpha1/apiexportendpointslices";

export const aWorkspace = (name: string, type?: Readonly<{ name: string; path?: string }>) => ({
  apiVersion: "tenancy.kcp.io/v1alpha1",
  kind: "Workspace",
  metadata: { name },
  spec: type === undefined ? {} : { type },
});

export type SchemaOptions = Readonly<{
  group?: string;
  plural?: string;
  kind?: string;
  properties?: Readonly<Record<string, unknown>>;
}>;

/** An APIResourceSchema of widgets by default. */
export function aSchema(
  name: string,
  { group = "example.dev", plural = "widgets", kind = "Widget", properties = {} }: SchemaOptions = {},
) {
  return {
    apiVersion: "apis.kcp.io/v1alpha1",
    kind: "APIResourceSchema",
    metadata: { name },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          subresources: {
            status: {},
            scale: { specReplicasPath: ".spec.size", statusReplicasPath: ".status.size" },
          },
          schema: {
            type: "object",
            properties: {
              spec: {
                type: "object",
                properties: { size: { type: "integer" }, color: { type: "string", default: "red" }, ...properties },
              },
              status: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
            },
          },
        },
      ],
    },
  };
}

export const aResource = (schema: string, name = "widgets", group = "example.dev") => ({
  name,
  group,
  schema,
  storage: { crd: {} },
});

export const anExport = (name: string, spec: object) => ({
  apiVersion: "apis.kcp.io/v1alpha2",
  kind: "APIExport",
  metadata: { name },
  spec,
});

export const aBinding = (name: string, path: string, exportName: string, permissionClaims?: readonly object[]) => ({
  apiVersion: "apis.kcp.io/v1alpha2",
  kind: "APIBinding",
  metadata: { name },
  spec: {
    reference: { export: { ...(path === "" ? {} : { path }), name: exportName } },
    ...(permissionClaims === undefined ? {} : { permissionClaims }),
  },
});

export const aWidget = (name: string, spec: object = {}) => ({
  apiVersion: "example.dev/v1",
  kind: "Widget",
  metadata: { name },
  spec,
});

export const configMapClaim = { group: "", resource: "configmaps", verbs: ["get", "list", "watch", "create"] };

/** Creates a provider that exports widgets and a consumer that binds them; returns their logical clusters and paths. */
export async function exportedWidgets({ kcp, call }: KcpUnderTest, claims: readonly object[] = []) {
  const provider = kcp.createWorkspace("root:provider");
  const consumer = kcp.createWorkspace("root:consumer");
  await call("POST", `/clusters/root:provider${schemasPath}`, aSchema("v1.widgets.example.dev"));
  const permissionClaims = claims.length === 0 ? {} : { permissionClaims: [configMapClaim] };
  await call(
    "POST",
    `/clusters/root:provider${exportsPath}`,
    anExport("example.dev", { resources: [aResource("v1.widgets.example.dev")], ...permissionClaims }),
  );
  await call(
    "POST",
    `/clusters/root:consumer${bindingsPath}`,
    aBinding("widgets", "root:provider", "example.dev", claims.length === 0 ? undefined : claims),
  );
  const service = `/services/apiexport/${provider}/example.dev`;
  return {
    provider,
    consumer,
    service,
    inConsumer: `${service}/clusters/${consumer}`,
    everywhere: `${service}/clusters/*`,
  };
}
