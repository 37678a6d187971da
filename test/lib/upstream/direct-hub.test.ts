import { countedClient } from "@tmc/kube/counted-client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Hub } from "../../../lib/model/hub.ts";
import type { ObjectKey } from "../../../lib/model/key.ts";
import { createDirectHub } from "../../../lib/upstream/direct-hub.ts";
import { createObjectCache, type ObjectCache } from "../../../lib/upstream/object-cache.ts";
import { aPlacement, placements, startTenants, type Tenants } from "./tenants.ts";

const signal = new AbortController().signal;
let tenants: Tenants;
let logicalCluster: string;
let hub: Hub;
let cache: ObjectCache;
let requests: string[];
let counter = 0;
let key: ObjectKey;

beforeAll(async () => {
  tenants = await startTenants();
  logicalCluster = tenants.clusters[0] ?? "";
});
afterAll(() => tenants.stop());

beforeEach(async () => {
  cache = createObjectCache();
  requests = [];
  const client = countedClient(tenants.client, ({ verb, code }) => requests.push(`${verb} ${code}`));
  hub = createDirectHub({ client, cache });
  key = { logicalCluster, kind: "WorkloadPlacement", name: `web-${++counter}` };
  await tenants.at(logicalCluster).create(placements, aPlacement(key.name));
  await relist();
});

/** Fills the cache as a relay would. */
async function relist(): Promise<void> {
  cache.replace("WorkloadPlacement", logicalCluster, (await tenants.at(logicalCluster).listAll(placements)).items);
  cache.replace("ClusterRegistration", logicalCluster, []);
}
const read = async (): Promise<KubeObject> => {
  const object = await hub.read<KubeObject>(key, signal);
  if (object === undefined) throw new Error(`${key.name} is not there`);
  return object;
};
const stored = () => tenants.at(logicalCluster).get<KubeObject>({ ...placements, name: key.name });

describe("reads of a direct hub", () => {
  test("a direct hub reads from its cache without a request", async () => {
    expect((await read()).metadata.name).toBe(key.name);
    expect(await hub.read({ ...key, name: "none" }, signal)).toBeUndefined();
    await hub.list("WorkloadPlacement", logicalCluster, signal);
    expect(requests).toEqual([]);
  });

  test("a direct hub fails to list a logical cluster that is not cached completely", async () => {
    await expect(hub.list("WorkloadPlacement", "elsewhere", signal)).rejects.toMatchObject({ fault: "unreachable" });
  });

  test("a direct hub reads a stale object from the server once", async () => {
    await tenants
      .at(logicalCluster)
      .patch({ ...placements, name: key.name }, { type: "merge", body: { spec: { strategy: "Spread" } } });
    cache.markStale(key);
    expect((await read()).spec).toMatchObject({ strategy: "Spread" });
    await read();
    expect(requests).toEqual(["get 200"]);
  });

  test("an object that a list lacks is absent only after the server has confirmed it", async () => {
    cache.replace("WorkloadPlacement", logicalCluster, []);
    expect(await hub.read(key, signal)).toBeDefined();
    expect(cache.isStale(key)).toBe(false);

    await tenants.at(logicalCluster).delete({ ...placements, name: key.name });
    cache.replace("WorkloadPlacement", logicalCluster, []);
    expect(await hub.list("WorkloadPlacement", logicalCluster, signal)).not.toEqual([]);
    expect(await hub.read(key, signal)).toBeUndefined();
    expect(cache.get(key)).toBeUndefined();
  });
});

test("a type that is temporarily not served makes no cached object absent", async () => {
  const injection = tenants.kcp.faults.inject({
    match: { verb: "get" },
    effect: { kind: "status", code: 404, message: "the server could not find the requested resource" },
  });
  cache.markStale(key);
  await expect(hub.read(key, signal)).rejects.toMatchObject({ fault: "unreachable" });
  injection.remove();
  expect(cache.get(key)).toBeDefined();
});

