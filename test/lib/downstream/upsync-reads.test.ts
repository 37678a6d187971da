import { type EmbeddedCluster, startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import { systemClock } from "@tmc/kube/clock.ts";
import { pageSize } from "@tmc/kube/informer/paged-list.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { afterEach, describe, expect, it } from "vitest";
import { offeredWorkloads } from "../../../lib/api/workload-kinds.ts";
import { defaultRateLimit } from "../../../lib/downstream/rate-limit.ts";
import { createUpsyncReads } from "../../../lib/downstream/upsync-reads.ts";
import { type ObjectKey, workloadKey } from "../../../lib/model/key.ts";
import type { OptIn } from "../../../lib/upsync/opt-in.ts";

const east: ObjectKey = { logicalCluster: "abc", kind: "ClusterRegistration", name: "east" };
const deployments: ResourceType = { group: "apps", version: "v1", plural: "deployments" };
const namespaces: ResourceType = { group: "", version: "v1", plural: "namespaces" };
const signal = new AbortController().signal;
const [type] = offeredWorkloads.filter(({ kind }) => kind === "Deployment");
if (type === undefined) throw new Error("Deployments are offered");
const optIn: OptIn = { type, rules: [{ apiVersion: "apps/v1", kind: "Deployment", matchLabels: { app: "web" } }] };
const at = (name: string) => ({ registration: east, object: { type: deployments, namespace: "shop", name } });
const keyOf = (name: string): string => workloadKey("abc", at(name).object).name;

const running: EmbeddedCluster[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((cluster) => cluster.stop()));
});

/** A cluster with objects to upsync; `lists` counts the list requests. */
async function aSystem() {
  const cluster = await startEmbeddedCluster({ name: "east", listen: false });
  running.push(cluster);
  const client = createKubeClient({
    endpoint: { server: "https://east.invalid" },
    transport: cluster.transport(),
    name: "cluster east",
  });
  await client.create({ type: namespaces }, { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } });
  const reads = createUpsyncReads({
    clientFor: async () => client,
    clock: systemClock,
    rate: defaultRateLimit,
    callSeconds: 4,
  });
  const create = (name: string, labels: Record<string, string> = { app: "web" }): Promise<KubeObject> =>
    client.create(
      { type: deployments, namespace: "shop" },
      {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name, labels },
        spec: {
          replicas: 0,
          selector: { matchLabels: { app: name } },
          template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "main", image: "nginx" }] } },
        },
      },
    );
  const lists = cluster.faults.inject({
    match: { verb: "list", resource: "deployments" },
    effect: { kind: "delay", ms: 0 },
  });
  const all = async (): Promise<readonly string[]> =>
    [...((await reads.listUids(east, [optIn], signal))?.keys() ?? [])].toSorted();
  return { cluster, client, reads, create, lists, all };
}

describe("upsync reads", () => {
  it("find only objects that were created downstream and are opted in", async () => {
    const { reads, create, all } = await aSystem();
    const { metadata } = await create("web");
    await create("api", { app: "api" });
    await create("copy", { app: "web", "tmc.kcp.io/synced": "x" });
    expect(await all()).toEqual([keyOf("web")]);
    expect((await reads.listUids(east, [optIn], signal))?.get(keyOf("web"))).toBe(metadata.uid);
    expect(await reads.listUids(east, [], signal)).toEqual(new Map());
  });

  it("list once per batch, again after an invalidation, and in the next batch", async () => {
    const { reads, create, lists, all } = await aSystem();
    await create("web");
    await Promise.all([all(), all()]);
    await create("web2");
    expect(await all()).toEqual([keyOf("web")]);
    expect(lists.hits).toBe(1);
    reads.invalidate(east);
    expect(await all()).toEqual([keyOf("web"), keyOf("web2")]);
    reads.beginBatch();
    await all();
    expect(lists.hits).toBe(3);
  });

  it("list all pages", async () => {
    const { create, lists, all } = await aSystem();
    for (let index = 0; index <= pageSize; index += 1) await create(`w${index}`);
    expect(await all()).toHaveLength(pageSize + 1);
    expect(lists.hits).toBe(2);
  });

  it("fail when the cluster fails, and list again for the next caller", async () => {
    const { cluster, create, all } = await aSystem();
    await create("web");
    const rejecting = cluster.faults.inject({
      match: { verb: "list", resource: "deployments" },
      effect: { kind: "status", code: 403 },
    });
    await expect(all()).rejects.toMatchObject({ fault: "forbidden" });
    rejecting.remove();
    expect(await all()).toEqual([keyOf("web")]);
  });

  it("cache the answer for an object until the next batch, and accept only a 404 that names the object", async () => {
    const { cluster, client, reads, create } = await aSystem();
    await create("web");
    await create("api", { app: "api" });
    expect(reads.cached(at("web"))).toBeUndefined();
    expect(await reads.readUncached(at("web"), optIn, signal)).toMatchObject({ kind: "present" });
    expect(await reads.readUncached(at("api"), optIn, signal)).toMatchObject({ kind: "other" });
    expect(reads.cached(at("web"))).toMatchObject({ kind: "present" });
    expect(reads.cached(at("api"))).toBeUndefined();
    reads.beginBatch();
    expect(reads.cached(at("web"))).toBeUndefined();
    const proxy = cluster.faults.inject({ match: { verb: "get" }, effect: { kind: "status", code: 404 } });
    await expect(reads.readUncached(at("web"), optIn, signal)).rejects.toMatchObject({ fault: "unreachable" });
    proxy.remove();
    await client.delete(at("web").object);
    expect(await reads.readUncached(at("web"), optIn, signal)).toEqual({ kind: "absent" });
  });
});
