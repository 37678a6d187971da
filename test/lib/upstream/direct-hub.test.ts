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

/** What a relay would do. */
async function relist(): Promise<void> {
  cache.takeList("WorkloadPlacement", logicalCluster, (await tenants.at(logicalCluster).listAll(placements)).items);
  cache.takeList("ClusterRegistration", logicalCluster, []);
}
const read = async (): Promise<KubeObject> => {
  const object = await hub.read<KubeObject>(key, signal);
  if (object === undefined) throw new Error(`${key.name} is not there`);
  return object;
};
const stored = () => tenants.at(logicalCluster).get<KubeObject>({ ...placements, name: key.name });

describe("reading", () => {
  test("costs no request", async () => {
    expect((await read()).metadata.name).toBe(key.name);
    expect(await hub.read({ ...key, name: "none" }, signal)).toBeUndefined();
    await hub.list("WorkloadPlacement", logicalCluster, signal);
    expect(requests).toEqual([]);
  });

  test("a logical cluster of which not everything was seen cannot be listed", async () => {
    await expect(hub.list("WorkloadPlacement", "elsewhere", signal)).rejects.toMatchObject({ fault: "unreachable" });
  });

  test("asks the server once for a key in doubt", async () => {
    await tenants
      .at(logicalCluster)
      .patch({ ...placements, name: key.name }, { type: "merge", body: { spec: { strategy: "Spread" } } });
    cache.doubt(key);
    expect((await read()).spec).toMatchObject({ strategy: "Spread" });
    await read();
    expect(requests).toEqual(["get 200"]);
  });

  test("one that a list no longer names is gone only when the server says so", async () => {
    cache.takeList("WorkloadPlacement", logicalCluster, []);
    expect(await hub.read(key, signal)).toBeDefined();
    expect(cache.isDoubted(key)).toBe(false);

    await tenants.at(logicalCluster).delete({ ...placements, name: key.name });
    cache.takeList("WorkloadPlacement", logicalCluster, []);
    expect(await hub.list("WorkloadPlacement", logicalCluster, signal)).not.toEqual([]);
    expect(await hub.read(key, signal)).toBeUndefined();
    expect(cache.get(key)).toBeUndefined();
  });
});

test("a type that is not served just now takes no object away", async () => {
  const injection = tenants.kcp.faults.inject({
    match: { verb: "get" },
    effect: { kind: "status", code: 404, message: "the server could not find the requested resource" },
  });
  cache.doubt(key);
  await expect(hub.read(key, signal)).rejects.toMatchObject({ fault: "unreachable" });
  injection.remove();
  expect(cache.get(key)).toBeDefined();
});

describe("writing status", () => {
  test("is one request, and the answer is read from then on", async () => {
    const status = { selectedClusters: ["east"], observedGeneration: 1 };
    await hub.writeStatus(key, await read(), status, signal);
    expect((await read()).status).toEqual(status);
    expect((await stored()).status).toEqual(status);
    expect(requests).toEqual(["patch 200"]);
  });

  test("takes away what is no longer said", async () => {
    await hub.writeStatus(key, await read(), { selectedClusters: ["east"], observedGeneration: 1 }, signal);
    await hub.writeStatus(key, await read(), { selectedClusters: [] }, signal);
    expect((await stored()).status).toEqual({ selectedClusters: [] });
  });

  test("sends nothing when nothing differs", async () => {
    await hub.writeStatus(key, await read(), { selectedClusters: ["east"] }, signal);
    requests.length = 0;
    await hub.writeStatus(key, await read(), { selectedClusters: ["east"], observedGeneration: undefined }, signal);
    expect(requests).toEqual([]);
  });

  test("decided on an older object it fails as a conflict, changes nothing, and the next read is fresh", async () => {
    const seen = await read();
    await tenants
      .at(logicalCluster)
      .patch({ ...placements, name: key.name }, { type: "merge", body: { spec: { strategy: "Spread" } } });
    const write = hub.writeStatus(key, seen, { selectedClusters: ["east"] }, signal);
    await expect(write).rejects.toSatisfy((error) => faultOf(error) === "conflict");
    expect((await stored()).status).toBeUndefined();
    expect((await read()).spec).toMatchObject({ strategy: "Spread" });
  });

  test("counts the decision before the server has answered, and not if it fails", async () => {
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

  test("a write whose answer was lost is looked at before the next one", async () => {
    const injection = tenants.kcp.faults.inject({
      match: { verb: "patch" },
      effect: { kind: "reset", when: "after" },
    });
    await expect(hub.writeStatus(key, await read(), { selectedClusters: ["east"] }, signal)).rejects.toThrow();
    injection.remove();
    expect((await read()).status).toEqual({ selectedClusters: ["east"] });
  });
});

test("finalizers are replaced on the object that was seen", async () => {
  await hub.writeFinalizers(key, await read(), ["tmc.kcp.io/cluster"], signal);
  expect((await read()).metadata.finalizers).toEqual(["tmc.kcp.io/cluster"]);
  await hub.writeFinalizers(key, await read(), [], signal);
  expect((await stored()).metadata.finalizers ?? []).toEqual([]);
});

test("secrets are read fresh, from the same logical cluster", async () => {
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
