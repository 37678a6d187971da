import { setImmediate } from "node:timers/promises";
import { type EmbeddedCluster, startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import type { KubeClient } from "@tmc/kube/client.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { createManualClock, type ManualClock } from "@tmc/kube/manual-clock.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { type ResponseLimits, untrustedServerLimits } from "@tmc/kube/transport/transport-limits.ts";
import { afterEach, describe, expect, it } from "vitest";
import { allWorkloadTypes, referenceTypes, typeId } from "../../../lib/api/workload-kinds.ts";
import { excessPauseMs } from "../../../lib/downstream/copy-informer.ts";
import { type CopyWatches, type CopyWatchFailure, createCopyWatches } from "../../../lib/downstream/copy-watch.ts";
import { type ObjectKey, workloadKey } from "../../../lib/model/key.ts";
import type { CopyAddress } from "../../../lib/sync/downstream.ts";
import { downstreamNamespace, namespaceManifest } from "../../../lib/sync/ownership/namespace-map.ts";
import { type Owner, ownershipMetadata } from "../../../lib/sync/ownership/owner.ts";
import { eventually } from "../../support/eventually.ts";

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
  limits?: ResponseLimits;
}>;

/** A cluster that is watched, and all notifications. Each time the cluster rejects the credentials, the next token is used. */
async function aSystem({ tokens = ["right"], adminToken = "right", mayWatch, limits }: SystemOptions = {}) {
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
      limits,
    });
  const admin = clientWith(adminToken);
  await admin.create({ type: namespaces }, namespaceManifest(web));
  let connection = { token: 0, client: clientWith(tokens[0] ?? "") };
  const changed: string[] = [];
  const dependencies: string[] = [];
  const failures: CopyWatchFailure[] = [];
  const count = { ignored: 0, rejected: 0 };
  const watches = createCopyWatches({
    hubId: "hub",
    clientFor: async () => connection.client,
    types: allWorkloadTypes(),
    clock,
    random: () => 0.5,
    relistSeconds: 600,
    onChanged: (key) => void changed.push(`${key.logicalCluster} ${key.name}`),
    onDependencyChanged: ({ registration, kind, namespace, name }) =>
      void dependencies.push(`${registration.name} ${kind}/${namespace}/${name}`),
    onFailure: (failure) => void failures.push(failure),
    onUnauthorized: () => {
      count.rejected += 1;
      const token = Math.min(connection.token + 1, tokens.length - 1);
      if (token !== connection.token) connection = { token, client: clientWith(tokens[token] ?? "") };
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
    changed,
    dependencies,
    failures,
    count,
    swap: () => (connection = { ...connection, client: clientWith(adminToken) }),
  };
}

const at = ({ kind, name }: Owner): CopyAddress => ({
  registration: east,
  object: { type: kind === "Deployment" ? deployments : configMaps, namespace: onCluster, name },
});

const createCopy = (
  admin: KubeClient,
  origin: Owner,
  metadata: object = ownershipMetadata(origin),
): Promise<KubeObject> =>
  admin.create(
    { type: at(origin).object.type, namespace: onCluster },
    {
      apiVersion: origin.apiVersion,
      kind: origin.kind,
      metadata: { name: origin.name, ...metadata },
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

/** Advances the clock second by second, and lets due work run in between, until the condition holds. */
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

/** Waits until the watch of ConfigMaps is open, so that later changes arrive through it and not through a list. */
async function untilOpen({ admin, changed }: Readonly<{ admin: KubeClient; changed: string[] }>): Promise<void> {
  await createCopy(admin, { ...settings, name: "first" });
  await until("a change of the first", () => changed.some((each) => each.endsWith("/first")));
  await createCopy(admin, { ...settings, name: "second" });
  await until("a change of the second", () => changed.some((each) => each.endsWith("/second")));
  changed.length = 0;
}

describe("watches on copies", () => {
  it("cache what a reconcile needs, and notify about every change of a workload's copy", async () => {
    const { admin, watches, changed, clock } = await aSystem();
    const { metadata } = await createCopy(admin, web);
    watches.subscribe(east, [deployments]);
    watches.subscribe(east, [deployments]);
    expect(await watches.cachedOnceListed(at(web), signal)).toMatchObject({
      kind: "there",
      copy: { uid: metadata.uid, generation: 1 },
    });
    expect(watches.size).toBe(1);
    expect(changed).toContain(webKey);
    await untilPassed(clock, "its status", () => {
      const cached = watches.cached(at(web));
      return cached?.kind === "there" && cached.copy.status?.observedGeneration === 1;
    });
    changed.length = 0;
    await scale(admin, 1);
    await until("a notification of the change", () => changed.includes(webKey));
    changed.length = 0;
    await admin.delete(at(web).object);
    await until("a notification of the deletion", () => changed.includes(webKey));
    expect(watches.cached(at(web))).toEqual({ kind: "absent" });
  });

  it("do not notify about writes of this process", async () => {
    const { admin, watches, changed } = await aSystem();
    watches.subscribe(east, [configMaps]);
    await watches.cachedOnceListed(at(settings), signal);
    const answered = watches.request(at(settings));
    answered(await createCopy(admin, settings));
    await createCopy(admin, { ...settings, name: "later" });
    await until("a notification of the later one", () => changed.length > 0);
    expect(changed).toEqual(["abc configmaps.v1./shop/later"]);
    expect(watches.cached(at(settings))).toMatchObject({ kind: "there" });
  });

  it("notify about a changed dependency by its kind and name", async () => {
    const { admin, watches, dependencies, changed } = await aSystem();
    watches.subscribe(east, [configMaps]);
    await createCopy(admin, settings);
    await until("a notification of the dependency", () => dependencies.length === 1);
    await admin.delete(at(settings).object);
    await until("a notification of its deletion", () => dependencies.length === 2);
    expect(dependencies).toEqual(["east ConfigMap/shop/settings", "east ConfigMap/shop/settings"]);
    expect(changed).toHaveLength(2);
  });

  const ours = ownershipMetadata(web);
  const claims: Readonly<Record<string, object>> = {
    "another tenant's copy": {
      labels: ours.labels,
      annotations: ownershipMetadata({ ...web, logicalCluster: "other" }).annotations,
    },
    "another control plane's copy": {
      labels: ours.labels,
      annotations: ownershipMetadata({ ...web, hub: "other" }).annotations,
    },
    "another registration's copy": {
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
    "nothing, because it is not valid JSON": { labels: ours.labels, annotations: { "tmc.kcp.io/owner": "{" } },
    "nothing, because it is missing": { labels: ours.labels },
  };
  it.each(Object.entries(claims))("ignore an object whose owner annotation claims %s", async (_, metadata) => {
    const { admin, watches, changed, dependencies, count } = await aSystem();
    await createCopy(admin, web, metadata);
    watches.subscribe(east, [deployments]);
    await watches.cachedOnceListed(at(web), signal);
    expect(watches.cached(at(web))).toEqual({ kind: "absent" });
    expect(count.ignored).toBeGreaterThan(0);
    expect({ changed, dependencies, size: watches.size }).toEqual({ changed: [], dependencies: [], size: 0 });
  });

  it("do not read the copies of other tenants on the same cluster", async () => {
    const { admin, watches, count } = await aSystem();
    await createCopy(admin, web, ownershipMetadata({ ...web, logicalCluster: "other" }));
    watches.subscribe(east, [deployments]);
    await watches.cachedOnceListed(at(web), signal);
    expect({ ...count, size: watches.size }).toEqual({ ignored: 0, rejected: 0, size: 0 });
  });

  it("resume at the last resourceVersion after a disconnect, without a list", async () => {
    const { admin, watches, changed, cluster, clock } = await aSystem();
    await createCopy(admin, settings);
    watches.subscribe(east, [configMaps]);
    await untilOpen({ admin, changed });
    const lists = cluster.faults.inject({
      match: { verb: "list", resource: "configmaps" },
      effect: { kind: "delay", ms: 0 },
    });
    cluster.faults.cutWatches();
    await createCopy(admin, { ...settings, name: "missed" });
    await untilPassed(clock, "a notification of the missed change", () => changed.length > 0);
    expect(changed).toEqual(["abc configmaps.v1./shop/missed"]);
    expect(lists.hits).toBe(0);
  });

  it("list again after a 410 Gone, and keep missing copies as stale", async () => {
    const { admin, watches, changed, cluster, clock } = await aSystem();
    await createCopy(admin, settings);
    await createCopy(admin, { ...settings, name: "gone" });
    watches.subscribe(east, [configMaps]);
    await untilOpen({ admin, changed });
    const watchOfMaps = { verb: "watch", resource: "configmaps" };
    const partition = cluster.faults.inject({ match: watchOfMaps, effect: { kind: "partition", requests: "hang" } });
    cluster.faults.cutWatches();
    await admin.delete(at({ ...settings, name: "gone" }).object);
    await createCopy(admin, { ...settings, name: "new" });
    cluster.faults.inject({ match: watchOfMaps, effect: { kind: "expired" }, count: 1 });
    partition.remove();
    await untilPassed(clock, "two notifications", () => changed.length >= 2);
    expect(changed.toSorted()).toEqual(["abc configmaps.v1./shop/gone", "abc configmaps.v1./shop/new"]);
    // Not seen is not gone: the next read goes to the cluster.
    expect(watches.cached(at({ ...settings, name: "gone" }))).toBeUndefined();
    expect(watches.cached(at(settings))).toMatchObject({ kind: "there" });
  });

  it("are not trusted after 90 seconds without a connection, retry rarely, and recover with the cluster", async () => {
    const { admin, watches, changed, failures, cluster, clock } = await aSystem();
    await createCopy(admin, settings);
    watches.subscribe(east, [configMaps, deployments, referenceTypes.Secret, referenceTypes.ServiceAccount]);
    await untilOpen({ admin, changed });
    await until("all watched", () => watches.watches.down === 0);
    cluster.makeUnreachable("refuse");
    cluster.faults.cutWatches();
    await untilPassed(clock, "a failure", () => failures.length > 0);
    expect(watches.cached(at(settings))).toMatchObject({ kind: "there" });
    await untilPassed(clock, "all watches down", () => watches.watches.down === 4);
    expect(watches.cached(at(settings))).toBeUndefined();
    expect(failures.every(({ error }) => String(error).includes("cluster east"))).toBe(true);
    // The watches share one connection attempt: far fewer failures than four independent watches would have.
    expect(failures.length).toBeLessThan(14);
    cluster.recover();
    await untilPassed(clock, "back", () => watches.watches.down === 0);
    expect(watches.cached(at(settings))).toMatchObject({ kind: "there" });
    expect(changed).toEqual([]);
    await createCopy(admin, { ...settings, name: "new" });
    await until("another notification", () => changed.length > 0);
  });

  it("renew rejected credentials, and report failures until the new ones work", async () => {
    const { admin, watches, failures, count, clock } = await aSystem({ tokens: ["old", "older", "right"] });
    await createCopy(admin, settings);
    watches.subscribe(east, [configMaps]);
    // A reader does not wait for a first list that fails.
    expect(await watches.cachedOnceListed(at(settings), signal)).toBeUndefined();
    await untilPassed(clock, "a list with the right token", () => watches.cached(at(settings)) !== undefined);
    expect(count.rejected).toBe(2);
    expect(failures.map(({ error }) => String(error))).toEqual([
      expect.stringContaining("401"),
      expect.stringContaining("401"),
    ]);
  });

  it("list again with a client for other credentials, because it may be for another cluster", async () => {
    const { admin, watches, changed, failures, cluster, clock, swap } = await aSystem();
    await createCopy(admin, settings);
    watches.subscribe(east, [configMaps]);
    await untilOpen({ admin, changed });
    const lists = cluster.faults.inject({
      match: { verb: "list", resource: "configmaps" },
      effect: { kind: "delay", ms: 0 },
    });
    swap();
    cluster.faults.cutWatches();
    await untilPassed(clock, "listed", () => lists.hits > 0);
    expect({ changed, failures }).toEqual({ changed: [], failures: [] });
  });

  it("stop and drop their caches after an unsubscribe", async () => {
    const { admin, watches, changed } = await aSystem();
    await createCopy(admin, settings);
    watches.subscribe(east, [configMaps]);
    await watches.cachedOnceListed(at(settings), signal);
    watches.unsubscribe(east);
    watches.unsubscribe(east);
    expect({ size: watches.size, all: watches.watches.all }).toEqual({ size: 0, all: 0 });
    expect(watches.cached(at(settings))).toBeUndefined();
    changed.length = 0;
    watches.subscribe(east, [configMaps]);
    // Changes in between are unknown, so every copy counts as changed.
    await until("another notification", () => changed.length > 0);
  });

  it("do not start on a cluster that may not be watched, or for unknown types", async () => {
    const { watches } = await aSystem({ mayWatch: ({ name }) => name !== "gone" });
    watches.subscribe({ ...east, name: "gone" }, [configMaps]);
    watches.subscribe(east, [{ group: "example.org", version: "v1", plural: "databases" }]);
    expect(watches.watches.all).toBe(0);
  });

  it("of a cluster that hangs do not delay those of other clusters", async () => {
    const { admin, watches, changed, clock, cluster } = await aSystem();
    await createCopy(admin, settings);
    const west = { ...east, name: "west" };
    cluster.faults.inject({ match: { resource: "secrets" }, effect: { kind: "partition", requests: "hang" } });
    watches.subscribe(west, [referenceTypes.Secret]);
    watches.subscribe(east, [configMaps]);
    await until("a notification", () => changed.length > 0);
    let hasAnswered = false;
    const secret = { registration: west, object: { type: referenceTypes.Secret, namespace: onCluster, name: "keys" } };
    void watches.cachedOnceListed(secret, signal).then(() => (hasAnswered = true));
    await untilPassed(clock, "no longer waited for", () => hasAnswered);
    expect(watches.cached(secret)).toBeUndefined();
  });

  it("have a distinct id for every type", () => {
    expect(new Set(allWorkloadTypes().map(({ type }) => typeId(type))).size).toBe(allWorkloadTypes().length);
  });
});

describe("watches on a cluster that a tenant names", () => {
  const west: ObjectKey = { ...east, name: "west" };
  const limits: ResponseLimits = { ...untrustedServerLimits, cachedObjects: 3 };
  const named = (name: string): Owner => ({ ...settings, name });
  const create = async ({ admin }: Readonly<{ admin: KubeClient }>, ...names: readonly string[]) => {
    for (const name of names) await createCopy(admin, named(name));
  };
  const message = "cluster east: watch configmaps: the cluster has more than 3 objects to watch";

  it("end when the watch adds more objects than may be kept, and other registrations are watched as before", async () => {
    const system = await aSystem({ limits });
    const { admin, watches, changed, failures, clock } = system;
    watches.subscribe(west, [configMaps]);
    watches.subscribe(east, [configMaps]);
    await untilOpen(system);
    await create(system, "third");
    await until("a notification of the third", () => changed.length > 0);
    expect({ size: watches.size, excess: watches.excess(east) }).toEqual({ size: 3, excess: undefined });

    await create(system, "fourth");
    await until("the event of the fourth", () => watches.size !== 3);
    expect(watches.excess(east)).toBe(message);
    expect(failures.map(({ error, retryInMs }) => ({ text: String(error), retryInMs }))).toEqual([
      { text: expect.stringContaining(message), retryInMs: excessPauseMs },
    ]);
    // Nothing is kept, and nothing is taken for absent: every read goes to the cluster.
    expect({ size: watches.size, cached: watches.cached(at(named("first"))) }).toEqual({ size: 0, cached: undefined });
    expect({ excess: watches.excess(west), all: watches.watches }).toEqual({
      excess: undefined,
      all: { all: 2, down: 1 },
    });

    for (const name of ["third", "fourth"]) await admin.delete(at(named(name)).object);
    clock.advance(excessPauseMs - 1);
    expect(watches.excess(east)).toBe(message);
    clock.advance(1);
    await until("a watch again", () => watches.excess(east) === undefined);
    await until("the cached copies", () => watches.size === 2);
  });

  it("end when a list has more objects than may be kept", async () => {
    const system = await aSystem({ limits });
    await create(system, "a", "b", "c", "d");
    system.watches.subscribe(east, [configMaps]);
    await until("the list", () => system.watches.size > 0 || system.watches.excess(east) !== undefined);
    expect({ excess: system.watches.excess(east), size: system.watches.size }).toEqual({ excess: message, size: 0 });
  });

  it("count the objects of all types together", async () => {
    const system = await aSystem({ limits });
    const { watches } = system;
    await create(system, "a", "b");
    await createCopy(system.admin, web);
    watches.subscribe(east, [configMaps, deployments]);
    await until("all three", () => watches.size === 3);
    await create(system, "c");
    await until("the event of the fourth", () => watches.size !== 3);
    expect({ excess: watches.excess(east), size: watches.size }).toEqual({ excess: message, size: 1 });
    watches.unsubscribe(east);
    expect(watches.excess(east)).toBeUndefined();
  });
});
