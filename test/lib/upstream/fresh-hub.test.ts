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

/** A client whose lists have been answered by the server some time before whoever asked gets them. */
function withHeldLists(
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
  return { ...client, list, at: (path) => withHeldLists(client.at(path), { onRead, until }) };
}

describe("reading", () => {
  test("asks the server each time", async () => {
    await read();
    await change();
    expect((await read()).spec).toMatchObject({ strategy: "Spread" });
    expect(requests).toEqual(["get 200", "get 200"]);
  });

  test("what is gone is not there", async () => {
    await tenants.at(logicalCluster).delete({ ...placements, name: key.name });
    expect(await hub.read(key, signal)).toBeUndefined();
  });

  const calls: Record<string, () => Promise<unknown>> = {
    "an object": () => hub.read(key, signal),
    "a list": list,
    "a secret": () => hub.readSecret({ logicalCluster, namespace: "default", name: "any" }, signal),
    "a write": () => hub.writeFinalizers(key, { ...aPlacement(key.name, {}, { resourceVersion: "1" }) }, [], signal),
  };
  test.each(Object.keys(calls))("a type that is not served just now takes nothing away: %s", async (what) => {
    const injection = refuseAll(404);
    await expect(calls[what]?.()).rejects.toMatchObject({ fault: "unreachable" });
    injection.remove();
  });

  test.each(Object.keys(calls))("credentials of ours that are refused are trouble that may pass: %s", async (what) => {
    const injection = refuseAll(401);
    await expect(calls[what]?.()).rejects.toMatchObject({ fault: "unreachable" });
    injection.remove();
  });

  test.each(Object.keys(calls))("a version that the hub has forgotten is trouble that may pass: %s", async (what) => {
    const injection = refuseAll(410);
    await expect(calls[what]?.()).rejects.toMatchObject({ fault: "unreachable" });
    injection.remove();
  });
});