describe("status writes of a direct hub", () => {
  test("a status write is one request, and its answer is cached", async () => {
    const status = { selectedClusters: ["east"], observedGeneration: 1 };
    await hub.writeStatus(key, await read(), status, signal);
    expect((await read()).status).toEqual(status);
    expect((await stored()).status).toEqual(status);
    expect(requests).toEqual(["patch 200"]);
  });

  test("a status write removes omitted fields", async () => {
    await hub.writeStatus(key, await read(), { selectedClusters: ["east"], observedGeneration: 1 }, signal);
    await hub.writeStatus(key, await read(), { selectedClusters: [] }, signal);
    expect((await stored()).status).toEqual({ selectedClusters: [] });
  });

  test("an unchanged status is not sent", async () => {
    await hub.writeStatus(key, await read(), { selectedClusters: ["east"] }, signal);
    requests.length = 0;
    await hub.writeStatus(key, await read(), { selectedClusters: ["east"], observedGeneration: undefined }, signal);
    expect(requests).toEqual([]);
  });

  test("a status write with an outdated object is a conflict, and the next read is fresh", async () => {
    const seen = await read();
    await tenants
      .at(logicalCluster)
      .patch({ ...placements, name: key.name }, { type: "merge", body: { spec: { strategy: "Spread" } } });
    const write = hub.writeStatus(key, seen, { selectedClusters: ["east"] }, signal);
    await expect(write).rejects.toSatisfy((error) => faultOf(error) === "conflict");
    expect((await stored()).status).toBeUndefined();
    expect((await read()).spec).toMatchObject({ strategy: "Spread" });
  });

  test("load includes a decision while its status write is in flight, and not after it has failed", async () => {
    const other = { ...key, name: "other" };
    const writing = hub.writeStatus(key, await read(), { selectedClusters: ["north"] }, signal);
    expect(cache.load(other).get("north")).toBe(1);
    await writing;
    expect(cache.load(other).get("north")).toBe(1);

    const injection = tenants.kcp.faults.inject({ match: { verb: "patch" }, effect: { kind: "status", code: 500 } });
    await expect(hub.writeStatus(key, await read(), { selectedClusters: ["south"] }, signal)).rejects.toThrow();
    injection.remove();
    expect([cache.load(other).get("north"), cache.load(other).get("south")]).toEqual([1, undefined]);
  });

  test("an object is read again after the answer of its write was lost", async () => {
    const injection = tenants.kcp.faults.inject({
      match: { verb: "patch" },
      effect: { kind: "reset", when: "after" },
    });
    await expect(hub.writeStatus(key, await read(), { selectedClusters: ["east"] }, signal)).rejects.toThrow();
    injection.remove();
    expect((await read()).status).toEqual({ selectedClusters: ["east"] });
  });
});

test("finalizers are replaced on the object that was read", async () => {
  await hub.writeFinalizers(key, await read(), ["tmc.kcp.io/cluster"], signal);
  expect((await read()).metadata.finalizers).toEqual(["tmc.kcp.io/cluster"]);
  await hub.writeFinalizers(key, await read(), [], signal);
  expect((await stored()).metadata.finalizers ?? []).toEqual([]);
});

test("a direct hub reads Secrets from the server and from the same logical cluster", async () => {
  const client = tenants.at(logicalCluster);
  const secrets = { type: { group: "", version: "v1", plural: "secrets" }, namespace: "default" };
  const name = "credentials";
  await client.create(secrets, { apiVersion: "v1", kind: "Secret", metadata: { name }, data: { token: "c2VzYW1l" } });
  const address = { logicalCluster: logicalCluster, namespace: "default", name };
  expect((await hub.readSecret(address, signal))?.data).toEqual({ token: "c2VzYW1l" });
  await client.patch({ ...secrets, name }, { type: "merge", body: { data: { token: "b3Blbg==" } } });
  expect((await hub.readSecret(address, signal))?.data).toEqual({ token: "b3Blbg==" });
  expect(await hub.readSecret({ ...address, name: "none" }, signal)).toBeUndefined();
});

describe("a status that the server rejects", () => {
  test("a direct hub writes a status that the server rejects again with its reasons alone", async () => {
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
