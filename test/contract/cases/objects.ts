import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { expect, it } from "vitest";
import {
  aConfigMap,
  type ConfigMap,
  configMaps,
  eventually,
  leases,
  namespaces,
  refusal,
  secrets,
  unique,
} from "../resources.ts";
import type { MakeRoom } from "../server-under-test.ts";

export function objectCases(room: MakeRoom): void {
  it("gives a created object a uid, a resourceVersion and a creation time", async () => {
    const { client, namespace } = await room();
    const made = await client.create<ConfigMap>({ type: configMaps, namespace }, aConfigMap("a"));
    expect(made.metadata.uid).toMatch(/^[0-9a-f]{8}-[0-9a-f-]{27}$/);
    expect(Number(made.metadata.resourceVersion)).toBeGreaterThan(0);
    expect(made.metadata.creationTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect(made.metadata.namespace).toBe(namespace);
    expect(made.data).toEqual({ a: "1" });
  });

  it("answers a get with what was created", async () => {
    const { client, namespace } = await room();
    const made = await client.create({ type: configMaps, namespace }, aConfigMap("a"));
    expect(await client.get({ type: configMaps, namespace, name: "a" })).toEqual(made);
  });

  it("takes the namespace from the URL", async () => {
    const { client, namespace } = await room();
    const made = await client.create({ type: configMaps, namespace }, aConfigMap("a"));
    expect(made.metadata.namespace).toBe(namespace);
  });

  it("refuses a namespace that differs from the URL's", async () => {
    const { client, namespace } = await room();
    const call = client.create({ type: configMaps, namespace }, aConfigMap("a", {}, { namespace: "elsewhere" }));
    expect(await refusal(call)).toEqual({
      status: 400,
      reason: "BadRequest",
      message: `the namespace of the provided object does not match the namespace sent on the request`,
    });
  });

  it("makes a name from generateName", async () => {
    const { client, namespace } = await room();
    const made = await client.create(
      { type: configMaps, namespace },
      { apiVersion: "v1", kind: "ConfigMap", metadata: { generateName: "made-" } },
    );
    expect(made.metadata.name).toMatch(/^made-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    expect(made.metadata.generateName).toBe("made-");
  });

  it("refuses an object without a name", async () => {
    const { client, namespace } = await room();
    const call = client.create({ type: configMaps, namespace }, { apiVersion: "v1", kind: "ConfigMap", metadata: {} });
    expect(await refusal(call)).toEqual({
      status: 422,
      reason: "Invalid",
      message: `ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required`,
    });
  });

  it("refuses an illegal name and says what a legal one is", async () => {
    const { client, namespace } = await room();
    expect(await refusal(client.create({ type: configMaps, namespace }, aConfigMap("Not_Legal")))).toEqual({
      status: 422,
      reason: "Invalid",
      message:
        `ConfigMap "Not_Legal" is invalid: metadata.name: Invalid value: "Not_Legal": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', ` +
        `and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    });
  });

  it("refuses an illegal label", async () => {
    const { client, namespace } = await room();
    const failure = await refusal(
      client.create({ type: configMaps, namespace }, aConfigMap("a", {}, { labels: { a: "not legal!" } })),
    );
    expect(failure).toMatchObject({ status: 422, reason: "Invalid" });
    expect(failure.message).toContain(
      `ConfigMap "a" is invalid: metadata.labels: Invalid value: "not legal!": a valid label must be an empty string or`,
    );
  });

  it("refuses a second object of the same name", async () => {
    const { client, namespace } = await room();
    await client.create({ type: configMaps, namespace }, aConfigMap("a"));
    expect(await refusal(client.create({ type: configMaps, namespace }, aConfigMap("a")))).toEqual({
      status: 409,
      reason: "AlreadyExists",
      message: `configmaps "a" already exists`,
    });
  });

  it("says which object is not found", async () => {
    const { client, namespace } = await room();
    const call = client.get({ type: configMaps, namespace, name: "none" });
    expect(await refusal(call)).toEqual({ status: 404, reason: "NotFound", message: `configmaps "none" not found` });
  });

  it("names group and resource in the details of a refusal", async () => {
    const { client, namespace } = await room();
    const { text } = await client.raw("GET", `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/none`);
    expect(JSON.parse(text)).toEqual({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: `leases.coordination.k8s.io "none" not found`,
      reason: "NotFound",
      details: { name: "none", group: "coordination.k8s.io", kind: "leases" },
      code: 404,
    });
  });

  it("answers 404 for a type it does not serve", async () => {
    const { client } = await room();
    const { status, text } = await client.raw("GET", "/apis/nowhere.example.com/v1/things");
    expect(status).toBe(404);
    expect(text).toContain("404 page not found");
  });

  it("answers 404 with a Status for an unknown resource of a known group", async () => {
    const { client, namespace } = await room();
    const { status, text } = await client.raw("GET", `/api/v1/namespaces/${namespace}/things`);
    expect(status).toBe(404);
    expect(JSON.parse(text)).toMatchObject({
      reason: "NotFound",
      message: "the server could not find the requested resource",
    });
  });

  it("refuses an object in a namespace that does not exist", async () => {
    const { client } = await room();
    const call = client.create({ type: configMaps, namespace: "no-such" }, aConfigMap("a"));
    expect(await refusal(call)).toEqual({ status: 404, reason: "NotFound", message: `namespaces "no-such" not found` });
  });

  it("refuses a body of another kind", async () => {
    const { client, namespace } = await room();
    const failure = await refusal(
      client.create({ type: configMaps, namespace }, { apiVersion: "v1", kind: "Secret", metadata: { name: "a" } }),
    );
    expect(failure).toMatchObject({ status: 400, reason: "BadRequest" });
    expect(failure.message).toContain('Secret in version "v1" cannot be handled as a ConfigMap');
  });

  it("refuses a body that is no JSON", async () => {
    const { client, namespace } = await room();
    const { status, text } = await client.raw("POST", `/api/v1/namespaces/${namespace}/configmaps`, {
      body: "{",
      contentType: "application/json",
    });
    expect(status).toBe(400);
    expect(JSON.parse(text)).toMatchObject({ kind: "Status", reason: "BadRequest", code: 400 });
  });

  it("refuses a media type it does not know", async () => {
    const { client, namespace } = await room();
    const { status, text } = await client.raw("POST", `/api/v1/namespaces/${namespace}/configmaps`, {
      body: "{}",
      contentType: "text/plain",
    });
    expect(status).toBe(415);
    expect(JSON.parse(text)).toMatchObject({ reason: "UnsupportedMediaType" });
  });

  it("takes YAML bodies", async () => {
    const { client, namespace } = await room();
    const body = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: from-yaml\ndata:\n  a: b\n";
    const { status } = await client.raw("POST", `/api/v1/namespaces/${namespace}/configmaps`, {
      body,
      contentType: "application/yaml",
    });
    expect(status).toBe(201);
    expect((await client.get<ConfigMap>({ type: configMaps, namespace, name: "from-yaml" })).data).toEqual({ a: "b" });
  });

  it("replaces the whole object on update", async () => {
    const { client, namespace } = await room();
    const made = await client.create<ConfigMap>({ type: configMaps, namespace }, aConfigMap("a", { a: "1", b: "2" }));
    const next = await client.update<ConfigMap>(
      { type: configMaps, namespace, name: "a" },
      { ...made, data: { c: "3" } },
    );
    expect(next.data).toEqual({ c: "3" });
    expect(next.metadata.uid).toBe(made.metadata.uid);
    expect(Number(next.metadata.resourceVersion)).toBeGreaterThan(Number(made.metadata.resourceVersion));
  });

  it("refuses an update from an older resourceVersion", async () => {
    const { client, namespace } = await room();
    const made = await client.create<ConfigMap>({ type: configMaps, namespace }, aConfigMap("a"));
    await client.update({ type: configMaps, namespace, name: "a" }, { ...made, data: { a: "2" } });
    expect(
      await refusal(client.update({ type: configMaps, namespace, name: "a" }, { ...made, data: { a: "3" } })),
    ).toEqual({
      status: 409,
      reason: "Conflict",
      message: `Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again`,
    });
  });

  it("takes an update of a built-in type without a resourceVersion as unconditional", async () => {
    const { client, namespace } = await room();
    await client.create({ type: configMaps, namespace }, aConfigMap("a"));
    const next = await client.update<ConfigMap>(
      { type: configMaps, namespace, name: "a" },
      aConfigMap("a", { a: "9" }),
    );
    expect(next.data).toEqual({ a: "9" });
  });

  it("refuses an update with another uid", async () => {
    const { client, namespace } = await room();
    const made = await client.create<ConfigMap>({ type: configMaps, namespace }, aConfigMap("a"));
    const other = { ...made, metadata: { ...made.metadata, uid: "11111111-1111-1111-1111-111111111111" } };
    const failure = await refusal(client.update({ type: configMaps, namespace, name: "a" }, other));
    expect(failure).toMatchObject({ status: 409, reason: "Conflict" });
    expect(failure.message).toContain(
      "Precondition failed: UID in precondition: 11111111-1111-1111-1111-111111111111, UID in object meta:",
    );
  });

  it("refuses an update of an object that is not there", async () => {
    const { client, namespace } = await room();
    const made = aConfigMap("none", {}, { resourceVersion: "1" });
    expect(await refusal(client.update({ type: configMaps, namespace, name: "none" }, made))).toMatchObject({
      status: 404,
      reason: "NotFound",
    });
  });

  it("refuses an update whose name differs from the URL's", async () => {
    const { client, namespace } = await room();
    await client.create({ type: configMaps, namespace }, aConfigMap("a"));
    expect(await refusal(client.update({ type: configMaps, namespace, name: "a" }, aConfigMap("b")))).toEqual({
      status: 400,
      reason: "BadRequest",
      message: "the name of the object (b) does not match the name on the URL (a)",
    });
  });

  it("keeps the resourceVersion when a write changes nothing", async () => {
    const { client, namespace } = await room();
    const address = { type: configMaps, namespace, name: "a" };
    const settled = await client.update<ConfigMap>(
      address,
      await client.create<ConfigMap>({ type: configMaps, namespace }, aConfigMap("a")),
    );
    const again = await client.update<ConfigMap>(address, settled);
    expect(again.metadata.resourceVersion).toBe(settled.metadata.resourceVersion);
  });

  // kcp shows its annotation on every object but stores it with the first rewrite only.
  it("counts the first unchanged rewrite as a change on kcp, and none on a cluster", async () => {
    const { client, namespace, server } = await room();
    const made = await client.create<ConfigMap>({ type: configMaps, namespace }, aConfigMap("a"));
    const again = await client.update<ConfigMap>({ type: configMaps, namespace, name: "a" }, made);
    expect(again.metadata.resourceVersion !== made.metadata.resourceVersion).toBe(server.kind === "kcp");
  });

  it("keeps creation time and uid whatever an update says", async () => {
    const { client, namespace } = await room();
    const made = await client.create<ConfigMap>({ type: configMaps, namespace }, aConfigMap("a"));
    const { uid: _, ...metadata } = made.metadata;
    const next = await client.update<ConfigMap>(
      { type: configMaps, namespace, name: "a" },
      { ...made, metadata: { ...metadata, creationTimestamp: "2001-01-01T00:00:00Z", labels: { x: "y" } } },
    );
    expect(next.metadata.creationTimestamp).toBe(made.metadata.creationTimestamp);
    expect(next.metadata.uid).toBe(made.metadata.uid);
  });

  it("writes nothing on a dry run", async () => {
    const { client, namespace } = await room();
    const made = await client.create<ConfigMap>({ type: configMaps, namespace }, aConfigMap("a"), { dryRun: true });
    expect(made.metadata.uid).toBeDefined();
    expect(await refusal(client.get({ type: configMaps, namespace, name: "a" }))).toMatchObject({ status: 404 });
  });

  it("writes nothing on a dry run of an update and answers what would be", async () => {
    const { client, namespace } = await room();
    const made = await client.create<ConfigMap>({ type: configMaps, namespace }, aConfigMap("a"));
    const would = await client.update<ConfigMap>(
      { type: configMaps, namespace, name: "a" },
      { ...made, data: { a: "2" } },
      { dryRun: true },
    );
    expect(would.data).toEqual({ a: "2" });
    expect(await client.get({ type: configMaps, namespace, name: "a" })).toEqual(made);
  });

  it("turns a secret's stringData into data and defaults its type", async () => {
    const { client, namespace } = await room();
    const made = await client.create(
      { type: secrets, namespace },
      { apiVersion: "v1", kind: "Secret", metadata: { name: "s" }, stringData: { a: "hello" } },
    );
    expect(made).toMatchObject({ type: "Opaque", data: { a: Buffer.from("hello").toString("base64") } });
    expect(made).not.toHaveProperty("stringData");
  });

  it("refuses a change of an immutable config map", async () => {
    const { client, namespace } = await room();
    const made = await client.create<ConfigMap>(
      { type: configMaps, namespace },
      { ...aConfigMap("a"), immutable: true },
    );
    const failure = await refusal(
      client.update({ type: configMaps, namespace, name: "a" }, { ...made, data: { a: "2" } }),
    );
    expect(failure).toMatchObject({ status: 422, reason: "Invalid" });
    expect(failure.message).toContain("field is immutable when `immutable` is set");
  });

  it("puts the name label and phase on a namespace", async () => {
    const { client, namespace } = await room();
    const object = await client.get<KubeObject & { status: { phase: string }; spec: { finalizers: string[] } }>({
      type: namespaces,
      name: namespace,
    });
    expect(object.metadata.labels).toMatchObject({ "kubernetes.io/metadata.name": namespace });
    expect(object.status.phase).toBe("Active");
    expect(object.spec.finalizers).toEqual(["kubernetes"]);
  });

  it("gives a new namespace its default service account", async () => {
    const { client, namespace } = await room();
    await eventually(async () => {
      const { items } = await client.list({ type: { group: "", version: "v1", plural: "serviceaccounts" }, namespace });
      return items.some((item) => item.metadata.name === "default") ? undefined : "no service account named default";
    });
  });

  it("warns of an unknown field", async () => {
    const { client, namespace } = await room();
    const { status, headers } = await client.raw(
      "POST",
      `/api/v1/namespaces/${namespace}/configmaps?fieldValidation=Warn`,
      {
        body: JSON.stringify({ ...aConfigMap("a"), nonsense: 1 }),
        contentType: "application/json",
      },
    );
    expect(status).toBe(201);
    expect(headers.warning).toBe('299 - "unknown field \\"nonsense\\""');
  });

  it("refuses an unknown field when asked to be strict", async () => {
    const { client, namespace } = await room();
    const call = client.create(
      { type: configMaps, namespace },
      { ...aConfigMap("a"), nonsense: 1 },
      { fieldValidation: "Strict" },
    );
    expect(await refusal(call)).toEqual({
      status: 400,
      reason: "BadRequest",
      message: `ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "nonsense"`,
    });
  });

  it("records who wrote which field", async () => {
    const { client, namespace } = await room();
    const made = await client.create({ type: configMaps, namespace }, aConfigMap("a"), { fieldManager: "alice" });
    expect(made.metadata.managedFields).toEqual([
      {
        manager: "alice",
        operation: "Update",
        apiVersion: "v1",
        time: expect.any(String),
        fieldsType: "FieldsV1",
        fieldsV1: { "f:data": { ".": {}, "f:a": {} } },
      },
    ]);
  });

  it("keeps one entry per manager and moves a field to its last writer", async () => {
    const { client, namespace } = await room();
    const made = await client.create<ConfigMap>({ type: configMaps, namespace }, aConfigMap("a", { a: "1", b: "1" }), {
      fieldManager: "alice",
    });
    const next = await client.update<ConfigMap>(
      { type: configMaps, namespace, name: "a" },
      { ...made, data: { a: "2", b: "1" } },
      { fieldManager: "bob" },
    );
    const fields = Object.fromEntries(
      (next.metadata.managedFields ?? []).map((entry) => [entry.manager, entry.fieldsV1]),
    );
    expect(fields).toEqual({
      alice: { "f:data": { ".": {}, "f:b": {} } },
      bob: { "f:data": { "f:a": {} } },
    });
  });

  it("counts no generation on a type that has no spec to observe", async () => {
    const { client, namespace } = await room();
    const made = await client.create({ type: configMaps, namespace }, aConfigMap("a"));
    expect(made.metadata.generation).toBeUndefined();
  });

  it("serves leases, whose times have microseconds", async () => {
    const { client, namespace } = await room();
    const renewTime = "2026-01-02T03:04:05.678901Z";
    const lease = {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name: unique("lease") },
      spec: { holderIdentity: "me", renewTime },
    };
    expect(await client.create({ type: leases, namespace }, lease)).toMatchObject({
      spec: { holderIdentity: "me", renewTime },
    });
  });

  it("refuses a field of the wrong type", async () => {
    const { client, namespace } = await room();
    const failure = await refusal(
      client.create({ type: configMaps, namespace }, { ...aConfigMap("a"), data: { a: 1 } }),
    );
    expect(failure).toMatchObject({ status: 400, reason: "BadRequest" });
    expect(failure.message).toContain(
      `ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type string`,
    );
  });

  it("refuses POST on an object and PUT on a collection", async () => {
    const { client, namespace } = await room();
    const put = await client.raw("PUT", `/api/v1/namespaces/${namespace}/configmaps`, {
      body: JSON.stringify(aConfigMap("a")),
      contentType: "application/json",
    });
    expect(put.status).toBe(405);
    expect(JSON.parse(put.text)).toMatchObject({
      reason: "MethodNotAllowed",
      message: "the server does not allow this method on the requested resource",
    });
    const post = await client.raw("POST", `/api/v1/namespaces/${namespace}/configmaps/a`, {
      body: JSON.stringify(aConfigMap("a")),
      contentType: "application/json",
    });
    expect(post.status).toBe(405);
  });
}
