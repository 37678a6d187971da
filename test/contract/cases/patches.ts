import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { expect, it } from "vitest";
import { aConfigMap, type ConfigMap, configMaps, refusal, serviceAccounts } from "../resources.ts";
import type { MakeRoom, Room } from "../server-under-test.ts";

export function patchCases(room: MakeRoom): void {
  const withMap = async (
    data: Record<string, string> = { a: "1", b: "2" },
  ): Promise<Room & { address: { type: typeof configMaps; namespace: string; name: string } }> => {
    const made = await room();
    await made.client.create(
      { type: configMaps, namespace: made.namespace },
      aConfigMap("m", data, { labels: { l: "1" } }),
    );
    return { ...made, address: { type: configMaps, namespace: made.namespace, name: "m" } };
  };

  it("merges a merge patch: sets, changes, and removes by null", async () => {
    const { client, address } = await withMap();
    const next = await client.patch<ConfigMap>(address, { type: "merge", body: { data: { a: null, b: "3", c: "4" } } });
    expect(next.data).toEqual({ b: "3", c: "4" });
  });

  it("replaces lists as a whole in a merge patch", async () => {
    const { client, namespace } = await room();
    const owner = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "f", finalizers: ["example.com/a", "example.com/b"] },
    };
    await client.create({ type: configMaps, namespace }, owner);
    const next = await client.patch(
      { type: configMaps, namespace, name: "f" },
      { type: "merge", body: { metadata: { finalizers: ["example.com/c"] } } },
    );
    expect(next.metadata.finalizers).toEqual(["example.com/c"]);
    await client.patch(
      { type: configMaps, namespace, name: "f" },
      { type: "merge", body: { metadata: { finalizers: null } } },
    );
  });

  it("refuses a merge patch from an older resourceVersion", async () => {
    const { client, address } = await withMap();
    const failure = await refusal(
      client.patch(address, { type: "merge", body: { metadata: { resourceVersion: "1" }, data: { a: "9" } } }),
    );
    expect(failure).toMatchObject({ status: 409, reason: "Conflict" });
    expect(failure.message).toContain("the object has been modified");
  });

  it("refuses a patch that is no object", async () => {
    const { client, address } = await withMap();
    const { status } = await client.raw("PATCH", `/api/v1/namespaces/${address.namespace}/configmaps/m`, {
      body: "[]",
      contentType: "application/merge-patch+json",
    });
    expect(status).toBe(400);
  });

  it("applies a JSON patch in order", async () => {
    const { client, address } = await withMap();
    const next = await client.patch<ConfigMap>(address, {
      type: "json",
      body: [
        { op: "test", path: "/data/a", value: "1" },
        { op: "replace", path: "/data/a", value: "2" },
        { op: "add", path: "/data/c", value: "3" },
        { op: "move", from: "/data/b", path: "/data/d" },
        { op: "copy", from: "/data/c", path: "/data/e" },
      ],
    });
    expect(next.data).toEqual({ a: "2", c: "3", d: "2", e: "3" });
  });

  it("refuses a JSON patch whose test fails, and changes nothing", async () => {
    const { client, address } = await withMap();
    const failure = await refusal(
      client.patch(address, {
        type: "json",
        body: [
          { op: "replace", path: "/data/a", value: "2" },
          { op: "test", path: "/data/b", value: "wrong" },
        ],
      }),
    );
    expect(failure).toMatchObject({ status: 422, reason: "Invalid" });
    expect((await client.get<ConfigMap>(address)).data).toEqual({ a: "1", b: "2" });
  });

  it("refuses a JSON patch that removes what is not there", async () => {
    const { client, address } = await withMap();
    expect(
      await refusal(client.patch(address, { type: "json", body: [{ op: "remove", path: "/data/none" }] })),
    ).toMatchObject({
      status: 422,
      reason: "Invalid",
    });
  });

  it("reads escaped slashes in JSON patch paths", async () => {
    const { client, address } = await withMap();
    const next = await client.patch(address, {
      type: "json",
      body: [
        { op: "add", path: "/metadata/annotations", value: {} },
        { op: "add", path: "/metadata/annotations/example.com~1a", value: "x" },
      ],
    });
    expect(next.metadata.annotations).toMatchObject({ "example.com/a": "x" });
  });

  it("refuses a patch of an object that is not there", async () => {
    const { client, namespace } = await room();
    const call = client.patch(
      { type: configMaps, namespace, name: "none" },
      { type: "merge", body: { data: { a: "1" } } },
    );
    expect(await refusal(call)).toEqual({ status: 404, reason: "NotFound", message: 'configmaps "none" not found' });
  });

  it("refuses a patch of an unknown media type", async () => {
    const { client, address } = await withMap();
    const { status, text } = await client.raw("PATCH", `/api/v1/namespaces/${address.namespace}/configmaps/m`, {
      body: "{}",
      contentType: "application/json",
    });
    expect(status).toBe(415);
    expect(text).toContain("415: Unsupported Media Type");
  });

  it("keeps the resourceVersion when a patch changes nothing", async () => {
    const { client, address } = await withMap();
    const before = await client.patch(address, { type: "merge", body: { data: { a: "1" } } });
    const after = await client.patch(address, { type: "merge", body: { data: { a: "1" } } });
    expect(after.metadata.resourceVersion).toBe(before.metadata.resourceVersion);
  });

  it("writes nothing when a patch is a dry run", async () => {
    const { client, address } = await withMap();
    const would = await client.patch<ConfigMap>(
      address,
      { type: "merge", body: { data: { a: "9" } } },
      { dryRun: true },
    );
    expect(would.data?.a).toBe("9");
    expect((await client.get<ConfigMap>(address)).data?.a).toBe("1");
  });

  it("refuses a patch that changes the name", async () => {
    const { client, address } = await withMap();
    const failure = await refusal(client.patch(address, { type: "merge", body: { metadata: { name: "other" } } }));
    expect(failure).toEqual({
      status: 400,
      reason: "BadRequest",
      message: "the name of the object (other) does not match the name on the URL (m)",
    });
  });

  it("merges maps in a strategic patch", async () => {
    const { client, address } = await withMap();
    const next = await client.patch<ConfigMap>(address, {
      type: "strategic",
      body: { data: { a: null, c: "3" }, metadata: { labels: { k: "2" } } },
    });
    expect(next.data).toEqual({ b: "2", c: "3" });
    expect(next.metadata.labels).toEqual({ l: "1", k: "2" });
  });

  it("replaces a map when a strategic patch says so", async () => {
    const { client, address } = await withMap();
    const next = await client.patch<ConfigMap>(address, {
      type: "strategic",
      body: { data: { $patch: "replace", z: "1" } },
    });
    expect(next.data).toEqual({ z: "1" });
  });

  const byKey: [string, { patch: object[]; gives: object[] }][] = [
    [
      "merges a list by its key in a strategic patch",
      { patch: [{ name: "one" }, { name: "three" }], gives: [{ name: "one" }, { name: "three" }, { name: "two" }] },
    ],
    [
      "deletes a list item by its key in a strategic patch",
      { patch: [{ $patch: "delete", name: "one" }], gives: [{ name: "two" }] },
    ],
  ];
  it.each(byKey)("%s", async (_rule, { patch, gives }) => {
    const { client, namespace } = await room();
    const account = {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: "s" },
      secrets: [{ name: "one" }, { name: "two" }],
    };
    await client.create({ type: serviceAccounts, namespace }, account);
    const next = await client.patch<KubeObject & { secrets: unknown[] }>(
      { type: serviceAccounts, namespace, name: "s" },
      { type: "strategic", body: { secrets: patch } },
    );
    expect(next.secrets).toEqual(gives);
  });

  it("adds to a set of finalizers and deletes from it in a strategic patch", async () => {
    const { client, namespace } = await room();
    await client.create({ type: configMaps, namespace }, aConfigMap("f", {}, { finalizers: ["example.com/a"] }));
    const address = { type: configMaps, namespace, name: "f" };
    const more = await client.patch(address, {
      type: "strategic",
      body: { metadata: { finalizers: ["example.com/b"] } },
    });
    expect(more.metadata.finalizers?.toSorted()).toEqual(["example.com/a", "example.com/b"]);
    const less = await client.patch(address, {
      type: "strategic",
      body: { metadata: { "$deleteFromPrimitiveList/finalizers": ["example.com/a"] } },
    });
    expect(less.metadata.finalizers).toEqual(["example.com/b"]);
    await client.patch(address, { type: "merge", body: { metadata: { finalizers: null } } });
  });
}
