import { setImmediate } from "node:timers/promises";
import { type EmbeddedCluster, startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import type { FaultMatch } from "@tmc/embedded/server/faults.ts";
import { type CountedRequest, countedClient } from "@tmc/kube/counted-client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { createManualClock, type ManualClock } from "@tmc/kube/manual-clock.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { afterEach, describe, expect, it } from "vitest";
import { allWorkloadTypes, referenceTypes } from "../../../lib/api/workload-kinds.ts";
import { createDownstream } from "../../../lib/downstream/client.ts";
import { type CopyWatches, createCopyWatches } from "../../../lib/downstream/copy-watch.ts";
import type { RateLimit } from "../../../lib/downstream/rate-limit.ts";
import { createWatchSubscriptions } from "../../../lib/downstream/watch-subscriptions.ts";
import type { ObjectKey } from "../../../lib/model/key.ts";
import { manifestOf } from "../../../lib/sync/desired/manifest.ts";
import type { CopyAddress } from "../../../lib/sync/downstream.ts";
import { downstreamNamespace, type Locator } from "../../../lib/sync/ownership/namespace-map.ts";
import type { Owner } from "../../../lib/sync/ownership/owner.ts";

const east: ObjectKey = { logicalCluster: "abc", kind: "ClusterRegistration", name: "east" };
const locator: Locator = { hub: "hub", logicalCluster: "abc", namespace: "shop" };
const namespace = downstreamNamespace(locator);
const owner: Owner = { ...locator, registration: "east", apiVersion: "v1", kind: "ConfigMap", name: "settings" };
const address: CopyAddress = {
  registration: east,
  object: { type: referenceTypes.ConfigMap, namespace, name: "settings" },
};
const manifest = manifestOf(
  { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "settings" }, data: { a: "1" } },
  { owner, namespace },
);
const signal = new AbortController().signal;
const maps = (verb: string): FaultMatch => ({ verb, resource: "configmaps" });

const running: EmbeddedCluster[] = [];
const watching: CopyWatches[] = [];
afterEach(async () => {
  await Promise.all(watching.splice(0).map((watches) => watches.stop()));
  await Promise.all(running.splice(0).map((cluster) => cluster.stop()));
});

type SystemOptions = Readonly<{ tokens?: readonly string[]; rate?: RateLimit; watched?: boolean }>;

/** A downstream with one cluster. Each time the cluster rejects the credentials, the next token is used. */
async function aSystem({ tokens = ["right"], rate, watched = false }: SystemOptions = {}) {
  const clock = createManualClock();
  const cluster = await startEmbeddedCluster({ name: "east", listen: false, adminToken: "right", clock });
  running.push(cluster);
  const requests: CountedRequest[] = [];
  const clientWith = (token: string) =>
    countedClient(
      createKubeClient({
        endpoint: { server: "https://east.invalid" },
        transport: cluster.transport(token),
        name: "cluster east",
        clock,
        random: () => 0.5,
      }),
      (request) => void requests.push(request),
      clock,
    );
  const clients = tokens.map(clientWith);
  let used = 0;
  const clientFor = async () => clients[used] ?? clientWith("none");
  const onUnauthorized = (): void => {
    used = Math.min(used + 1, clients.length - 1);
  };
  const copies = watched
    ? createCopyWatches({
        hubId: "hub",
        clientFor,
        types: allWorkloadTypes(),
        clock,
        random: () => 0.5,
        relistSeconds: 600,
        onChanged: () => {},
        onFailure: () => {},
      })
    : undefined;
  if (copies !== undefined) watching.push(copies);
  const subscriptions = copies === undefined ? undefined : createWatchSubscriptions(copies);
  const downstream = createDownstream({ clientFor, copies, subscriptions, clock, rate, onUnauthorized });
  return { clock, cluster, downstream, requests, copies, admin: clientWith("right") };
}

const faultIn = (call: Promise<unknown>): Promise<unknown> => call.then(() => undefined, faultOf);

/** Advances the clock until a call has ended. */
async function passing<T>(clock: ManualClock, call: Promise<T>): Promise<T> {
  let isDone = false;
  const ended = call.finally(() => {
    isDone = true;
  });
  for (let step = 0; step < 1_000 && !isDone; step++) {
    for (let turns = 0; turns < 10 && !isDone; turns++) await setImmediate();
    clock.advance(100);
  }
  return ended;
}

