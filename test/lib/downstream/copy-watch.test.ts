import { setImmediate } from "node:timers/promises";
import { type EmbeddedCluster, startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import type { KubeClient } from "@tmc/kube/client.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { afterEach, describe, expect, it } from "vitest";
import { referenceTypes, typeId, workloadKindsWith } from "../../../lib/api/workload-kinds.ts";
import { type CopyTrouble, type CopyWatches, createCopyWatches } from "../../../lib/downstream/copy-watch.ts";
import { type ObjectKey, workloadKey } from "../../../lib/model/key.ts";
import type { CopyAddress } from "../../../lib/sync/downstream.ts";
import { downstreamNamespace, namespaceManifest } from "../../../lib/sync/ownership/namespace-map.ts";
import { type Owner, ownershipMetadata } from "../../../lib/sync/ownership/owner.ts";
import { eventually } from "../../support/eventually.ts";
import { createManualClock, type ManualClock } from "../../support/manual-clock.ts";

const east: ObjectKey = { logicalCluster: "abc", kind: "ClusterRegistration", name: "east" };
const deployments: ResourceType = { group: "apps", version: "v1", plural: "deployments" };
const configMaps = referenceTypes.ConfigMap;
const namespaces: ResourceType = { group: "", version: "v1", plural: "namespaces" };
const signal = new AbortController().signal;

const web: Owner = {
  hub: "hub",
  logicalCluster: "abc",
  namespace: "shop",
  registration: "east",
  apiVersion: "apps/v1",
  kind: "Deployment",
  name: "web",
};
const settings: Owner = { ...web, apiVersion: "v1", kind: "ConfigMap", name: "settings" };
const onCluster = downstreamNamespace(web);
const webKey = `abc ${workloadKey("abc", { type: deployments, namespace: "shop", name: "web" }).name}`;

const running: EmbeddedCluster[] = [];
const watching: CopyWatches[] = [];
afterEach(async () => {
  await Promise.all(watching.splice(0).map((watches) => watches.stop()));
  await Promise.all(running.splice(0).map((cluster) => cluster.stop()));
});

type SystemOptions = Readonly<{
  tokens?: readonly string[];
  adminToken?: string;
  mayWatch?: (registration: ObjectKey) => boolean;
}>;

/** A cluster that is watched, and all that was told of it. Each time its credentials are refused it gets the next token. */
async function aSystem({ tokens = ["right"], adminToken = "right", mayWatch }: SystemOptions = {}) {
  const clock = createManualClock();
  const cluster = await startEmbeddedCluster({ name: "east", listen: false, adminToken, clock });
  running.push(cluster);
  const clientWith = (token: string): KubeClient =>
    createKubeClient({
      endpoint: { server: "https://east.invalid" },
      transport: cluster.transport(token),
      name: "cluster east",
      clock,
      random: () => 0.5,
    });
  const admin = clientWith(adminToken);
  await admin.create({ type: namespaces }, namespaceManifest(web));
  let way = { token: 0, client: clientWith(tokens[0] ?? "") };
  const told: string[] = [];
  const companions: string[] = [];
  const troubles: CopyTrouble[] = [];
  const count = { ignored: 0, refused: 0 };
  const watches = createCopyWatches({
    hubId: "hub",
    clientFor: async () => way.client,
    types: workloadKindsWith(),
    clock,
    random: () => 0.5,
    relistSeconds: 600,
    onChanged: (key) => void told.push(`${key.logicalCluster} ${key.name}`),
    onCompanionChanged: ({ registration, kind, namespace, name }) =>
      void companions.push(`${registration.name} ${kind}/${namespace}/${name}`),
    onTrouble: (trouble) => void troubles.push(trouble),
    onRefused: () => {
      count.refused += 1;
      const token = Math.min(way.token + 1, tokens.length - 1);
      if (token !== way.token) way = { token, client: clientWith(tokens[token] ?? "") };
    },
    onIgnored: () => {
      count.ignored += 1;
    },
    ...(mayWatch === undefined ? {} : { mayWatch }),
  });
  watching.push(watches);
  return {
    clock,
    cluster,
    admin,
    watches,
    told,
    companions,
    troubles,
    count,
    swap: () => (way = { ...way, client: clientWith(adminToken) }),
  };
}

const at = ({ kind, name }: Owner): CopyAddress => ({
  registration: east,
  object: { type: kind === "Deployment" ? deployments : configMaps, namespace: onCluster, name },
});

const make = (admin: KubeClient, origin: Owner, marks: object = ownershipMetadata(origin)): Promise<KubeObject> =>
  admin.create(
    { type: at(origin).object.type, namespace: onCluster },
    {
      apiVersion: origin.apiVersion,
      kind: origin.kind,
      metadata: { name: origin.name, ...marks },
      ...(origin.kind === "Deployment"
        ? {
            spec: {
              replicas: 0,
              selector: { matchLabels: { app: "web" } },
              template: {
                metadata: { labels: { app: "web" } },
                spec: { containers: [{ name: "main", image: "nginx" }] },
              },
            },
          }
        : { data: { a: "1" } }),
    },
  );

const scale = (admin: KubeClient, replicas: number): Promise<KubeObject> =>
  admin.patch(at(web).object, { type: "merge", body: { spec: { replicas } } });

const until = (what: string, isSo: () => boolean): Promise<void> =>
  eventually(async () => (isSo() ? undefined : what), 5_000);

/** Lets time pass second by second until something is so, and everything that is due happen in between. */
async function untilPassed(clock: ManualClock, what: string, isSo: () => boolean): Promise<void> {
  for (let second = 0; second < 600; second++) {
    for (let turns = 0; turns < 20; turns++) {
      if (isSo()) return;
      await setImmediate();
    }
    clock.advance(1_000);
  }
  throw new Error(`after ten minutes: ${what}`);
}

/** Waits until the watch of config maps is open: what comes then is told by it, and by no list. */
async function untilOpen({ admin, told }: Readonly<{ admin: KubeClient; told: string[] }>): Promise<void> {
  await make(admin, { ...settings, name: "first" });
  await until("told of the first", () => told.some((each) => each.endsWith("/first")));
  await make(admin, { ...settings, name: "second" });
  await until("told of the second", () => told.some((each) => each.endsWith("/second")));
  told.length = 0;
}

describe("watches on copies", () => {
  it("keep what a reconcile needs, and tell the workload of every change", async () => {
    const { admin, watches, told, clock } = await aSystem();
    const { metadata } = await make(admin, web);
    watches.want(east, [deployments]);
    watches.want(east, [deployments]);
    expect(await watches.look(at(web), signal)).toMatchObject({
      kind: "there",
      copy: { uid: metadata.uid, generation: 1 },
    });
    expect(watches.size).toBe(1);
    expect(told).toContain(webKey);
    await untilPassed(clock, "its status", () => {
      const peek = watches.peek(at(web));
      return peek?.kind === "there" && peek.copy.status?.observedGeneration === 1;
    });
    told.length = 0;
    await scale(admin, 1);
    await until("told of a change", () => told.includes(webKey));
    told.length = 0;
    await admin.delete(at(web).object);
    await until("told of the end", () => told.includes(webKey));
    expect(watches.peek(at(web))).toEqual({ kind: "absent" });
  });

  it("say nothing of what this process has written itself", async () => {
    const { admin, watches, told } = await aSystem();
    watches.want(east, [configMaps]);
    await watches.look(at(settings), signal);
    const take = watches.ask(at(settings));
    take(await make(admin, settings));
    await make(admin, { ...settings, name: "later" });
    await until("told of the later one", () => told.length > 0);
    expect(told).toEqual(["abc configmaps.v1./shop/later"]);
    expect(watches.peek(at(settings))).toMatchObject({ kind: "there" });
  });

  it("tell of what comes along by its kind and name, so that those who need it look", async () => {
    const { admin, watches, companions, told } = await aSystem();
    watches.want(east, [configMaps]);
    await make(admin, settings);
    await until("told of a companion", () => companions.length === 1);
    await admin.delete(at(settings).object);
    await until("told of its end", () => companions.length === 2);
    expect(companions).toEqual(["east ConfigMap/shop/settings", "east ConfigMap/shop/settings"]);
    expect(told).toHaveLength(2);
  });

  const ours = ownershipMetadata(web);
  const claims: Readonly<Record<string, object>> = {
    "another tenant's copy": {
      labels: ours.labels,
      annotations: ownershipMetadata({ ...web, logicalCluster: "other" }).annotations,
    },
    "another control plane's": {
      labels: ours.labels,
      annotations: ownershipMetadata({ ...web, hub: "other" }).annotations,
    },
    "another registration's": {
      labels: ours.labels,
      annotations: ownershipMetadata({ ...web, registration: "west" }).annotations,
    },
    "a copy from another namespace": {
      labels: ours.labels,
      annotations: ownershipMetadata({ ...web, namespace: "bank" }).annotations,
    },
    "a copy of another name": {
      labels: ours.labels,
      annotations: ownershipMetadata({ ...web, name: "other" }).annotations,
    },
    "a copy of another kind": {
      labels: ours.labels,
      annotations: ownershipMetadata({ ...web, kind: "Job" }).annotations,
    },
    "nothing that can be read": { labels: ours.labels, annotations: { "tmc.kcp.io/owner": "{" } },
    "no origin at all": { labels: ours.labels },
  };
  it.each(Object.entries(claims))("take no notice of an object that says it is %s", async (_, marks) => {
    const { admin, watches, told, companions, count } = await aSystem();
    await make(admin, web, marks);
    watches.want(east, [deployments]);
    await watches.look(at(web), signal);
    expect(watches.peek(at(web))).toEqual({ kind: "absent" });
    expect(count.ignored).toBeGreaterThan(0);
    expect({ told, companions, size: watches.size }).toEqual({ told: [], companions: [], size: 0 });
  });

  it("see nothing of what other tenants have on the same cluster", async () => {
    const { admin, watches, count } = await aSystem();
    await make(admin, web, ownershipMetadata({ ...web, logicalCluster: "other" }));
    watches.want(east, [deployments]);
    await watches.look(at(web), signal);
    expect({ ...count, size: watches.size }).toEqual({ ignored: 0, refused: 0, size: 0 });
  });

  it("go on where they were when they are cut", async () => {
    const { admin, watches, told, cluster, clock } = await aSystem();
    await make(admin, settings);
    watches.want(east, [configMaps]);
    await untilOpen({ admin, told });
    const lists = cluster.faults.inject({
      match: { verb: "list", resource: "configmaps" },
      effect: { kind: "delay", ms: 0 },
    });
    cluster.faults.cutWatches();
    await make(admin, { ...settings, name: "missed" });
    await untilPassed(clock, "told of what it missed", () => told.length > 0);
    expect(told).toEqual(["abc configmaps.v1./shop/missed"]);
    expect(lists.hits).toBe(0);
  });

  it("list again when the cluster has forgotten where they were", async () => {
    const { admin, watches, told, cluster, clock } = await aSystem();
    await make(admin, settings);
    await make(admin, { ...settings, name: "gone" });
    watches.want(east, [configMaps]);
    await untilOpen({ admin, told });
    const watchOfMaps = { verb: "watch", resource: "configmaps" };
    const away = cluster.faults.inject({ match: watchOfMaps, effect: { kind: "partition", requests: "hang" } });
    cluster.faults.cutWatches();
    await admin.delete(at({ ...settings, name: "gone" }).object);
    await make(admin, { ...settings, name: "new" });
    cluster.faults.inject({ match: watchOfMaps, effect: { kind: "expired" }, count: 1 });
    away.remove();
    await untilPassed(clock, "told of both", () => told.length >= 2);
    expect(told.toSorted()).toEqual(["abc configmaps.v1./shop/gone", "abc configmaps.v1./shop/new"]);
    // Not seen is not gone: who wants to know asks.
    expect(watches.peek(at({ ...settings, name: "gone" }))).toBeUndefined();
    expect(watches.peek(at(settings))).toMatchObject({ kind: "there" });
  });

  it("are not believed when they have not been open for too long, cost little, and come back with the cluster", async () => {
    const { admin, watches, told, troubles, cluster, clock } = await aSystem();
    await make(admin, settings);
    watches.want(east, [configMaps, deployments, referenceTypes.Secret, referenceTypes.ServiceAccount]);
    await untilOpen({ admin, told });
    await until("all watched", () => watches.watches.down === 0);
    cluster.beUnreachable("refuse");
    cluster.faults.cutWatches();
    await untilPassed(clock, "trouble", () => troubles.length > 0);
    expect(watches.peek(at(settings))).toMatchObject({ kind: "there" });
    await untilPassed(clock, "given up", () => watches.watches.down === 4);
    expect(watches.peek(at(settings))).toBeUndefined();
    expect(troubles.every(({ error }) => String(error).includes("cluster east"))).toBe(true);
    // One tries for all: far fewer than four watches by themselves.
    expect(troubles.length).toBeLessThan(14);
    cluster.recover();
    await untilPassed(clock, "back", () => watches.watches.down === 0);
    expect(watches.peek(at(settings))).toMatchObject({ kind: "there" });
    expect(told).toEqual([]);
    await make(admin, { ...settings, name: "new" });
    await until("told again", () => told.length > 0);
  });

  it("have the credentials renewed when the cluster refuses them, and say so while that does not help", async () => {
    const { admin, watches, troubles, count, clock } = await aSystem({ tokens: ["old", "older", "right"] });
    await make(admin, settings);
    watches.want(east, [configMaps]);
    // A first list that fails is not waited for.
    expect(await watches.look(at(settings), signal)).toBeUndefined();
    await untilPassed(clock, "let in", () => watches.peek(at(settings)) !== undefined);
    expect(count.refused).toBe(2);
    expect(troubles.map(({ error }) => String(error))).toEqual([
      expect.stringContaining("401"),
      expect.stringContaining("401"),
    ]);
  });

  it("list anew over a client that was made with other credentials: it may lead to another cluster", async () => {
    const { admin, watches, told, troubles, cluster, clock, swap } = await aSystem();
    await make(admin, settings);
    watches.want(east, [configMaps]);
    await untilOpen({ admin, told });
    const lists = cluster.faults.inject({
      match: { verb: "list", resource: "configmaps" },
      effect: { kind: "delay", ms: 0 },
    });
    swap();
    cluster.faults.cutWatches();
    await untilPassed(clock, "listed", () => lists.hits > 0);
    expect({ told, troubles }).toEqual({ told: [], troubles: [] });
  });

  it("end, and keep nothing, when a cluster is not wanted any more", async () => {
    const { admin, watches, told } = await aSystem();
    await make(admin, settings);
    watches.want(east, [configMaps]);
    await watches.look(at(settings), signal);
    watches.unwant(east);
    watches.unwant(east);
    expect({ size: watches.size, all: watches.watches.all }).toEqual({ size: 0, all: 0 });
    expect(watches.peek(at(settings))).toBeUndefined();
    told.length = 0;
    watches.want(east, [configMaps]);
    // Nothing is known of what happened meanwhile, so everything is told.
    await until("told again", () => told.length > 0);
  });

  it("do not begin on a cluster that has gone meanwhile, or for types that nobody knows", async () => {
    const { watches } = await aSystem({ mayWatch: ({ name }) => name !== "gone" });
    watches.want({ ...east, name: "gone" }, [configMaps]);
    watches.want(east, [{ group: "example.org", version: "v1", plural: "databases" }]);
    expect(watches.watches.all).toBe(0);
  });

  it("of a dead cluster delay nobody else's", async () => {
    const { admin, watches, told, clock, cluster } = await aSystem();
    await make(admin, settings);
    const west = { ...east, name: "west" };
    cluster.faults.inject({ match: { resource: "secrets" }, effect: { kind: "partition", requests: "hang" } });
    watches.want(west, [referenceTypes.Secret]);
    watches.want(east, [configMaps]);
    await until("told", () => told.length > 0);
    let isLooked = false;
    const secret = { registration: west, object: { type: referenceTypes.Secret, namespace: onCluster, name: "keys" } };
    void watches.look(secret, signal).then(() => (isLooked = true));
    await untilPassed(clock, "no longer waited for", () => isLooked);
    expect(watches.peek(secret)).toBeUndefined();
  });

  it("know every type by its own name", () => {
    expect(new Set(workloadKindsWith().map(({ type }) => typeId(type))).size).toBe(workloadKindsWith().length);
  });
});
