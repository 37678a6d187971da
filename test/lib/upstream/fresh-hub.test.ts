import type { KubeClient } from "@tmc/kube/client.ts";
import { countedClient } from "@tmc/kube/counted-client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeList, KubeObject } from "@tmc/kube/kube-object.ts";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { ObjectKey } from "../../../lib/model/key.ts";
import { createFreshHub, type FreshHub } from "../../../lib/upstream/fresh-hub.ts";
import { aPlacement, placements, startTenants, type Tenants } from "./tenants.ts";

const signal = new AbortController().signal;
let tenants: Tenants;
let logicalCluster: string;
let hub: FreshHub;
let requests: string[];
let counter = 0;
let key: ObjectKey;

beforeAll(async () => {
  tenants = await startTenants();
  logicalCluster = tenants.clusters[0] ?? "";
});
afterAll(() => tenants.stop());

beforeEach(async () => {
  requests = [];
  const client = countedClient(tenants.client, ({ verb, code }) => requests.push(`${verb} ${code}`));
  hub = createFreshHub({ client });
  key = { logicalCluster, kind: "WorkloadPlacement", name: `web-${++counter}` };
  await tenants.at(logicalCluster).create(placements, aPlacement(key.name));
});

const read = async (): Promise<KubeObject> => {
  const object = await hub.read<KubeObject>(key, signal);
  if (object === undefined) throw new Error(`${key.name} is not there`);
  return object;
};
const list = () => hub.list<KubeObject>("WorkloadPlacement", logicalCluster, signal);
const listed = async (name = key.name) => (await list()).find(({ metadata }) => metadata.name === name);
const stored = () => tenants.at(logicalCluster).get<KubeObject>({ ...placements, name: key.name });
const change = () =>
  tenants
    .at(logicalCluster)
    .patch({ ...placements, name: key.name }, { type: "merge", body: { spec: { strategy: "Spread" } } });
const refuseAll = (code: number) =>
  tenants.kcp.faults.inject({
    match: {},
    effect: { kind: "status", code, message: "the server could not find the requested resource" },
  });

/** A client that returns a list some time after the server has answered it. */
function withDelayedLists(
  client: KubeClient,
  { onRead, until }: Readonly<{ onRead: () => void; until: () => Promise<void> | undefined }>,
): KubeClient {
  const list = async <T>(...call: Parameters<KubeClient["list"]>): Promise<KubeList<T>> => {
    const wait = until();
    const page = await client.list<T>(...call);
    onRead();
    await wait;
    return page;
  };
  return { ...client, list, at: (path) => withDelayedLists(client.at(path), { onRead, until }) };
}

describe("reads of a fresh hub", () => {
  test("a fresh hub reads an object from the server every time", async () => {
    await read();
    await change();
    expect((await read()).spec).toMatchObject({ strategy: "Spread" });
    expect(requests).toEqual(["get 200", "get 200"]);
  });

  test("a fresh hub returns undefined for a deleted object", async () => {
    await tenants.at(logicalCluster).delete({ ...placements, name: key.name });
    expect(await hub.read(key, signal)).toBeUndefined();
  });

  const calls: Record<string, () => Promise<unknown>> = {
    "an object": () => hub.read(key, signal),
    "a list": list,
    "a secret": () => hub.readSecret({ logicalCluster, namespace: "default", name: "any" }, signal),
    "a write": () => hub.writeFinalizers(key, { ...aPlacement(key.name, {}, { resourceVersion: "1" }) }, [], signal),
  };
  test.each(Object.keys(calls))(
    "a type that is temporarily not served is a transient fault, not an absent object: %s",
    async (what) => {
      const injection = refuseAll(404);
      await expect(calls[what]?.()).rejects.toMatchObject({ fault: "unreachable" });
      injection.remove();
    },
  );

  test.each(Object.keys(calls))("rejected credentials of TMC are a transient fault: %s", async (what) => {
    const injection = refuseAll(401);
    await expect(calls[what]?.()).rejects.toMatchObject({ fault: "unreachable" });
    injection.remove();
  });

  test.each(Object.keys(calls))("an expired resourceVersion is a transient fault: %s", async (what) => {
    const injection = refuseAll(410);
    await expect(calls[what]?.()).rejects.toMatchObject({ fault: "unreachable" });
    injection.remove();
  });
});