describe("the downstream client", () => {
  it("does not report a copy as absent when the cluster is unreachable", async () => {
    const { downstream, cluster, clock } = await aSystem();
    cluster.makeUnreachable("refuse");
    expect(await faultIn(downstream.readCopy(address, owner, signal))).toBe("unreachable");
    cluster.recover();
    cluster.makeUnreachable("hang");
    expect(await passing(clock, faultIn(downstream.readObject(address, signal)))).toBe("unreachable");
  });

  it("does not report a copy as absent when a proxy in front of the cluster answers 404", async () => {
    const { downstream, cluster } = await aSystem();
    cluster.faults.inject({ match: maps("get"), effect: { kind: "status", code: 404, message: "404 page not found" } });
    expect(await faultIn(downstream.readCopy(address, owner, signal))).toBe("unreachable");
  });

  it("reads a cached copy without a request, and requests a copy that is not cached", async () => {
    const { downstream, requests } = await aSystem({ watched: true });
    downstream.subscribe(east, [address.object.type]);
    await downstream.ensureNamespace(east, locator, signal);
    await downstream.readCopy(address, owner, signal);
    await downstream.apply(address, manifest, signal);
    const before = requests.length;
    expect(await downstream.readCopy(address, owner, signal)).toMatchObject({ kind: "there" });
    expect(requests.length).toBe(before);
    const other = { ...address, object: { ...address.object, name: "other" } };
    expect(await downstream.readCopy(other, { ...owner, name: "other" }, signal)).toEqual({ kind: "absent" });
    expect(requests.slice(before).map(({ verb, code }) => `${verb} ${code}`)).toEqual(["get 404"]);
  });

  it.each([
    ["was stored although its answer was lost", "after", true],
    ["was never stored", "before", false],
  ] as const)("reads the copy again after a write that %s", async (_, when, isThere) => {
    const { downstream, cluster } = await aSystem({ watched: true });
    downstream.subscribe(east, [address.object.type]);
    await downstream.ensureNamespace(east, locator, signal);
    await downstream.readCopy(address, owner, signal);
    cluster.faults.inject({ match: maps("patch"), effect: { kind: "reset", when }, count: 1 });
    expect(await faultIn(downstream.apply(address, manifest, signal))).toBe("unreachable");
    expect(await downstream.readCopy(address, owner, signal)).toMatchObject({ kind: isThere ? "there" : "absent" });
    // The same apply again is harmless in both cases.
    expect((await downstream.apply(address, manifest, signal)).metadata.name).toBe("settings");
  });

  it("does not use the cached copy after the answer to a write was lost while no watch is open", async () => {
    const { downstream, cluster, copies } = await aSystem({ watched: true });
    downstream.subscribe(east, [address.object.type]);
    await downstream.ensureNamespace(east, locator, signal);
    await downstream.readCopy(address, owner, signal);
    const { metadata } = await downstream.apply(address, manifest, signal);
    cluster.faults.inject({ match: maps("watch"), effect: { kind: "partition", requests: "hang" } });
    cluster.faults.cutWatches();
    cluster.faults.inject({ match: maps("patch"), effect: { kind: "reset", when: "after" }, count: 1 });
    expect(await faultIn(downstream.apply(address, { ...manifest, data: { a: "2" } }, signal))).toBe("unreachable");
    expect(copies?.cached(address)).toBeUndefined();
    const state = await downstream.readCopy(address, owner, signal);
    expect(state).toMatchObject({ kind: "there", copy: { uid: metadata.uid } });
    expect(state).not.toMatchObject({ copy: { resourceVersion: metadata.resourceVersion } });
  });

  it("applies to a cluster that does not support the create-only precondition", async () => {
    const { downstream, cluster } = await aSystem();
    await downstream.ensureNamespace(east, locator, signal);
    const conflict = { kind: "status", code: 409, reason: "Conflict" } as const;
    cluster.faults.inject({ match: maps("patch"), effect: conflict, count: 1 });
    expect((await downstream.apply(address, manifest, signal)).data).toEqual({ a: "1" });
  });

  it.each([
    [1, undefined, true],
    [2, undefined, true],
    [3, "conflict", false],
  ])("repeats a deletion after a conflict, three attempts address most: %d conflicts", async (count, fault, isGone) => {
    const { downstream, cluster } = await aSystem();
    await downstream.ensureNamespace(east, locator, signal);
    const { metadata } = await downstream.apply(address, manifest, signal);
    cluster.faults.inject({ match: maps("delete"), effect: { kind: "status", code: 409, reason: "Conflict" }, count });
    expect(await faultIn(downstream.remove(address, metadata.uid ?? "", signal))).toBe(fault);
    const left = await downstream.readObject(address, signal);
    expect(left === undefined || left.metadata.deletionTimestamp !== undefined).toBe(isGone);
  });

  it("does not delete an object that stops being ours between the read and the deletion", async () => {
    const { downstream, cluster, admin, clock } = await aSystem();
    await downstream.ensureNamespace(east, locator, signal);
    const { metadata } = await downstream.apply(address, manifest, signal);
    const slow = cluster.faults.inject({ match: maps("delete"), effect: { kind: "delay", ms: 1_000 }, count: 1 });
    const removed = downstream.remove(address, metadata.uid ?? "", signal);
    while (slow.hits === 0) await setImmediate();
    await admin.patch(address.object, { type: "merge", body: { metadata: { labels: { "tmc.kcp.io/synced": null } } } });
    await passing(clock, removed);
    const left = await admin.get<KubeObject>(address.object).catch(() => undefined);
    expect(left?.metadata).toMatchObject({ uid: metadata.uid });
    expect(left?.metadata).not.toHaveProperty("deletionTimestamp");
  });

  it("retries once with other credentials when a cluster rejects the current ones", async () => {
    const { downstream, requests } = await aSystem({ tokens: ["old", "right"] });
    await downstream.ensureNamespace(east, locator, signal);
    expect((await downstream.apply(address, manifest, signal)).metadata.name).toBe("settings");
    expect(requests.filter(({ code }) => code === "401")).toHaveLength(1);
  });

  it("reports a cluster as unreachable when it rejects all credentials", async () => {
    const { downstream, requests } = await aSystem({ tokens: ["old", "older"] });
    expect(await faultIn(downstream.readCopy(address, owner, signal))).toBe("unreachable");
    expect(requests).toHaveLength(2);
    expect(await faultIn(downstream.readCopy(address, owner, signal))).toBe("unreachable");
    expect(requests).toHaveLength(3);
  });

  it("reads a namespace only once", async () => {
    const { downstream, requests } = await aSystem();
    await downstream.ensureNamespace(east, locator, signal);
    const before = requests.length;
    await downstream.ensureNamespace(east, locator, signal);
    expect(requests.length).toBe(before);
  });

  it("retries the creation of a namespace that failed", async () => {
    const { downstream, cluster } = await aSystem();
    const made = {
      match: { verb: "create", resource: "namespaces" },
      effect: { kind: "reset", when: "before" },
    } as const;
    cluster.faults.inject({ ...made, count: 1 });
    expect(await faultIn(downstream.ensureNamespace(east, locator, signal))).toBe("unreachable");
    await downstream.ensureNamespace(east, locator, signal);
  });

  it("does not sync a system namespace", async () => {
    const { downstream, requests } = await aSystem();
    const system = { ...locator, namespace: "kube-system" };
    expect(await faultIn(downstream.ensureNamespace(east, system, signal))).toBe("invalid");
    expect(requests).toEqual([]);
  });

  it("keeps a namespace if it may not list everything in it", async () => {
    const { downstream, cluster } = await aSystem();
    await downstream.ensureNamespace(east, locator, signal);
    cluster.faults.inject({
      match: { verb: "list", resource: "pods" },
      effect: { kind: "status", code: 403, reason: "Forbidden" },
    });
    expect(await downstream.removeNamespace(east, locator, signal)).toBe(false);
    cluster.faults.clear();
    expect(await downstream.removeNamespace(east, locator, signal)).toBe(true);
  });

  it("keeps a namespace that has an object of a type TMC does not sync", async () => {
    const { downstream, admin } = await aSystem();
    await downstream.ensureNamespace(east, locator, signal);
    const leases = { type: { group: "coordination.k8s.io", version: "v1", plural: "leases" }, namespace };
    const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "theirs" } };
    await admin.create(leases, lease);
    expect(await downstream.removeNamespace(east, locator, signal)).toBe(false);
    expect((await admin.get({ ...leases, name: "theirs" })).metadata.name).toBe("theirs");
    await admin.delete({ ...leases, name: "theirs" });
    expect(await downstream.removeNamespace(east, locator, signal)).toBe(true);
  });

  it("keeps a namespace if it may not list a type that only discovery names", async () => {
    const { downstream, cluster } = await aSystem();
    await downstream.ensureNamespace(east, locator, signal);
    const effect = { kind: "status", code: 403, reason: "Forbidden" } as const;
    cluster.faults.inject({ match: { verb: "list", resource: "networkpolicies" }, effect });
    expect(await downstream.removeNamespace(east, locator, signal)).toBe(false);
  });

  it("keeps a namespace if discovery is incomplete", async () => {
    const { admin, clock } = await aSystem();
    const version = { version: "v1", freshness: "Stale", resources: [] };
    const group = { metadata: { name: "down.example.org" }, versions: [version] };
    const stale = JSON.stringify({ kind: "APIGroupDiscoveryList", items: [group] });
    let answer: Readonly<{ status: number; text: string }> | undefined;
    const raw: typeof admin.raw = async (method, path, options) =>
      path === "/apis" && answer !== undefined ? { ...answer, headers: {} } : admin.raw(method, path, options);
    const client = { ...admin, raw };
    const downstream = createDownstream({ clientFor: async () => client, clock });
    await downstream.ensureNamespace(east, locator, signal);
    for (answer of [
      { status: 200, text: stale },
      { status: 403, text: "{}" },
      { status: 200, text: "<html>" },
    ]) {
      expect(await downstream.removeNamespace(east, locator, signal), answer.text).toBe(false);
    }
    answer = { status: 503, text: "" };
    expect(await faultIn(downstream.removeNamespace(east, locator, signal))).toBe("unreachable");
    answer = undefined;
    expect(await downstream.removeNamespace(east, locator, signal)).toBe(true);
  });

  it("keeps a namespace that is needed again during its deletion", async () => {
    const { downstream, cluster, clock } = await aSystem();
    await downstream.ensureNamespace(east, locator, signal);
    const slow = cluster.faults.inject({
      match: { verb: "list", resource: "pods" },
      effect: { kind: "delay", ms: 1_000 },
    });
    const removed = downstream.removeNamespace(east, locator, signal);
    while (slow.hits === 0) await setImmediate();
    await downstream.ensureNamespace(east, locator, signal);
    expect(await passing(clock, removed)).toBe(false);
    await downstream.apply(address, manifest, signal);
  });

  it("limits the rate of requests to each cluster", async () => {
    const { downstream, requests, clock } = await aSystem({ rate: { perSecond: 10, burst: 5 } });
    const reads = Array.from({ length: 25 }, () => downstream.readCopy(address, owner, signal));
    const counts: number[] = [];
    for (let step = 0; step <= 5; step++) {
      for (let turns = 0; turns < 50; turns++) await setImmediate();
      counts.push(requests.length);
      clock.advance(500);
    }
    expect(counts).toEqual([5, 10, 15, 20, 25, 25]);
    await Promise.all(reads);
  });

  it("does not delay a cluster because another one hangs or has used up its rate limit", async () => {
    const systems = { east: await aSystem(), west: await aSystem() };
    const clientFor = async ({ name }: ObjectKey) => (name === "east" ? systems.east.admin : systems.west.admin);
    const { clock } = systems.east;
    const downstream = createDownstream({ clientFor, clock, rate: { perSecond: 1, burst: 1 } });
    systems.east.cluster.makeUnreachable("hang");
    const canceled = new AbortController();
    const reads = Array.from({ length: 20 }, () => faultIn(downstream.readCopy(address, owner, canceled.signal)));
    const west = { ...address, registration: { ...east, name: "west" } };
    expect(await downstream.readCopy(west, { ...owner, registration: "west" }, signal)).toEqual({ kind: "absent" });
    canceled.abort();
    await Promise.all(reads);
  });
});
