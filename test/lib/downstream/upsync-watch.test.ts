import { type EmbeddedCluster, startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { afterEach, describe, expect, it } from "vitest";
import { offeredWorkloads } from "../../../lib/api/workload-kinds.ts";
import { createUpsyncWatches, type UpsyncWatches } from "../../../lib/downstream/upsync-watch.ts";
import { type ObjectKey, workloadKey } from "../../../lib/model/key.ts";
import type { OptIn } from "../../../lib/upsync/opt-in.ts";
import { eventually } from "../../support/eventually.ts";

const east: ObjectKey = { logicalCluster: "abc", kind: "ClusterRegistration", name: "east" };
const deployments: ResourceType = { group: "apps", version: "v1", plural: "deployments" };
const namespaces: ResourceType = { group: "", version: "v1", plural: "namespaces" };
const signal = new AbortController().signal;
const [type] = offeredWorkloads.filter(({ kind }) => kind === "Deployment");
if (type === undefined) throw new Error("Deployments are offered");

const optIn = (rule: Readonly<{ namespaces?: string[]; matchLabels?: Record<string, string> }> = {}): OptIn => ({
  type,
  rules: [{ apiVersion: "apps/v1", kind: "Deployment", ...rule }],
});
const at = (name: string) => ({ registration: east, object: { type: deployments, namespace: "shop", name } });
const keyOf = (name: string): string => workloadKey("abc", at(name).object).name;

const running: EmbeddedCluster[] = [];
const watching: UpsyncWatches[] = [];
afterEach(async () => {
  await Promise.all(watching.splice(0).map((watches) => watches.stop()));
  await Promise.all(running.splice(0).map((cluster) => cluster.stop()));
});

/** A cluster that is watched for objects to upsync, and the keys of all changes. */
async function aSystem() {
  const clock = createManualClock();
  const cluster = await startEmbeddedCluster({ name: "east", listen: false, clock });
  running.push(cluster);
  const client = createKubeClient({
    endpoint: { server: "https://east.invalid" },
    transport: cluster.transport(),
    name: "cluster east",
    clock,
    random: () => 0.5,
  });
  await client.create({ type: namespaces }, { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } });
  const changed: string[] = [];
  const watches = createUpsyncWatches({
    clientFor: async () => client,
    clock,
    random: () => 0.5,
    relistSeconds: 600,
    onChanged: ({ name }) => void changed.push(name),
    onFailure: () => {},
  });
  watching.push(watches);
  const create = (name: string, metadata: Partial<KubeObject["metadata"]> = {}): Promise<KubeObject> =>
    client.create(
      { type: deployments, namespace: "shop" },
      {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name, ...metadata },
        spec: {
          replicas: 0,
          selector: { matchLabels: { app: name } },
          template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "main", image: "nginx" }] } },
        },
      },
    );
  return { clock, cluster, client, watches, changed, create };
}

const until = (what: string, isSo: () => boolean | Promise<boolean>): Promise<void> =>
  eventually(async () => ((await isSo()) ? undefined : what), 5_000);
const all = (watches: UpsyncWatches) => watches.listUids(east, [], signal);
const names = async (watches: UpsyncWatches): Promise<readonly string[]> =>
  [...((await all(watches))?.keys() ?? ["not listed"])].toSorted();

