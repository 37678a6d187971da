import { describe, expect, it } from "vitest";
import { aConfigMap, aWidget, configMaps, createTestCore, namespaces } from "../support/test-core.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const things = "/apis/ex.io/v1/namespaces/default/widgets";

describe("an embedded server's handler", () => {
  it("responds to creations with 201, to reads and updates with 200", async () => {
    const core = createTestCore();
    expect((await core.call("POST", maps, { body: aConfigMap("x") })).status).toBe(201);
    expect((await core.call("GET", `${maps}/x`)).status).toBe(200);
    expect((await core.call("PUT", `${maps}/x`, { body: aConfigMap("x", { data: { a: "c" } }) })).status).toBe(200);
    const apply = { body: aWidget("z"), type: "application/apply-patch+yaml" };
    expect((await core.call("PATCH", `${things}/z?fieldManager=m`, apply)).status).toBe(201);
    expect((await core.call("PATCH", `${things}/z?fieldManager=m`, apply)).status).toBe(200);
    expect((await core.call("DELETE", `${maps}/x`)).status).toBe(200);
  });

  it("includes apiVersion and kind in the items of a custom list, and not of a built-in one", async () => {
    const core = createTestCore();
    await core.call("POST", maps, { body: aConfigMap("x") });
    await core.call("POST", things, { body: aWidget("a") });
    const builtin = await core.call("GET", maps);
    expect(builtin.body).toMatchObject({ kind: "ConfigMapList", apiVersion: "v1", items: [{ data: { a: "b" } }] });
    expect(builtin.text).not.toContain('"kind":"ConfigMap"');
    const custom = await core.call("GET", things);
    expect(custom.body).toMatchObject({
      kind: "WidgetList",
      metadata: { continue: "" },
      items: [{ apiVersion: "ex.io/v1", kind: "Widget" }],
    });
  });

  it("accepts and returns YAML", async () => {
    const core = createTestCore();
    const body = "metadata:\n  name: y\ndata:\n  a: b\n";
    expect((await core.call("POST", maps, { body, type: "application/yaml" })).body).toMatchObject({
      data: { a: "b" },
    });
    const { text, headers } = await core.call("GET", `${maps}/y`, { accept: "application/yaml" });
    expect(headers["content-type"]).toBe("application/yaml");
    expect(text).toMatch(/^apiVersion: v1\ndata:\n {2}a: b\nkind: ConfigMap\n/);
  });

  it("returns objects as metadata only, and as tables", async () => {
    const core = createTestCore();
    await core.call("POST", maps, { body: aConfigMap("x") });
    const as = (form: string) => ({ accept: `application/json;as=${form};g=meta.k8s.io;v=v1,application/json` });
    const one = await core.call("GET", `${maps}/x`, as("PartialObjectMetadata"));
    expect(one.body).toMatchObject({ kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1" });
    expect(one.text).not.toContain('"data":');
    const list = await core.call("GET", maps, as("PartialObjectMetadataList"));
    expect(list.body).toMatchObject({ kind: "PartialObjectMetadataList", items: [{ kind: "PartialObjectMetadata" }] });
    const table = await core.call("GET", maps, as("Table"));
    expect(table.body).toMatchObject({
      kind: "Table",
      columnDefinitions: [{ name: "Name" }, ...(configMaps.columns.length === 0 ? [{ name: "Age" }] : [])],
      rows: [{ object: { kind: "PartialObjectMetadata" } }],
    });
  });

  it("sends warnings in a header, also with a failed response", async () => {
    const core = createTestCore();
    const made = await core.call("POST", things, { body: aWidget("a", { spec: { foo: 1 } }) });
    expect(made.headers.warning).toBe('299 - "unknown field \\"spec.foo\\""');
    const body =
      '{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"name":"B_"},"spec":{"bar":1,"size":"a","size":"b"}}';
    const refused = await core.call("POST", things, { body });
    expect(refused.status).toBe(422);
    expect(refused.headers.warning).toBe(
      '299 - "unknown field \\"spec.bar\\"", 299 - "duplicate field \\"spec.size\\""',
    );
  });

  it("derives the field manager from the user agent if the request has none", async () => {
    const core = createTestCore();
    const managerOf = async (url: string) => {
      const { body } = await core.call("POST", url, {
        body: aConfigMap(`x${url.length}`),
        userAgent: "kubectl/v1.36 (linux)",
      });
      return (body as { metadata: { managedFields: { manager: string }[] } }).metadata.managedFields[0]?.manager;
    };
    expect(await managerOf(maps)).toBe("kubectl");
    expect(await managerOf(`${maps}?fieldManager=me`)).toBe("me");
  });

  it("returns its version and its health", async () => {
    const core = createTestCore();
    expect((await core.call("GET", "/version")).body).toEqual({ major: "1" });
    for (const path of ["/healthz", "/livez", "/readyz", "/readyz/ping"]) {
      expect(await core.call("GET", path)).toMatchObject({ status: 200, text: "ok" });
    }
    expect((await core.call("GET", "/readyz?verbose")).text).toBe("[+]ping ok\nreadyz check passed\n");
  });

  it("returns its discovery documents", async () => {
    const core = createTestCore();
    expect((await core.call("GET", "/apis/ex.io/v1")).body).toMatchObject({ kind: "APIResourceList" });
    expect((await core.call("GET", "/")).body).toMatchObject({ paths: expect.arrayContaining(["/apis/ex.io/v1"]) });
  });

  it("serves only the objects that an API root shows, and writes only objects that it admits", async () => {
    const core = createTestCore([namespaces, configMaps], {
      visible: (_definition, { metadata }) => metadata.labels?.shown === "true",
      admit: (_target, { metadata }) => {
        if (metadata.name === "never") throw new Error("not admitted");
      },
    });
    const shown = { metadata: { labels: { shown: "true" } } };
    await core.call("POST", maps, { body: aConfigMap("seen", shown) });
    await core.call("POST", maps, { body: aConfigMap("unseen") });
    expect((await core.call("GET", maps)).body).toMatchObject({ items: [{ metadata: { name: "seen" } }] });
    for (const method of ["GET", "PUT", "PATCH", "DELETE"]) {
      const options = method === "GET" || method === "DELETE" ? {} : { body: aConfigMap("unseen") };
      expect((await core.call(method, `${maps}/unseen`, options)).status).toBe(404);
    }
    expect((await core.call("POST", maps, { body: aConfigMap("never", shown) })).status).toBe(500);
    expect(core.store.list("configmaps")).toHaveLength(2);
  });

  it("responds to an unexpected error with 500", async () => {
    const core = createTestCore([namespaces, configMaps], {
      authorize: () => {
        throw new Error("boom");
      },
    });
    expect((await core.call("GET", maps)).body).toMatchObject({
      code: 500,
      reason: "InternalError",
      message: "Internal error occurred: boom",
    });
  });
});
