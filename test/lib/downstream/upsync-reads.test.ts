import { type EmbeddedCluster, startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import { systemClock } from "@tmc/kube/clock.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { pageSize } from "@tmc/kube/paged-list.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { afterEach, describe, expect, it } from "vitest";
import { offeredWorkloads } from "../../../lib/api/workload-kinds.ts";
import { defaultCallRate } from "../../../lib/downstream/rate-limit.ts";
import { createBirthLooks } from "../../../lib/downstream/upsync-reads.ts";
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

/** A cluster that is asked for what is born there; faults count how often. */
async function aSystem() {
  const cluster = await startEmbeddedCluster({ name: "east", listen: false });
  running.push(cluster);
  const client = createKubeClient({
    endpoint: { server: "https://east.invalid" },
    transport: cluster.transport(),
    name: "cluster east",
  });
  await client.create({ type: namespaces }, { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } });
  const looks = createBirthLooks({
    clientFor: async () => client,
    clock: systemClock,
    rate: defaultCallRate,
    callSeconds: 4,
  });
  const bear = (name: string, labels: Record<string, string> = { app: "web" }): Promise<KubeObject> =>
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
    [...((await looks.listUids(east, [optIn], signal))?.keys() ?? [])].toSorted();
  return { cluster, client, looks, bear, lists, all };
}

describe("looks at what is born", () => {
  it("find what is born and opted in, and nothing else", async () => {
    const { looks, bear, all } = await aSystem();
    const { metadata } = await bear("web");
    await bear("api", { app: "api" });
    await bear("copy", { app: "web", "tmc.kcp.io/synced": "x" });
    expect(await all()).toEqual([keyOf("web")]);
    expect((await looks.listUids(east, [optIn], signal))?.get(keyOf("web"))).toBe(metadata.uid);
    expect(await looks.listUids(east, [], signal)).toEqual(new Map());
  });

  it("ask for a list once in a batch, anew when somebody needs it newer, and in the next batch", async () => {
    const { looks, bear, lists, all } = await aSystem();
    await bear("web");
    await Promise.all([all(), all()]);
    await bear("web2");
    expect(await all()).toEqual([keyOf("web")]);
    expect(lists.hits).toBe(1);
    looks.invalidate(east);
    expect(await all()).toEqual([keyOf("web"), keyOf("web2")]);
    looks.beginBatch();
    await all();
    expect(lists.hits).toBe(3);
  });

  it("are of everything, however many there are", async () => {
    const { bear, lists, all } = await aSystem();
    for (let index = 0; index <= pageSize; index += 1) await bear(`w${index}`);
    expect(await all()).toHaveLength(pageSize + 1);
    expect(lists.hits).toBe(2);
  });

  it("fail as the cluster fails, and try again for whoever asks next", async () => {
    const { cluster, bear, all } = await aSystem();
    await bear("web");
    const refusing = cluster.faults.inject({
      match: { verb: "list", resource: "deployments" },
      effect: { kind: "status", code: 403 },
    });
    await expect(all()).rejects.toMatchObject({ fault: "forbidden" });
    refusing.remove();
    expect(await all()).toEqual([keyOf("web")]);
  });

  it("know what a cluster said of an object until the next batch, and take only its word about this very object", async () => {
    const { cluster, client, looks, bear } = await aSystem();
    await bear("web");
    await bear("api", { app: "api" });
    expect(looks.cached(at("web"))).toBeUndefined();
    expect(await looks.readUncached(at("web"), optIn, signal)).toMatchObject({ kind: "born" });
    expect(await looks.readUncached(at("api"), optIn, signal)).toMatchObject({ kind: "other" });
    expect(looks.cached(at("web"))).toMatchObject({ kind: "born" });
    expect(looks.cached(at("api"))).toBeUndefined();
    looks.beginBatch();
    expect(looks.cached(at("web"))).toBeUndefined();
    const proxy = cluster.faults.inject({ match: { verb: "get" }, effect: { kind: "status", code: 404 } });
    await expect(looks.readUncached(at("web"), optIn, signal)).rejects.toMatchObject({ fault: "unreachable" });
    proxy.remove();
    await client.delete(at("web").object);
    expect(await looks.readUncached(at("web"), optIn, signal)).toEqual({ kind: "absent" });
  });
});
