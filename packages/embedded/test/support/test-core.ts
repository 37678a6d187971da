import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { createManualClock, type ManualClock } from "@tmc/kube/manual-clock.ts";
import { allVerbs, type Catalog, type ResourceDefinition } from "../../src/definitions/definition.ts";
import type { Schema } from "../../src/machinery/schema.ts";
import { createFaults, type Faults } from "../../src/server/faults.ts";
import type { ApiRoot, Frontend } from "../../src/server/frontend.ts";
import { createHandler } from "../../src/server/handler.ts";
import type { ApiRequest, ApiResponse, Handler, User } from "../../src/server/http.ts";
import { createMemoryStore } from "../../src/storage/memory-store.ts";
import { createOperations } from "../../src/storage/object-operations.ts";
import type { Operations, WriteContext } from "../../src/storage/operations.ts";
import type { Store } from "../../src/storage/store.ts";

const anything: Schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const texts: Schema = { type: "object", additionalProperties: { type: "string" } };

/** A type with usual properties; `changes` overrides them. */
export function aDefinition(
  changes: Partial<ResourceDefinition> & Pick<ResourceDefinition, "plural" | "kind">,
): ResourceDefinition {
  const { plural, kind, group = "", version = "v1" } = changes;
  return {
    group,
    version,
    singular: kind.toLowerCase(),
    listKind: `${kind}List`,
    shortNames: [],
    categories: [],
    namespaced: true,
    verbs: allVerbs,
    schema: anything,
    flavor: "builtin",
    status: false,
    columns: [],
    storage: group === "" ? plural : `${plural}.${group}`,
    ...changes,
  };
}

export const namespaces = aDefinition({
  plural: "namespaces",
  kind: "Namespace",
  namespaced: false,
  status: true,
  withoutGeneration: true,
});

export const configMaps = aDefinition({
  plural: "configmaps",
  kind: "ConfigMap",
  withoutGeneration: true,
  schema: {
    type: "object",
    properties: { apiVersion: { type: "string" }, kind: { type: "string" }, metadata: { type: "object" }, data: texts },
  },
});

export const pods = aDefinition({ plural: "pods", kind: "Pod", status: true });

export const deployments = aDefinition({ group: "apps", plural: "deployments", kind: "Deployment", status: true });

export const widgets = aDefinition({
  group: "ex.io",
  plural: "widgets",
  kind: "Widget",
  flavor: "custom",
  status: true,
  scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" },
  schema: {
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: { replicas: { type: "integer" }, size: { type: "string", default: "m" } },
      },
      status: { type: "object", properties: { replicas: { type: "integer" } } },
    },
  },
});

/** A catalog of fixed definitions. */
export function catalogOf(definitions: readonly ResourceDefinition[]): Catalog {
  return {
    definitions: () => definitions,
    find: (group, version, plural) =>
      definitions.find((one) => one.group === group && one.version === version && one.plural === plural),
  };
}

export const admin: User = { name: "admin", groups: ["system:masters"] };
export const asAdmin: WriteContext = { user: admin, fieldManager: "test" };

export type TestCore = Readonly<{
  clock: ManualClock;
  store: Store;
  operations: Operations;
  catalog: Catalog;
  faults: Faults;
  handler: Handler;
  /** Sends a request and reads the response. */
  call: (method: string, url: string, options?: CallOptions) => Promise<Answer>;
  /** Sends a request without reading the response. */
  send: (method: string, url: string, options?: CallOptions) => Promise<ApiResponse>;
}>;

export type CallOptions = Readonly<{
  body?: unknown;
  type?: string;
  accept?: string;
  userAgent?: string;
  signal?: AbortSignal;
}>;

export type Answer = Readonly<{
  status: number;
  headers: Readonly<Record<string, string>>;
  text: string;
  /** The parsed JSON of the response, or its text. */
  body: unknown;
}>;

export const allDefinitions: readonly ResourceDefinition[] = [namespaces, configMaps, pods, deployments, widgets];

/** Creates a Kubernetes API server with a manual clock and the namespace `default`. */
export function createTestCore(
  definitions: readonly ResourceDefinition[] = allDefinitions,
  place: Partial<ApiRoot> = {},
): TestCore {
  const clock = createManualClock();
  const store = createMemoryStore();
  const catalog = catalogOf(definitions);
  const random = createRandom();
  const operations = createOperations({ store, clock, catalogOf: () => catalog, random });
  const faults = createFaults({ clock });
  const frontend: Frontend = {
    authenticate: () => admin,
    resolve: (path) => ({ logicalCluster: "", path, catalog, authorize: () => {}, ...place }),
  };
  const handler = createHandler({ frontend, operations, store, clock, faults, random, version: { major: "1" } });
  if (catalog.find("", "v1", "namespaces") !== undefined) {
    operations.create({ definition: namespaces, logicalCluster: "" }, aNamespace("default"), asAdmin);
  }
  const send: TestCore["send"] = (method, url, options = {}) => handler(aRequest(method, url, options));
  return {
    clock,
    store,
    operations,
    catalog,
    faults,
    handler,
    send,
    call: async (method, url, options) => {
      const { status, headers, body } = await send(method, url, options);
      let text = "";
      if (typeof body === "string") text = body;
      else for await (const chunk of body) text += chunk;
      return { status, headers, text, body: parsed(text) };
    },
  };
}

/** A request as the listener would create it. */
export function aRequest(method: string, url: string, options: CallOptions = {}): ApiRequest {
  const { body, type, accept, userAgent = "vitest/1", signal = new AbortController().signal } = options;
  const [path = "", query = ""] = url.split("?");
  const defaultType = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  return {
    method,
    path,
    query: new URLSearchParams(query),
    headers: {
      "user-agent": userAgent,
      accept,
      ...(body === undefined ? {} : { "content-type": type ?? defaultType }),
    },
    body: body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body),
    signal,
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Creates a reproducible random number generator. */
export function createRandom(seed = 1): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 0x1_0000_0000;
    return state / 0x1_0000_0000;
  };
}

export const aNamespace = (name: string): KubeObject => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } });

export const aConfigMap = (name: string, changes: Partial<KubeObject> = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  data: { a: "b" },
  ...changes,
  metadata: { name, ...changes.metadata },
});

export const aWidget = (name: string, changes: Partial<KubeObject> = {}): KubeObject => ({
  apiVersion: "ex.io/v1",
  kind: "Widget",
  spec: { replicas: 1 },
  ...changes,
  metadata: { name, ...changes.metadata },
});