describe("lists of a fresh hub", () => {
  test("a list is read once per batch", async () => {
    await Promise.all([list(), list(), list()]);
    await list();
    expect(requests).toEqual(["list 200"]);
    hub.beginBatch();
    await list();
    expect(requests).toEqual(["list 200", "list 200"]);
  });

  test("a list is sorted by name and has no managed fields", async () => {
    await tenants.at(logicalCluster).create(placements, aPlacement("aaa"));
    const names = (await list()).map(({ metadata }) => metadata.name ?? "");
    expect(names).toEqual(names.toSorted());
    expect((await listed("aaa"))?.metadata.managedFields).toBeUndefined();
  });

  test("a failed list is read again by the next caller", async () => {
    const injection = tenants.kcp.faults.inject({ match: { verb: "list" }, effect: { kind: "status", code: 500 } });
    await expect(list()).rejects.toThrow();
    injection.remove();
    expect(await listed()).toBeDefined();
  });

  test("a list continues for the other callers when one of them aborts", async () => {
    const leaving = new AbortController();
    const left = hub.list("WorkloadPlacement", logicalCluster, leaving.signal);
    const stayed = list();
    leaving.abort(new Error("left"));
    await expect(left).rejects.toThrow("left");
    expect(await stayed).not.toEqual([]);
    expect(requests).toEqual(["list 200"]);
  });

  test("a list includes earlier writes of its batch", async () => {
    await list();
    await hub.writeStatus(key, await read(), { selectedClusters: ["east"] }, signal);
    expect((await listed())?.status).toEqual({ selectedClusters: ["east"] });
  });

  test("a list includes a write that was made while it was read", async () => {
    const read = Promise.withResolvers<void>();
    const given = Promise.withResolvers<void>();
    const slow = createFreshHub({
      client: withDelayedLists(tenants.client, { onRead: read.resolve, until: () => given.promise }),
    });
    const listing = slow.list<KubeObject>("WorkloadPlacement", logicalCluster, signal);
    await read.promise;
    await slow.writeStatus(key, await stored(), { selectedClusters: ["east"] }, signal);
    given.resolve();
    const found = (await listing).find(({ metadata }) => metadata.name === key.name);
    expect(found?.status).toEqual({ selectedClusters: ["east"] });
  });

  describe("a list of a batch during which another batch began", () => {
    /** A hub whose first list was read but is not returned until `releaseList`; another batch has begun since. */
    const withListInFlight = async () => {
      const read = Promise.withResolvers<void>();
      const given = Promise.withResolvers<void>();
      let lists = 0;
      const until = (): Promise<void> | undefined => (++lists === 1 ? given.promise : undefined);
      const slow = createFreshHub({ client: withDelayedLists(tenants.client, { onRead: read.resolve, until }) });
      const earlier = slow.list<KubeObject>("WorkloadPlacement", logicalCluster, signal);
      await read.promise;
      slow.beginBatch();
      return { slow, earlier, releaseList: given.resolve };
    };

    test("a list of an earlier batch includes the writes of that batch", async () => {
      const { slow, earlier, releaseList } = await withListInFlight();
      await slow.writeStatus(key, await stored(), { selectedClusters: ["east"] }, signal);
      releaseList();
      const found = (await earlier).find(({ metadata }) => metadata.name === key.name);
      expect(found?.status).toEqual({ selectedClusters: ["east"] });
    });

    test("a list of an earlier batch is replaced by a list that was read later", async () => {
      const { slow, earlier, releaseList } = await withListInFlight();
      await change();
      const newest = await slow.list<KubeObject>("WorkloadPlacement", logicalCluster, signal);
      releaseList();
      expect(await earlier).toBe(newest);
    });
  });

  test("a list includes objects that were read later, also new ones, and never an older version", async () => {
    const old = await stored();
    await list();
    await change();
    const late = { ...key, name: `${key.name}-late` };
    await tenants.at(logicalCluster).create(placements, aPlacement(late.name));
    await read();
    await hub.read(late, signal);
    expect((await listed())?.spec).toMatchObject({ strategy: "Spread" });
    expect((await listed(late.name))?.metadata.name).toBe(late.name);
    const names = (await list()).map(({ metadata }) => metadata.name ?? "");
    expect(names).toEqual(names.toSorted());
    expect((await listed())?.metadata.resourceVersion).not.toBe(old.metadata.resourceVersion);
  });

  test("a change returns a new list and does not modify the old one", async () => {
    const before = await list();
    const copy = structuredClone(before);
    await hub.writeStatus(key, await read(), { selectedClusters: ["east"] }, signal);
    expect(await list()).not.toBe(before);
    expect(before).toEqual(copy);
  });
});