describe("upsync watches", () => {
  it("cache only objects that were created downstream and are opted in", async () => {
    const { watches, create } = await aSystem();
    const { metadata } = await create("web", { labels: { app: "web" } });
    await create("copy", { labels: { app: "web", "tmc.kcp.io/synced": "x" } });
    await create("api", { labels: { app: "api" } });
    await create("made", {
      labels: { app: "web" },
      ownerReferences: [{ apiVersion: "example.dev/v1", kind: "App", name: "a", uid: "1", controller: true }],
    });
    expect(await all(watches)).toBeUndefined();
    watches.subscribe(east, [optIn({ matchLabels: { app: "web" } })]);
    await until("everything is listed", async () => (await all(watches)) !== undefined);
    expect(await names(watches)).toEqual([keyOf("web")]);
    expect(watches.size).toBe(1);
    expect(watches.cached(at("web"))).toMatchObject({ kind: "present", copy: { uid: metadata.uid } });
    expect(watches.cached(at("copy"))).toEqual({ kind: "absent" });
    expect(JSON.stringify(watches.cached(at("web")))).not.toContain("nginx");
  });

  it("notify about created, changed and deleted objects; a label change counts", async () => {
    const { watches, changed, create, client } = await aSystem();
    watches.subscribe(east, [optIn()]);
    await until("everything is listed", async () => (await all(watches)) !== undefined);
    await create("web");
    await until("it was created", () => changed.includes(keyOf("web")));
    const before = watches.cached(at("web"));
    changed.length = 0;
    await client.patch(at("web").object, { type: "merge", body: { metadata: { labels: { tier: "front" } } } });
    await until("it changed", () => changed.includes(keyOf("web")));
    const after = watches.cached(at("web"));
    expect(before?.kind === "present" && after?.kind === "present" && before.hash !== after.hash).toBe(true);
    changed.length = 0;
    await client.delete(at("web").object);
    await until("it was deleted", () => changed.includes(keyOf("web")));
    expect(watches.cached(at("web"))).toEqual({ kind: "absent" });
  });

  it("report the uid of an object whose deletion they have observed, and of no other", async () => {
    const { client, watches, create } = await aSystem();
    const { metadata } = await create("web");
    await create("api", { finalizers: ["example.com/hold"] });
    await create("db");
    watches.subscribe(east, [optIn()]);
    await until("all objects are cached", async () => (await names(watches)).length === 3);
    expect(watches.observedDeletions(east).size).toBe(0);
    await client.delete({ type: deployments, namespace: "shop", name: "web" });
    await client.delete({ type: deployments, namespace: "shop", name: "api" }); // stays, with a deletionTimestamp
    await until("both deletions are observed", () => watches.observedDeletions(east).size === 2);
    expect(watches.observedDeletions(east).get(keyOf("web"))).toBe(metadata.uid);
    watches.unsubscribe(east);
    expect(watches.observedDeletions(east).size).toBe(0);
  });

  it("read an object uncached, and accept only a 404 that names the object", async () => {
    const { watches, cluster, create, client } = await aSystem();
    await create("web", { labels: { app: "web" } });
    expect(await watches.readUncached(at("web"), optIn(), signal)).toMatchObject({ kind: "present" });
    expect(await watches.readUncached(at("web"), optIn({ namespaces: ["bank"] }), signal)).toMatchObject({
      kind: "other",
    });
    const proxy = cluster.faults.inject({ match: { verb: "get" }, effect: { kind: "status", code: 404 } });
    await expect(watches.readUncached(at("web"), optIn(), signal)).rejects.toMatchObject({ fault: "unreachable" });
    proxy.remove();
    await client.delete(at("web").object);
    expect(await watches.readUncached(at("web"), optIn(), signal)).toEqual({ kind: "absent" });
    expect(await watches.readObject(at("web"), signal)).toBeUndefined();
  });

  it("apply changed opt-in rules, and drop everything after an unsubscribe", async () => {
    const { watches, create } = await aSystem();
    await create("web", { labels: { app: "web" } });
    await create("api", { labels: { app: "api" } });
    const listed = (...expected: readonly string[]): Promise<void> =>
      until(`caches ${expected.join(", ")}`, async () => (await names(watches)).join() === expected.map(keyOf).join());
    watches.subscribe(east, [optIn({ matchLabels: { app: "web" } })]);
    await listed("web");
    watches.subscribe(east, [optIn({ matchLabels: { app: "web" } })]);
    expect(watches.watches.all).toBe(1);
    watches.subscribe(east, [optIn()]);
    await listed("api", "web");
    watches.unsubscribe(east);
    expect(await all(watches)).toBeUndefined();
    expect(watches.cached(at("web"))).toBeUndefined();
    expect(watches.watches.all).toBe(0);
  });
});