describe("a list", () => {
  test("is read once for all that ask in the same batch, and anew in the next", async () => {
    await Promise.all([list(), list(), list()]);
    await list();
    expect(requests).toEqual(["list 200"]);
    hub.beginBatch();
    await list();
    expect(requests).toEqual(["list 200", "list 200"]);
  });

  test("is in the order of names, with nothing that nobody reads", async () => {
    await tenants.at(logicalCluster).create(placements, aPlacement("aaa"));
    const names = (await list()).map(({ metadata }) => metadata.name ?? "");
    expect(names).toEqual(names.toSorted());
    expect((await listed("aaa"))?.metadata.managedFields).toBeUndefined();
  });

  test("that failed is read again by whoever asks next", async () => {
    const injection = tenants.kcp.faults.inject({ match: { verb: "list" }, effect: { kind: "status", code: 500 } });
    await expect(list()).rejects.toThrow();
    injection.remove();
    expect(await listed()).toBeDefined();
  });

  test("goes on for the others when one who waits for it leaves", async () => {
    const leaving = new AbortController();
    const left = hub.list("WorkloadPlacement", logicalCluster, leaving.signal);
    const stayed = list();
    leaving.abort(new Error("left"));
    await expect(left).rejects.toThrow("left");
    expect(await stayed).not.toEqual([]);
    expect(requests).toEqual(["list 200"]);
  });

  test("is not behind a write of its own batch", async () => {
    await list();
    await hub.writeStatus(key, await read(), { selectedClusters: ["east"] }, signal);
    expect((await listed())?.status).toEqual({ selectedClusters: ["east"] });
  });

  test("is not behind a write that was made while it was read", async () => {
    const read = Promise.withResolvers<void>();
    const given = Promise.withResolvers<void>();
    const slow = createFreshHub({
      client: withHeldLists(tenants.client, { onRead: read.resolve, until: () => given.promise }),
    });
    const listing = slow.list<KubeObject>("WorkloadPlacement", logicalCluster, signal);
    await read.promise;
    await slow.writeStatus(key, await stored(), { selectedClusters: ["east"] }, signal);
    given.resolve();
    const found = (await listing).find(({ metadata }) => metadata.name === key.name);
    expect(found?.status).toEqual({ selectedClusters: ["east"] });
  });

  describe("of a batch that another was begun beside", () => {
    /** A hub whose first list has been read and is on its way until it is let go; another batch has begun since. */
    const withOneOnItsWay = async () => {
      const read = Promise.withResolvers<void>();
      const given = Promise.withResolvers<void>();
      let lists = 0;
      const until = (): Promise<void> | undefined => (++lists === 1 ? given.promise : undefined);
      const slow = createFreshHub({ client: withHeldLists(tenants.client, { onRead: read.resolve, until }) });
      const earlier = slow.list<KubeObject>("WorkloadPlacement", logicalCluster, signal);
      await read.promise;
      slow.beginBatch();
      return { slow, earlier, letGo: given.resolve };
    };

    test("is not behind its own writes", async () => {
      const { slow, earlier, letGo } = await withOneOnItsWay();
      await slow.writeStatus(key, await stored(), { selectedClusters: ["east"] }, signal);
      letGo();
      const found = (await earlier).find(({ metadata }) => metadata.name === key.name);
      expect(found?.status).toEqual({ selectedClusters: ["east"] });
    });

    test("is not behind a list that was read later", async () => {
      const { slow, earlier, letGo } = await withOneOnItsWay();
      await change();
      const newest = await slow.list<KubeObject>("WorkloadPlacement", logicalCluster, signal);
      letGo();
      expect(await earlier).toBe(newest);
    });
  });

  test("has what was read since, a new object too, and never goes back to something older", async () => {
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

  test("hands out another list when something in it has changed, and leaves the old one as it was", async () => {
    const before = await list();
    const copy = structuredClone(before);
    await hub.writeStatus(key, await read(), { selectedClusters: ["east"] }, signal);
    expect(await list()).not.toBe(before);
    expect(before).toEqual(copy);
  });
});

describe("writing status", () => {
  test("is one request, takes away what is no longer said, and sends nothing when nothing differs", async () => {
    const status = { selectedClusters: ["east"], observedGeneration: 1 };
    const written = await hub.writeStatus(key, await read(), status, signal);
    await hub.writeStatus(key, written, { ...status, decisions: undefined }, signal);
    expect(requests).toEqual(["get 200", "patch 200"]);
    await hub.writeStatus(key, written, { selectedClusters: [] }, signal);
    expect((await stored()).status).toEqual({ selectedClusters: [] });
  });

  test("decided on an older object it fails as a conflict and changes nothing", async () => {
    const seen = await read();
    await change();
    const write = hub.writeStatus(key, seen, { selectedClusters: ["east"] }, signal);
    await expect(write).rejects.toSatisfy((error) => faultOf(error) === "conflict");
    expect((await stored()).status).toBeUndefined();
  });

  test("of an object that has gone meanwhile is the fault not-found", async () => {
    const seen = await read();
    await tenants.at(logicalCluster).delete({ ...placements, name: key.name });
    const write = hub.writeStatus(key, seen, { selectedClusters: ["east"] }, signal);
    await expect(write).rejects.toSatisfy((error) => faultOf(error) === "not-found");
  });

  test("is told of before it is made", async () => {
    const writes: string[] = [];
    const told = createFreshHub({ client: tenants.client, onWrite: ({ part }) => writes.push(part) });
    const seen = await told.writeFinalizers(key, await read(), ["tmc.kcp.io/cluster"], signal);
    await told.writeStatus(key, seen, { selectedClusters: [] }, signal);
    await told.writeFinalizers(key, await read(), [], signal);
    expect(writes).toEqual(["finalizers", "status", "finalizers"]);
    expect((await stored()).metadata.finalizers ?? []).toEqual([]);
  });
});

test("secrets are read fresh, from the same logical cluster", async () => {
  const client = tenants.at(logicalCluster);
  const secrets = { type: { group: "", version: "v1", plural: "secrets" }, namespace: "default" };
  const name = "credentials";
  await client.create(secrets, { apiVersion: "v1", kind: "Secret", metadata: { name }, data: { token: "c2VzYW1l" } });
  const address = { logicalCluster: logicalCluster, namespace: "default", name };
  expect((await hub.readSecret(address, signal))?.data).toEqual({ token: "c2VzYW1l" });
  expect(await hub.readSecret({ ...address, name: "none" }, signal)).toBeUndefined();
});