describe("status writes of a fresh hub", () => {
  test("a status write is one request that removes omitted fields, and an unchanged status is not sent", async () => {
    const status = { selectedClusters: ["east"], observedGeneration: 1 };
    const written = await hub.writeStatus(key, await read(), status, signal);
    await hub.writeStatus(key, written, { ...status, decisions: undefined }, signal);
    expect(requests).toEqual(["get 200", "patch 200"]);
    await hub.writeStatus(key, written, { selectedClusters: [] }, signal);
    expect((await stored()).status).toEqual({ selectedClusters: [] });
  });

  test("a status write with an outdated object fails as a conflict and changes nothing", async () => {
    const seen = await read();
    await change();
    const write = hub.writeStatus(key, seen, { selectedClusters: ["east"] }, signal);
    await expect(write).rejects.toSatisfy((error) => faultOf(error) === "conflict");
    expect((await stored()).status).toBeUndefined();
  });

  test("a status write to a deleted object is the fault not-found", async () => {
    const seen = await read();
    await tenants.at(logicalCluster).delete({ ...placements, name: key.name });
    const write = hub.writeStatus(key, seen, { selectedClusters: ["east"] }, signal);
    await expect(write).rejects.toSatisfy((error) => faultOf(error) === "not-found");
  });

  test("a fresh hub reports each write to onWrite", async () => {
    const writes: string[] = [];
    const observed = createFreshHub({ client: tenants.client, onWrite: ({ part }) => writes.push(part) });
    const seen = await observed.writeFinalizers(key, await read(), ["tmc.kcp.io/cluster"], signal);
    await observed.writeStatus(key, seen, { selectedClusters: [] }, signal);
    await observed.writeFinalizers(key, await read(), [], signal);
    expect(writes).toEqual(["finalizers", "status", "finalizers"]);
    expect((await stored()).metadata.finalizers ?? []).toEqual([]);
  });
});

test("a fresh hub reads Secrets from the server and from the same logical cluster", async () => {
  const client = tenants.at(logicalCluster);
  const secrets = { type: { group: "", version: "v1", plural: "secrets" }, namespace: "default" };
  const name = "credentials";
  await client.create(secrets, { apiVersion: "v1", kind: "Secret", metadata: { name }, data: { token: "c2VzYW1l" } });
  const address = { logicalCluster: logicalCluster, namespace: "default", name };
  expect((await hub.readSecret(address, signal))?.data).toEqual({ token: "c2VzYW1l" });
  expect(await hub.readSecret({ ...address, name: "none" }, signal)).toBeUndefined();
});

describe("a status that the server rejects", () => {
  test("a fresh hub writes a status that the server rejects again with its reasons alone", async () => {
    const ready = (status: string, message: string) => ({
      conditions: [{ type: "Ready", status, reason: "Any", message, lastTransitionTime: "2026-01-01T00:00:00Z" }],
    });
    const first = await hub.writeStatus(
      key,
      await read(),
      { ...ready("True", "well"), selectedClusters: ["east"] },
      signal,
    );
    requests.length = 0;
    // Longer than the schema allows.
    const desired = { ...ready("False", "x".repeat(200_000)), selectedClusters: ["y".repeat(300)] };
    const written = await hub.writeStatus(key, first, desired, signal).catch(() => first);
    const reduced = {
      conditions: [{ status: "False", reason: "Any", message: "the API server rejected the details of this status" }],
      selectedClusters: ["east"],
    };
    expect(written.status).toMatchObject(reduced);
    expect((await stored()).status).toMatchObject(reduced);
    expect(requests).toEqual(["patch 422", "patch 200"]);
    // Without conditions nothing can be saved.
    await expect(hub.writeStatus(key, written, { selectedClusters: ["y".repeat(300)] }, signal)).rejects.toMatchObject({
      fault: "invalid",
    });
  });
});
