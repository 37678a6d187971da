import type { Clock } from "@tmc/kube/clock.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, it } from "vitest";
import {
  crdStorage,
  customDefinitionsOf,
  decideCrdStatus,
  startCustomDefinitionController,
} from "../../src/definitions/custom-definitions.ts";
import type { Catalog } from "../../src/definitions/definition.ts";
import { ApiFailure } from "../../src/machinery/api-errors.ts";
import { createMemoryStore } from "../../src/storage/memory-store.ts";
import { createOperations } from "../../src/storage/object-operations.ts";
import { builtinDefinitions, definitionOf } from "../builtin/fixed-access.ts";

const now = Date.parse("2026-11-16T12:00:00Z");
const admin = { user: { name: "admin", groups: ["system:masters"] } };
const schema = { openAPIV3Schema: { type: "object", properties: { spec: { type: "object", properties: {} } } } };

function aDefinition(spec: object = {}, name = "gadgets.example.com"): KubeObject {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { plural: "gadgets", kind: "Gadget", shortNames: ["gd"], categories: ["all"] },
      versions: [{ name: "v1", served: true, storage: true, schema }],
      ...spec,
    },
  };
}

/** A server with built-in types only; `settle` runs its controllers until they are idle. */
function aServer() {
  const tasks: (() => void)[] = [];
  const clock: Clock = {
    now: () => now,
    monotonicMs: () => 0,
    after: (_delay, task) => {
      tasks.push(task);
      return () => tasks.splice(tasks.indexOf(task), 1);
    },
  };
  const store = createMemoryStore();
  const served = () => [...builtinDefinitions, ...store.list(crdStorage).flatMap(customDefinitionsOf)];
  const catalog: Catalog = {
    definitions: served,
    find: (group, version, plural) =>
      served().find((item) => item.group === group && item.version === version && item.plural === plural),
  };
  const operations = createOperations({ store, clock, catalogOf: () => catalog });
  const definition = definitionOf("CustomResourceDefinition");
  const stop = startCustomDefinitionController({ store, operations, clock, definition });
  const settle = () => {
    for (let task = tasks.shift(); task !== undefined; task = tasks.shift()) task();
  };
  operations.create(
    { definition: definitionOf("Namespace"), logicalCluster: "" },
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "default" } },
    admin,
  );
  const create = (crd: KubeObject) => operations.create({ definition, logicalCluster: "" }, crd, admin);
  const get = (name = "gadgets.example.com") =>
    store.get({ storage: crdStorage, logicalCluster: "", namespace: "", name });
  return { store, operations, catalog, definition, create, get, settle, stop };
}

function refusal(crd: KubeObject): string[] {
  try {
    aServer().create(crd);
    return [];
  } catch (error) {
    if (!(error instanceof ApiFailure)) throw error;
    return (error.status.details?.causes ?? []).map(({ field, message }) => `${field}: ${message}`);
  }
}

const version = (fields: object) => ({ versions: [{ name: "v1", served: true, storage: true, schema, ...fields }] });
const properties = (fields: object) =>
  version({ schema: { openAPIV3Schema: { type: "object", properties: { spec: fields } } } });
const at = "spec.versions[0].schema.openAPIV3Schema";

const refused: Record<string, { crd: KubeObject; errors: string[] }> = {
  "a name that does not follow from its parts": {
    crd: aDefinition({}, "foo"),
    errors: ['metadata.name: Invalid value: "foo": must be spec.names.plural+"."+spec.group'],
  },
  "no scope": { crd: aDefinition({ scope: undefined }), errors: ["spec.scope: Required value"] },
  "a scope that there is not": {
    crd: aDefinition({ scope: "Foo" }),
    errors: ['spec.scope: Unsupported value: "Foo": supported values: "Cluster", "Namespaced"'],
  },
  "no versions": {
    crd: aDefinition({ versions: [] }),
    errors: [
      "spec.versions: Invalid value: []: must have exactly one version marked as storage version",
      "status.storedVersions: Invalid value: null: must have at least one stored version",
    ],
  },
  "a version without a schema": { crd: aDefinition(version({ schema: {} })), errors: [`${at}: Required value`] },
  "a root without a type": {
    crd: aDefinition(version({ schema: { openAPIV3Schema: { properties: {} } } })),
    errors: [`${at}.type: Required value: must not be empty at the root`],
  },
  "a field without a type": {
    crd: aDefinition(properties({ description: "x" })),
    errors: [`${at}.properties[spec].type: Required value: must not be empty for specified object fields`],
  },
  "a list without items": {
    crd: aDefinition(properties({ type: "array" })),
    errors: [`${at}.properties[spec].items: Required value: must be specified`],
  },
  "a type that there is not": {
    crd: aDefinition(properties({ type: "foo" })),
    errors: [
      `${at}.properties[spec].type: Unsupported value: "foo": supported values: "array", "boolean", "integer", "number", "object", "string"`,
    ],
  },
  "a default of another type": {
    crd: aDefinition(properties({ type: "string", default: 3 })),
    errors: [`${at}.properties[spec].default: Invalid value: "integer":  in body must be of type string: "integer"`],
  },
  "fields both named and free": {
    crd: aDefinition(properties({ type: "object", properties: {}, additionalProperties: { type: "string" } })),
    errors: [
      `${at}.properties[spec].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive`,
    ],
  },
  "a column's path that is none": {
    crd: aDefinition(version({ additionalPrinterColumns: [{ name: "X", type: "integer", jsonPath: "spec.x" }] })),
    errors: [
      'spec.versions[0].additionalPrinterColumns[0].JSONPath: Invalid value: "spec.x": must be a simple json path starting with .',
    ],
  },
  "a scale without a path": {
    crd: aDefinition(version({ subresources: { scale: { statusReplicasPath: ".status.replicas" } } })),
    errors: ["spec.versions[0].subresources.scale.specReplicasPath: Required value"],
  },
  "a group that is Kubernetes' own": {
    crd: aDefinition({ group: "foo.k8s.io" }, "gadgets.foo.k8s.io"),
    errors: [
      'metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111',
    ],
  },
};

