import type { KubeClient, ObjectAddress } from "@tmc/kube/client.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { expect, it } from "vitest";
import { crds, eventually, eventuallyGone, eventuallyOk, refusal, unique } from "../resources.ts";
import type { MakeRoom, Room } from "../server-under-test.ts";

type Widget = KubeObject & {
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
};

/** A definition that shows everything a schema can do; its group is new, so that cases do not meet. */
function aDefinition(group: string): KubeObject {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `widgets.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList", shortNames: ["wd"] },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          subresources: {
            status: {},
            scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" },
          },
          additionalPrinterColumns: [
            { name: "Size", type: "string", jsonPath: ".spec.size" },
            { name: "Ready", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
          ],
          schema: {
            openAPIV3Schema: {
              type: "object",
              required: ["spec"],
              properties: {
                spec: {
                  type: "object",
                  required: ["size"],
                  properties: {
                    size: { type: "string", enum: ["small", "large"] },
                    replicas: { type: "integer", minimum: 0, maximum: 10, default: 1 },
                    code: { type: "string", pattern: "^[a-z]+$", maxLength: 5 },
                    port: { "x-kubernetes-int-or-string": true },
                    free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
                    tags: { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" },
                    parts: {
                      type: "array",
                      maxItems: 3,
                      items: {
                        type: "object",
                        required: ["name"],
                        properties: {
                          name: { type: "string" },
                          weight: { type: "integer", default: 5 },
                          note: { type: "string" },
                        },
                      },
                      "x-kubernetes-list-type": "map",
                      "x-kubernetes-list-map-keys": ["name"],
                    },
                  },
                },
                status: {
                  type: "object",
                  properties: {
                    replicas: { type: "integer" },
                    conditions: {
                      type: "array",
                      items: {
                        type: "object",
                        required: ["type"],
                        properties: { type: { type: "string" }, status: { type: "string" } },
                      },
                      "x-kubernetes-list-type": "map",
                      "x-kubernetes-list-map-keys": ["type"],
                    },
                  },
                },
              },
            },
          },
        },
      ],
    },
  };
}

export function customResourceCases(room: MakeRoom): void {
  type WidgetRoom = Room & {
    widgets: ResourceType;
    group: string;
    create: (spec: object, name?: string) => Promise<Widget>;
    at: (name?: string) => ObjectAddress;
  };
  let shared: Promise<string> | undefined;

  /** All cases share one definition: making one takes real servers seconds. */
  const installed = (client: KubeClient): Promise<string> => {
    shared ??= (async () => {
      const group = `${unique("g")}.example.com`;
      await client.create({ type: crds }, aDefinition(group));
      await eventuallyOk(() => client.list({ type: { group, version: "v1", plural: "widgets" } }), 30_000);
      return group;
    })();
    return shared;
  };
  const widgetRoom = async (): Promise<WidgetRoom> => {
    const here = await room();
    const group = await installed(here.client);
    const widgets = { group, version: "v1", plural: "widgets" };
    return {
      ...here,
      group,
      widgets,
      at: (name = "w") => ({ type: widgets, namespace: here.namespace, name }),
      create: (spec, name = "w") =>
        here.client.create<Widget>(
          { type: widgets, namespace: here.namespace },
          { apiVersion: `${group}/v1`, kind: "Widget", metadata: { name }, spec },
        ),
    };
  };

  it("reports a definition as established", async () => {
    const { client, group } = await widgetRoom();
    type Definition = KubeObject & {
      status: { conditions: { type: string; status: string }[]; acceptedNames: object; storedVersions: string[] };
    };
    const { status } = await eventuallyOk(async () => {
      const definition = await client.get<Definition>({ type: crds, name: `widgets.${group}` });
      const states = Object.fromEntries(
        definition.status.conditions.map((condition) => [condition.type, condition.status]),
      );
      expect(states).toMatchObject({ Established: "True", NamesAccepted: "True" });
      return definition;
    }, 30_000);
    expect(status.acceptedNames).toMatchObject({ plural: "widgets", kind: "Widget", shortNames: ["wd"] });
    expect(status.storedVersions).toEqual(["v1"]);
  });

  it("fills in defaults, in lists too", async () => {
    const { create } = await widgetRoom();
    const made = await create({ size: "small", parts: [{ name: "a" }] });
    expect(made.spec).toEqual({ size: "small", replicas: 1, parts: [{ name: "a", weight: 5 }] });
    expect(made.metadata.generation).toBe(1);
  });

  it("drops fields that the schema does not know, and keeps what it says to keep", async () => {
    const { create } = await widgetRoom();
    const made = await create({ size: "small", nonsense: 1, free: { any: { thing: [1] } } });
    expect(made.spec).toEqual({ size: "small", replicas: 1, free: { any: { thing: [1] } } });
  });

  it("warns of fields that it drops", async () => {
    const { client, namespace, group } = await widgetRoom();
    const { headers, status } = await client.raw(
      "POST",
      `/apis/${group}/v1/namespaces/${namespace}/widgets?fieldValidation=Warn`,
      {
        body: JSON.stringify({
          apiVersion: `${group}/v1`,
          kind: "Widget",
          metadata: { name: "w" },
          spec: { size: "small", nonsense: 1 },
        }),
        contentType: "application/json",
      },
    );
    expect(status).toBe(201);
    expect(headers.warning).toBe('299 - "unknown field \\"spec.nonsense\\""');
  });

  it("refuses unknown fields when asked to be strict", async () => {
    const { client, namespace, group, widgets } = await widgetRoom();
    const call = client.create(
      { type: widgets, namespace },
      { apiVersion: `${group}/v1`, kind: "Widget", metadata: { name: "w" }, spec: { size: "small", nonsense: 1 } },
      { fieldValidation: "Strict" },
    );
    expect(await refusal(call)).toEqual({
      status: 400,
      reason: "BadRequest",
      message: `Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field "spec.nonsense"`,
    });
  });

  const invalid: Record<string, { spec: object; message: string }> = {
    "a missing field": { spec: {}, message: "spec.size: Required value" },
    "a value outside the enum": {
      spec: { size: "huge" },
      message: 'spec.size: Unsupported value: "huge": supported values: "small", "large"',
    },
    "a value of the wrong type": {
      spec: { size: "small", replicas: "two" },
      message:
        '[spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string", .spec.replicas: Invalid value: 0: .spec.replicas accessor error: two is of the type string, expected int64]',
    },
    "a number above the maximum": {
      spec: { size: "small", replicas: 11 },
      message: "spec.replicas: Invalid value: 11: spec.replicas in body should be less than or equal to 10",
    },
    "a number below the minimum": {
      spec: { size: "small", replicas: -1 },
      message:
        "[spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to 0, .spec.replicas: Invalid value: -1: should be a non-negative integer]",
    },
    "text that does not match the pattern": {
      spec: { size: "small", code: "A1" },
      message: `spec.code: Invalid value: "A1": spec.code in body should match '^[a-z]+$'`,
    },
    "text that is too long": {
      spec: { size: "small", code: "abcdef" },
      message: "spec.code: Too long: may not be more than 5 bytes",
    },
    "a list with too many items": {
      spec: { size: "small", parts: [{ name: "a" }, { name: "b" }, { name: "c" }, { name: "d" }] },
      message: "spec.parts: Too many: 4: must have at most 3 items",
    },
    "two items with one key": {
      spec: { size: "small", parts: [{ name: "a" }, { name: "a" }] },
      message: 'spec.parts[1]: Duplicate value: {"name":"a"}',
    },
    "a set with an item twice": {
      spec: { size: "small", tags: ["x", "x"] },
      message: 'spec.tags[1]: Duplicate value: "x"',
    },
    "a list item without its key": {
      spec: { size: "small", parts: [{ weight: 1 }] },
      message: "spec.parts[0].name: Required value",
    },
  };
  for (const [what, { spec, message }] of Object.entries(invalid)) {
    it(`refuses ${what}`, async () => {
      const { create, group } = await widgetRoom();
      expect(await refusal(create(spec))).toEqual({
        status: 422,
        reason: "Invalid",
        message: `Widget.${group} "w" is invalid: ${message}`,
      });
    });
  }

  it("names every mistake", async () => {
    const { create, group } = await widgetRoom();
    const { message } = await refusal(create({ size: "huge", replicas: 11 }));
    expect(message).toContain(`Widget.${group} "w" is invalid: [`);
    expect(message).toContain("spec.size: Unsupported value");
    expect(message).toContain("spec.replicas: Invalid value: 11");
  });

  it("takes numbers and text where a field may be either", async () => {
    const { create } = await widgetRoom();
    expect((await create({ size: "small", port: 80 }, "a")).spec).toMatchObject({ port: 80 });
    expect((await create({ size: "small", port: "http" }, "b")).spec).toMatchObject({ port: "http" });
  });

  it("counts a generation for each change of the spec and none for labels or status", async () => {
    const { client, create, at } = await widgetRoom();
    await create({ size: "small" });
    const labelled = await client.patch(at(), { type: "merge", body: { metadata: { labels: { a: "1" } } } });
    expect(labelled.metadata.generation).toBe(1);
    const changed = await client.patch(at(), { type: "merge", body: { spec: { size: "large" } } });
    expect(changed.metadata.generation).toBe(2);
    const reported = await client.patch(
      at(),
      { type: "merge", body: { status: { replicas: 1 } } },
      { subresource: "status" },
    );
    expect(reported.metadata.generation).toBe(2);
  });

  it("ignores status on create and on writes to the object itself", async () => {
    const { client, widgets, namespace, group, at } = await widgetRoom();
    const made = await client.create<Widget>(
      { type: widgets, namespace },
      {
        apiVersion: `${group}/v1`,
        kind: "Widget",
        metadata: { name: "w" },
        spec: { size: "small" },
        status: { replicas: 3 },
      },
    );
    expect(made).not.toHaveProperty("status");
    const next = await client.update<Widget>(at(), { ...made, status: { replicas: 3 } });
    expect(next).not.toHaveProperty("status");
  });

  it("changes nothing but status on a write to the status subresource", async () => {
    const { client, create, at } = await widgetRoom();
    const made = await create({ size: "small" });
    const next = await client.update<Widget>(
      at(),
      {
        ...made,
        metadata: { ...made.metadata, labels: { sneaky: "1" } },
        spec: { size: "large" },
        status: { replicas: 2 },
      },
      { subresource: "status" },
    );
    expect(next.spec).toEqual({ size: "small", replicas: 1 });
    expect(next.metadata.labels).toBeUndefined();
    expect(next.status).toEqual({ replicas: 2 });
  });

  it("checks the status against the schema", async () => {
    const { client, create, at } = await widgetRoom();
    await create({ size: "small" });
    const failure = await refusal(
      client.patch(at(), { type: "merge", body: { status: { replicas: "x" } } }, { subresource: "status" }),
    );
    expect(failure).toMatchObject({ status: 422, reason: "Invalid" });
  });

  it("refuses an update without a resourceVersion", async () => {
    const { client, create, at, group } = await widgetRoom();
    await create({ size: "small" });
    const call = client.update(at(), {
      apiVersion: `${group}/v1`,
      kind: "Widget",
      metadata: { name: "w" },
      spec: { size: "large" },
    });
    expect(await refusal(call)).toEqual({
      status: 422,
      reason: "Invalid",
      message: `widgets.${group} "w" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update`,
    });
  });

  it("refuses a strategic patch", async () => {
    const { client, create, at } = await widgetRoom();
    await create({ size: "small" });
    const failure = await refusal(client.patch(at(), { type: "strategic", body: { spec: { size: "large" } } }));
    expect(failure).toMatchObject({ status: 415, reason: "UnsupportedMediaType" });
    expect(failure.message).toContain(
      "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
    );
  });

  it("serves the scale of an object", async () => {
    const { client, create, at } = await widgetRoom();
    await create({ size: "small", replicas: 2 });
    const scale = await client.get<Widget>(at(), { subresource: "scale" });
    expect(scale).toMatchObject({
      apiVersion: "autoscaling/v1",
      kind: "Scale",
      metadata: { name: "w" },
      spec: { replicas: 2 },
      status: { replicas: 0 },
    });
    const next = await client.patch<Widget>(
      at(),
      { type: "merge", body: { spec: { replicas: 4 } } },
      { subresource: "scale" },
    );
    expect(next.spec).toEqual({ replicas: 4 });
    expect((await client.get<Widget>(at())).spec).toMatchObject({ replicas: 4 });
  });

  it("applies list items by their key, each owned by who applied it", async () => {
    const { client, at, group } = await widgetRoom();
    const apply = (manager: string, parts: object[]): Promise<Widget> =>
      client.patch<Widget>(
        at(),
        {
          type: "apply",
          body: { apiVersion: `${group}/v1`, kind: "Widget", metadata: { name: "w" }, spec: { size: "small", parts } },
        },
        { fieldManager: manager },
      );
    await apply("alice", [{ name: "a", note: "alice" }]);
    const both = await apply("bob", [{ name: "b", note: "bob" }]);
    expect(both.spec?.parts).toEqual([
      { name: "a", note: "alice", weight: 5 },
      { name: "b", note: "bob", weight: 5 },
    ]);
    const less = await apply("alice", []);
    expect(less.spec?.parts).toEqual([{ name: "b", note: "bob", weight: 5 }]);
  });

  it("applies set items one by one", async () => {
    const { client, at, group } = await widgetRoom();
    const apply = (manager: string, tags: string[]): Promise<Widget> =>
      client.patch<Widget>(
        at(),
        {
          type: "apply",
          body: { apiVersion: `${group}/v1`, kind: "Widget", metadata: { name: "w" }, spec: { size: "small", tags } },
        },
        { fieldManager: manager },
      );
    await apply("alice", ["x", "y"]);
    expect((await apply("bob", ["z"])).spec?.tags).toEqual(["x", "y", "z"]);
    expect((await apply("alice", ["y"])).spec?.tags).toEqual(["y", "z"]);
  });

  it("applies status through its subresource, under the manager's own entry", async () => {
    const { client, create, at, group } = await widgetRoom();
    await create({ size: "small" });
    const next = await client.patch<Widget>(
      at(),
      {
        type: "apply",
        body: {
          apiVersion: `${group}/v1`,
          kind: "Widget",
          metadata: { name: "w" },
          status: { conditions: [{ type: "Ready", status: "True" }] },
        },
      },
      { fieldManager: "controller", subresource: "status" },
    );
    expect(next.status).toEqual({ conditions: [{ type: "Ready", status: "True" }] });
    expect(next.metadata.managedFields?.find((entry) => entry.manager === "controller")).toMatchObject({
      operation: "Apply",
      subresource: "status",
    });
  });

  it("prints the declared columns", async () => {
    const { client, create, at, namespace, group } = await widgetRoom();
    await create({ size: "small" });
    await client.patch(
      at(),
      { type: "merge", body: { status: { conditions: [{ type: "Ready", status: "False" }] } } },
      { subresource: "status" },
    );
    const { text } = await client.raw("GET", `/apis/${group}/v1/namespaces/${namespace}/widgets`, {
      accept: "application/json;as=Table;v=v1;g=meta.k8s.io",
    });
    const table = JSON.parse(text);
    expect(table.columnDefinitions.map((column: { name: string }) => column.name)).toEqual(["Name", "Size", "Ready"]);
    expect(table.rows[0].cells).toEqual(["w", "small", "False"]);
  });

  it("keeps apiVersion and kind on a list's items", async () => {
    const { client, create, namespace, widgets, group } = await widgetRoom();
    await create({ size: "small" });
    const { items } = await client.list({ type: widgets, namespace });
    expect(items[0]).toMatchObject({ apiVersion: `${group}/v1`, kind: "Widget" });
  });

  it("refuses a definition whose name is not its plural and group", async () => {
    const { client } = await room();
    const wrong = aDefinition("wrong.example.com");
    wrong.metadata.name = "gadgets.wrong.example.com";
    const failure = await refusal(client.create({ type: crds }, wrong));
    expect(failure).toMatchObject({ status: 422, reason: "Invalid" });
    expect(failure.message).toContain(
      'metadata.name: Invalid value: "gadgets.wrong.example.com": must be spec.names.plural+"."+spec.group',
    );
  });

  it("refuses a schema that is not structural", async () => {
    const { client } = await room();
    const group = `${unique("g")}.example.com`;
    const definition = JSON.parse(JSON.stringify(aDefinition(group)));
    delete definition.spec.versions[0].schema.openAPIV3Schema.properties.spec.type;
    const failure = await refusal(client.create({ type: crds }, definition));
    expect(failure).toMatchObject({ status: 422, reason: "Invalid" });
    expect(failure.message).toContain(
      "openAPIV3Schema.properties[spec].type: Required value: must not be empty for specified object fields",
    );
  });

  it("serves a changed schema to existing objects", async () => {
    const { client, namespace } = await room();
    const group = `${unique("g")}.example.com`;
    const type = { group, version: "v1", plural: "widgets" };
    await client.create({ type: crds }, aDefinition(group));
    const widget = (name: string, size: string): object => ({
      apiVersion: `${group}/v1`,
      kind: "Widget",
      metadata: { name },
      spec: { size },
    });
    await eventuallyOk(() => client.create({ type, namespace }, widget("old", "small")), 30_000);
    const path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size/enum/-";
    await client.patch(
      { type: crds, name: `widgets.${group}` },
      { type: "json", body: [{ op: "add", path, value: "huge" }] },
    );
    await eventuallyOk(() => client.create({ type, namespace }, widget("new", "huge")), 30_000);
    expect((await client.list({ type, namespace })).items.map((item) => item.metadata.name)).toEqual(["new", "old"]);
  }, 60_000);

  it("deletes the objects with their definition", async () => {
    const { client, namespace } = await room();
    const group = `${unique("g")}.example.com`;
    const type = { group, version: "v1", plural: "widgets" };
    await client.create({ type: crds }, aDefinition(group));
    await eventuallyOk(
      () =>
        client.create(
          { type, namespace },
          { apiVersion: `${group}/v1`, kind: "Widget", metadata: { name: "w" }, spec: { size: "small" } },
        ),
      30_000,
    );
    await client.delete({ type: crds, name: `widgets.${group}` });
    await eventuallyGone(client, { type: crds, name: `widgets.${group}` }, 30_000);
    await eventually(async () => {
      const { status } = await client.raw("GET", `/apis/${group}/v1/namespaces/${namespace}/widgets`);
      return status === 404 ? undefined : `the type still answers ${status}`;
    }, 30_000);
  }, 60_000);
}
