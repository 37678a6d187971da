import type { WriteOptions } from "@tmc/kube/client.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { expect, it } from "vitest";
import { aConfigMap, type ConfigMap, configMaps, failureOf, refusal } from "../resources.ts";
import type { MakeRoom, Room } from "../server-under-test.ts";

type Applied = (body: object, manager: string, options?: { force?: boolean } & WriteOptions) => Promise<ConfigMap>;

export function applyCases(room: MakeRoom): void {
  const applier = async (): Promise<Room & { apply: Applied; get: () => Promise<ConfigMap> }> => {
    const made = await room();
    const address = { type: configMaps, namespace: made.namespace, name: "m" };
    return {
      ...made,
      get: () => made.client.get<ConfigMap>(address),
      apply: (body, manager, { force, ...options } = {}) =>
        made.client.patch<ConfigMap>(address, { type: "apply", body, force }, { fieldManager: manager, ...options }),
    };
  };
  const aMap = (data: Record<string, string>, metadata: object = {}): KubeObject => aConfigMap("m", data, metadata);
  const noData = (metadata: object): object => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "m", ...metadata },
  });
  const owned = (object: KubeObject): Record<string, unknown> =>
    Object.fromEntries(
      (object.metadata.managedFields ?? []).map((entry) => [`${entry.manager} ${entry.operation}`, entry.fieldsV1]),
    );

  it("creates what is not there", async () => {
    const { apply } = await applier();
    const made = await apply(aMap({ a: "1" }), "alice");
    expect(made.data).toEqual({ a: "1" });
    expect(owned(made)).toEqual({ "alice Apply": { "f:data": { "f:a": {} } } });
  });

  it("changes nothing when the same is applied again", async () => {
    const { apply } = await applier();
    await apply(aMap({ a: "1" }), "alice");
    const settled = await apply(aMap({ a: "1" }), "alice");
    expect(await apply(aMap({ a: "1" }), "alice")).toEqual(settled);
  });

  it("removes a field that its only manager no longer applies", async () => {
    const { apply } = await applier();
    await apply(aMap({ a: "1", b: "2" }), "alice");
    expect((await apply(aMap({ a: "1" }), "alice")).data).toEqual({ a: "1" });
  });

  it("leaves other managers' fields alone", async () => {
    const { apply } = await applier();
    await apply(aMap({ a: "1" }), "alice");
    const next = await apply(aMap({ b: "2" }), "bob");
    expect(next.data).toEqual({ a: "1", b: "2" });
    expect(owned(next)).toEqual({
      "alice Apply": { "f:data": { "f:a": {} } },
      "bob Apply": { "f:data": { "f:b": {} } },
    });
  });

  it("shares a field that two managers apply with the same value", async () => {
    const { apply } = await applier();
    await apply(aMap({ a: "1" }), "alice");
    await apply(aMap({ a: "1" }), "bob");
    const less = await apply(aMap({}), "alice");
    expect(less.data).toEqual({ a: "1" });
  });

  it("refuses to change another manager's field and says whose it is", async () => {
    const { apply } = await applier();
    await apply(aMap({ a: "1" }), "alice");
    const error = await failureOf(apply(aMap({ a: "2" }), "bob"));
    expect(error.status).toBe(409);
    expect(error.body).toMatchObject({
      reason: "Conflict",
      message: 'Apply failed with 1 conflict: conflict with "alice": .data.a',
      details: { causes: [{ reason: "FieldManagerConflict", message: 'conflict with "alice"', field: ".data.a" }] },
    });
  });

  it("names every conflict", async () => {
    const { apply } = await applier();
    await apply(aMap({ a: "1" }), "alice");
    await apply(aMap({ b: "1" }), "carol");
    const { message } = await refusal(apply(aMap({ a: "2", b: "2" }), "bob"));
    expect(message).toBe(
      'Apply failed with 2 conflicts: conflicts with "alice":\n- .data.a\nconflicts with "carol":\n- .data.b',
    );
  });

  it("takes a field over when forced", async () => {
    const { apply } = await applier();
    await apply(aMap({ a: "1" }), "alice");
    const next = await apply(aMap({ a: "2" }), "bob", { force: true });
    expect(next.data).toEqual({ a: "2" });
    expect(owned(next)).toEqual({ "bob Apply": { "f:data": { "f:a": {} } } });
  });

  it("conflicts with a field that was set by an update", async () => {
    const { client, namespace, apply } = await applier();
    await client.create({ type: configMaps, namespace }, aMap({ a: "1" }), { fieldManager: "alice" });
    const { message } = await refusal(apply(aMap({ a: "2" }), "bob"));
    expect(message).toMatch(/^Apply failed with 1 conflict: conflict with "alice" using v1: \.data\.a$/);
  });

  it("keeps a field that an update by another manager also owns", async () => {
    const { client, namespace, apply } = await applier();
    await apply(aMap({ a: "1" }), "alice");
    await client.patch(
      { type: configMaps, namespace, name: "m" },
      { type: "merge", body: { data: { a: "2" } } },
      { fieldManager: "bob" },
    );
    const next = await client.get<ConfigMap>({ type: configMaps, namespace, name: "m" });
    expect(owned(next)).toEqual({ "bob Update": { "f:data": { "f:a": {} } } });
  });

  it("demands a field manager", async () => {
    const { client, namespace } = await room();
    const { status, text } = await client.raw("PATCH", `/api/v1/namespaces/${namespace}/configmaps/m`, {
      body: JSON.stringify(aMap({})),
      contentType: "application/apply-patch+yaml",
    });
    expect(status).toBe(422);
    expect(JSON.parse(text).message).toContain("fieldManager: Required value: is required for apply patch");
  });

  it("demands apiVersion and kind", async () => {
    const { apply } = await applier();
    const failure = await refusal(apply({ metadata: { name: "m" }, data: {} }, "alice"));
    expect(failure.status).toBe(400);
  });

  it("refuses managed fields in what is applied", async () => {
    const { apply } = await applier();
    const failure = await refusal(
      apply({ ...aMap({}), metadata: { name: "m", managedFields: [{ manager: "x" }] } }, "alice"),
    );
    expect(failure).toMatchObject({ status: 400, reason: "BadRequest", message: "metadata.managedFields must be nil" });
  });

  it("refuses an apply from an older resourceVersion", async () => {
    const { apply } = await applier();
    await apply(aMap({ a: "1" }), "alice");
    const failure = await refusal(apply(aMap({ a: "2" }, { resourceVersion: "1" }), "alice"));
    expect(failure).toMatchObject({ status: 409, reason: "Conflict" });
  });

  it("does not create when a uid is given", async () => {
    const { apply } = await applier();
    const failure = await refusal(apply(aMap({ a: "1" }, { uid: "11111111-1111-1111-1111-111111111111" }), "alice"));
    expect(failure.status).toBe(409);
  });

  it("writes nothing on a dry run", async () => {
    const { apply, get } = await applier();
    expect((await apply(aMap({ a: "1" }), "alice", { dryRun: true })).data).toEqual({ a: "1" });
    expect(await refusal(get())).toMatchObject({ status: 404 });
  });

  it("owns labels and annotations one by one", async () => {
    const { apply } = await applier();
    await apply(noData({ labels: { a: "1" }, annotations: { x: "1" } }), "alice");
    const next = await apply(noData({ labels: { b: "2" } }), "bob");
    expect(next.metadata.labels).toEqual({ a: "1", b: "2" });
    expect(owned(next)).toMatchObject({
      "alice Apply": { "f:metadata": { "f:annotations": { "f:x": {} }, "f:labels": { "f:a": {} } } },
      "bob Apply": { "f:metadata": { "f:labels": { "f:b": {} } } },
    });
  });

  it("treats finalizers as a set", async () => {
    const { apply, client, namespace } = await applier();
    await apply(noData({ finalizers: ["example.com/a"] }), "alice");
    const next = await apply(noData({ finalizers: ["example.com/b"] }), "bob");
    expect(next.metadata.finalizers?.toSorted()).toEqual(["example.com/a", "example.com/b"]);
    expect(owned(next)["bob Apply"]).toEqual({ "f:metadata": { "f:finalizers": { 'v:"example.com/b"': {} } } });
    await client.patch(
      { type: configMaps, namespace, name: "m" },
      { type: "merge", body: { metadata: { finalizers: null } } },
    );
  });

  it("treats owner references as a list keyed by uid", async () => {
    const { apply } = await applier();
    const owner = await apply(aMap({ a: "1" }), "alice");
    const reference = { apiVersion: "v1", kind: "ConfigMap", name: "m", uid: owner.metadata.uid ?? "" };
    const next = await apply(noData({ ownerReferences: [reference] }), "bob");
    expect(owned(next)["bob Apply"]).toEqual({
      "f:metadata": { "f:ownerReferences": { [`k:{"uid":"${reference.uid}"}`]: {} } },
    });
  });

  it("forgets all managers when the list is emptied", async () => {
    const { apply, client, namespace } = await applier();
    await apply(aMap({ a: "1" }), "alice");
    const next = await client.patch(
      { type: configMaps, namespace, name: "m" },
      { type: "json", body: [{ op: "replace", path: "/metadata/managedFields", value: [{}] }] },
      { fieldManager: "carol" },
    );
    expect(next.metadata.managedFields ?? []).toEqual([]);
  });

  it("takes YAML in an apply", async () => {
    const { client, namespace } = await room();
    const { status, text } = await client.raw(
      "PATCH",
      `/api/v1/namespaces/${namespace}/configmaps/yaml?fieldManager=alice`,
      {
        body: `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yaml\n  namespace: ${namespace}\ndata:\n  a: '1'\n`,
        contentType: "application/apply-patch+yaml",
      },
    );
    expect({ status, text }).toEqual({ status: 201, text: expect.anything() });
  });
}
