import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { expect, it } from "vitest";
import {
  aConfigMap,
  type ConfigMap,
  configMaps,
  eventually,
  eventuallyGone,
  eventuallyOk,
  namespaces,
  refusal,
  secrets,
  unique,
} from "../resources.ts";
import type { MakeRoom, Room } from "../server-under-test.ts";

export function deletionCases(room: MakeRoom): void {
  const address = (namespace: string, name = "a") => ({ type: configMaps, namespace, name });
  const withMap = async (metadata: object = {}): Promise<Room & { made: ConfigMap }> => {
    const here = await room();
    const made = await here.client.create<ConfigMap>(
      { type: configMaps, namespace: here.namespace },
      aConfigMap("a", {}, metadata),
    );
    return { ...here, made };
  };
  const release = (here: Room, name = "a"): Promise<KubeObject> =>
    here.client.patch(address(here.namespace, name), { type: "merge", body: { metadata: { finalizers: null } } });

  it("removes an object at once and answers with a Status", async () => {
    const { client, namespace, made } = await withMap();
    expect(await client.delete(address(namespace))).toEqual({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Success",
      details: { name: "a", kind: "configmaps", uid: made.metadata.uid },
    });
    expect(await refusal(client.get(address(namespace)))).toMatchObject({ status: 404 });
  });

  it("refuses to delete what is not there", async () => {
    const { client, namespace } = await room();
    expect(await refusal(client.delete(address(namespace, "none")))).toMatchObject({ status: 404, reason: "NotFound" });
  });

  it("refuses to delete an object with another uid than the precondition's", async () => {
    const { client, namespace } = await withMap();
    const failure = await refusal(
      client.delete(address(namespace), { preconditions: { uid: "11111111-1111-1111-1111-111111111111" } }),
    );
    expect(failure).toMatchObject({ status: 409, reason: "Conflict" });
    expect(failure.message).toContain(
      "the UID in the precondition (11111111-1111-1111-1111-111111111111) does not match the UID in record",
    );
    await client.get(address(namespace));
  });

  it("refuses to delete an object that has changed since the precondition's resourceVersion", async () => {
    const { client, namespace } = await withMap();
    const failure = await refusal(client.delete(address(namespace), { preconditions: { resourceVersion: "1" } }));
    expect(failure).toMatchObject({ status: 409, reason: "Conflict" });
    await client.get(address(namespace));
  });

  it("deletes when the preconditions hold", async () => {
    const { client, namespace, made } = await withMap();
    await client.delete(address(namespace), {
      preconditions: { uid: made.metadata.uid, resourceVersion: made.metadata.resourceVersion },
    });
    expect(await refusal(client.get(address(namespace)))).toMatchObject({ status: 404 });
  });

  it("keeps an object with finalizers, marked as being deleted", async () => {
    const here = await withMap({ finalizers: ["example.com/hold"] });
    const answer = (await here.client.delete(address(here.namespace))) as KubeObject;
    expect(answer.metadata.deletionTimestamp).toMatch(/^\d{4}-/);
    expect(answer.metadata.deletionGracePeriodSeconds).toBe(0);
    const object = await here.client.get(address(here.namespace));
    expect(object.metadata.deletionTimestamp).toBe(answer.metadata.deletionTimestamp);
    await release(here);
  });

  it("removes the object when its last finalizer goes", async () => {
    const here = await withMap({ finalizers: ["example.com/hold"] });
    await here.client.delete(address(here.namespace));
    await release(here);
    expect(await refusal(here.client.get(address(here.namespace)))).toMatchObject({ status: 404 });
  });

  it("keeps the object while one of two finalizers is left", async () => {
    const here = await withMap({ finalizers: ["example.com/a", "example.com/b"] });
    await here.client.delete(address(here.namespace));
    const next = await here.client.patch(address(here.namespace), {
      type: "merge",
      body: { metadata: { finalizers: ["example.com/b"] } },
    });
    expect(next.metadata.deletionTimestamp).toBeDefined();
    await here.client.get(address(here.namespace));
    await release(here);
  });

  it("refuses new finalizers on an object being deleted", async () => {
    const here = await withMap({ finalizers: ["example.com/hold"] });
    await here.client.delete(address(here.namespace));
    const failure = await refusal(
      here.client.patch(address(here.namespace), {
        type: "merge",
        body: { metadata: { finalizers: ["example.com/hold", "example.com/new"] } },
      }),
    );
    expect(failure).toMatchObject({ status: 422, reason: "Invalid" });
    expect(failure.message).toContain(
      'metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"example.com/new"}',
    );
    await release(here);
  });

  it("keeps the first deletion time when deleted again", async () => {
    const here = await withMap({ finalizers: ["example.com/hold"] });
    const first = (await here.client.delete(address(here.namespace))) as KubeObject;
    const second = (await here.client.delete(address(here.namespace))) as KubeObject;
    expect(second.metadata.deletionTimestamp).toBe(first.metadata.deletionTimestamp);
    expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
    await release(here);
  });

  it("refuses a finalizer without a domain", async () => {
    const { client, namespace } = await room();
    const failure = await refusal(
      client.create({ type: configMaps, namespace }, aConfigMap("a", {}, { finalizers: ["nodomain"] })),
    );
    expect(failure).toMatchObject({ status: 422, reason: "Invalid" });
    expect(failure.message).toContain(
      'metadata.finalizers[0]: Invalid value: "nodomain": name is neither a standard finalizer name nor is it fully qualified',
    );
  });

  it("writes nothing on a dry run", async () => {
    const { client, namespace } = await withMap();
    await client.delete(address(namespace), { dryRun: true });
    await client.get(address(namespace));
  });

  it("deletes a collection by label", async () => {
    const { client, namespace } = await room();
    for (const [name, group] of [
      ["a", "x"],
      ["b", "x"],
      ["c", "y"],
    ] as const) {
      await client.create(
        { type: secrets, namespace },
        { apiVersion: "v1", kind: "Secret", metadata: { name, labels: { group } } },
      );
    }
    await client.deleteAll({ type: secrets, namespace }, { labelSelector: "group=x" });
    expect((await client.list({ type: secrets, namespace })).items.map((item) => item.metadata.name)).toEqual(["c"]);
  });

  it("collects the dependents of an owner that was deleted", async () => {
    const { client, namespace, made } = await withMap();
    const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "a", uid: made.metadata.uid }];
    await client.create({ type: configMaps, namespace }, aConfigMap("child", {}, { ownerReferences }));
    await client.delete(address(namespace), { propagationPolicy: "Background" });
    await eventuallyGone(client, address(namespace, "child"), 45_000);
  }, 60_000);

  it("leaves the dependents of an owner that was deleted as orphans", async () => {
    const { client, namespace, made } = await withMap();
    const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "a", uid: made.metadata.uid }];
    await client.create({ type: configMaps, namespace }, aConfigMap("child", {}, { ownerReferences }));
    await client.delete(address(namespace), { propagationPolicy: "Orphan" });
    await eventuallyGone(client, address(namespace), 45_000);
    const child = await client.get(address(namespace, "child"));
    expect(child.metadata.ownerReferences ?? []).toEqual([]);
  }, 60_000);

  it("deletes dependents first when asked to, and the owner last", async () => {
    const { client, namespace, made } = await withMap();
    const ownerReferences = [
      { apiVersion: "v1", kind: "ConfigMap", name: "a", uid: made.metadata.uid, blockOwnerDeletion: true },
    ];
    await client.create(
      { type: configMaps, namespace },
      aConfigMap("child", {}, { ownerReferences, finalizers: ["example.com/hold"] }),
    );
    const answer = (await client.delete(address(namespace), { propagationPolicy: "Foreground" })) as KubeObject;
    expect(answer.metadata.finalizers).toContain("foregroundDeletion");
    await eventually(async () => {
      const child = await client.get(address(namespace, "child"));
      return child.metadata.deletionTimestamp === undefined ? "the child is not being deleted" : undefined;
    }, 45_000);
    await client.get(address(namespace));
    await client.patch(address(namespace, "child"), { type: "merge", body: { metadata: { finalizers: null } } });
    await eventuallyGone(client, address(namespace), 45_000);
  }, 60_000);

  it("collects an object whose owner never was", async () => {
    const { client, namespace } = await room();
    const ownerReferences = [
      { apiVersion: "v1", kind: "ConfigMap", name: "ghost", uid: "11111111-1111-1111-1111-111111111111" },
    ];
    await client.create({ type: configMaps, namespace }, aConfigMap("child", {}, { ownerReferences }));
    await eventuallyGone(client, address(namespace, "child"), 45_000);
  }, 60_000);

  it("empties a namespace before it goes", async () => {
    const here = await withMap({ finalizers: ["example.com/hold"] });
    await here.client.create(
      { type: secrets, namespace: here.namespace },
      { apiVersion: "v1", kind: "Secret", metadata: { name: "s" } },
    );
    await here.client.delete({ type: namespaces, name: here.namespace });
    await eventually(async () => {
      const { items } = await here.client.list({ type: secrets, namespace: here.namespace });
      return items.length === 0 ? undefined : "the secret is still there";
    });
    const namespace = await here.client.get<KubeObject & { status: { phase: string } }>({
      type: namespaces,
      name: here.namespace,
    });
    expect(namespace.status.phase).toBe("Terminating");
    await release(here);
    await eventuallyGone(here.client, { type: namespaces, name: here.namespace }, 45_000);
  }, 60_000);

  it("refuses new objects in a namespace that is going", async () => {
    const here = await withMap({ finalizers: ["example.com/hold"] });
    await here.client.delete({ type: namespaces, name: here.namespace });
    // A server hears of the deletion by a watch of its own, a moment after it has answered: it may still take one.
    const { name, failure } = await eventuallyOk(async () => {
      const late = unique("late");
      const create = here.client.create({ type: configMaps, namespace: here.namespace }, aConfigMap(late));
      return { name: late, failure: await refusal(create) };
    });
    expect(failure).toEqual({
      status: 403,
      reason: "Forbidden",
      message: `configmaps "${name}" is forbidden: unable to create new content in namespace ${here.namespace} because it is being terminated`,
    });
    await release(here);
  });
}