describe("a custom resource definition", () => {
  it.each(Object.entries(refused))("is refused for %s", (_name, { crd, errors }) => {
    expect(refusal(crd)).toEqual(errors);
  });

  it("is served only after it is established", () => {
    const { create, get, catalog, settle } = aServer();
    create(aDefinition());
    expect(catalog.find("example.com", "v1", "gadgets")).toBeUndefined();
    settle();
    expect(catalog.find("example.com", "v1", "gadgets")).toMatchObject({
      kind: "Gadget",
      singular: "gadget",
      listKind: "GadgetList",
      shortNames: ["gd"],
      storage: "gadgets.example.com",
      flavor: "custom",
      status: false,
    });
    expect(get()?.status).toEqual({
      acceptedNames: {
        plural: "gadgets",
        singular: "gadget",
        kind: "Gadget",
        listKind: "GadgetList",
        shortNames: ["gd"],
        categories: ["all"],
      },
      conditions: [
        {
          type: "NamesAccepted",
          status: "True",
          reason: "NoConflicts",
          message: "no conflicts found",
          lastTransitionTime: "2026-11-16T12:00:00Z",
        },
        {
          type: "Established",
          status: "True",
          reason: "InitialNamesAccepted",
          message: "the initial names have been accepted",
          lastTransitionTime: "2026-11-16T12:00:00Z",
        },
      ],
      storedVersions: ["v1"],
    });
  });

  it("causes no further write after it is established", () => {
    const { create, get, store, settle } = aServer();
    create(aDefinition());
    settle();
    const { revision } = store;
    const crd = get();
    if (crd === undefined) throw new Error("gone");
    expect(decideCrdStatus(crd, [crd], now + 1000)).toBeUndefined();
    settle();
    expect(store.revision).toBe(revision);
  });

  it("waits for names that another definition has, and gets them when they are free", () => {
    const { create, get, operations, definition, settle } = aServer();
    create(aDefinition());
    settle();
    const names = { plural: "gizmos", kind: "Gadget", listKind: "GadgetList" };
    create(aDefinition({ names }, "gizmos.example.com"));
    settle();
    expect(get("gizmos.example.com")?.status).toMatchObject({
      conditions: [
        {
          type: "NamesAccepted",
          status: "False",
          reason: "ListKindConflict",
          message: '"GadgetList" is already in use',
        },
        { type: "Established", status: "False", reason: "NotAccepted", message: "not all names are accepted" },
      ],
    });
    operations.delete({ definition, logicalCluster: "", name: "gadgets.example.com" }, {}, admin);
    settle();
    expect(get("gizmos.example.com")?.status).toMatchObject({ acceptedNames: { kind: "Gadget" } });
    expect(customDefinitionsOf(get("gizmos.example.com") ?? aDefinition())).toHaveLength(1);
  });

  it("is deleted with its objects", () => {
    const { create, get, store, operations, catalog, definition, settle } = aServer();
    create(aDefinition());
    settle();
    const type = catalog.find("example.com", "v1", "gadgets");
    if (type === undefined) throw new Error("not served");
    const target = { definition: type, logicalCluster: "", namespace: "default" };
    operations.create(
      target,
      { apiVersion: "example.com/v1", kind: "Gadget", metadata: { name: "a" }, spec: {} },
      admin,
    );
    operations.delete({ definition, logicalCluster: "", name: "gadgets.example.com" }, {}, admin);
    settle();
    expect(get()).toBeUndefined();
    expect(store.list("gadgets.example.com")).toEqual([]);
  });

  it("cannot change its scope and kind after it is established, and records every stored version", () => {
    const { create, get, operations, definition, settle } = aServer();
    create(aDefinition());
    settle();
    const change = (spec: object) => {
      const crd = get();
      if (crd === undefined) throw new Error("gone");
      return operations.update(
        { definition, logicalCluster: "", name: "gadgets.example.com" },
        { ...crd, spec: { ...(crd.spec as object), ...spec } },
        admin,
      );
    };
    expect(() => change({ scope: "Cluster" })).toThrow('spec.scope: Invalid value: "Cluster": field is immutable');
    const next = { name: "v2", served: true, storage: true, schema };
    expect(change({ versions: [{ ...next, name: "v1", storage: false }, next] }).status).toMatchObject({
      storedVersions: ["v1", "v2"],
    });
    expect(() => change({ versions: [next] })).toThrow(
      'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions',
    );
  });

  it("provides columns, scale, status and selectable fields", () => {
    const { create, get, settle } = aServer();
    create(
      aDefinition(
        version({
          subresources: {
            status: {},
            scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" },
          },
          additionalPrinterColumns: [{ name: "Replicas", type: "integer", jsonPath: ".spec.replicas", priority: 1 }],
          selectableFields: [{ jsonPath: ".spec.color" }],
        }),
      ),
    );
    settle();
    const [type] = customDefinitionsOf(get() ?? aDefinition());
    expect(type).toMatchObject({
      status: true,
      scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" },
      columns: [
        {
          name: "Replicas",
          type: "integer",
          priority: 1,
          description: "Custom resource definition column (in JSONPath format): .spec.replicas",
        },
      ],
    });
    const red = { apiVersion: "example.com/v1", kind: "Gadget", metadata: {}, spec: { color: "red" } };
    expect(type?.selectableFields?.["spec.color"]?.(red)).toBe("red");
  });
});
