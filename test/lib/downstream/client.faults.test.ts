import { setImmediate } from "node:timers/promises";
import type { FaultMatch } from "@tmc/embedded/faults.ts";
import { type EmbeddedCluster, startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import { type CountedRequest, countedClient } from "@tmc/kube/counted-client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { afterEach, describe, expect, it } from "vitest";
import { referenceTypes, workloadKindsWith } from "../../../lib/api/workload-kinds.ts";
import { createFleet } from "../../../lib/downstream/client.ts";
import { type CopyWatches, createCopyWatches } from "../../../lib/downstream/copy-watch.ts";
import type { CallRate } from "../../../lib/downstream/rate-limit.ts";
import { createAttention } from "../../../lib/downstream/watch-subscriptions.ts";
import type { ObjectKey } from "../../../lib/model/key.ts";
import { manifestOf } from "../../../lib/sync/desired/manifest.ts";
import type { CopyAddress } from "../../../lib/sync/downstream.ts";
import { downstreamNamespace, type Locator } from "../../../lib/sync/ownership/namespace-map.ts";
import type { Owner } from "../../../lib/sync/ownership/owner.ts";
import { createManualClock, type ManualClock } from "../../support/manual-clock.ts";

const east: ObjectKey = { logicalCluster: "abc", kind: "ClusterRegistration", name: "east" };
const locator: Locator = { hub: "hub", logicalCluster: "abc", namespace: "shop" };
const namespace = downstreamNamespace(locator);
const origin: Owner = { ...locator, registration: "east", apiVersion: "v1", kind: "ConfigMap", name: "settings" };
const at: CopyAddress = { registration: east, object: { type: referenceTypes.ConfigMap, namespace, name: "settings" } };
const manifest = manifestOf(
  { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "settings" }, data: { a: "1" } },
  { origin, namespace },
);
const signal = new AbortController().signal;
const maps = (verb: string): FaultMatch => ({ verb, resource: "configmaps" });

const running: EmbeddedCluster[] = [];
const watching: CopyWatches[] = [];
afterEach(async () => {
  await Promise.all(watching.splice(0).map((watches) => watches.stop()));
  await Promise.all(running.splice(0).map((cluster) => cluster.stop()));
});

type SystemOptions = Readonly<{ tokens?: readonly string[]; rate?: CallRate; watched?: boolean }>;

/** A fleet of one cluster; each time its credentials are refused it gets the next token. */
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
  const onRefused = (): void => {
    used = Math.min(used + 1, clients.length - 1);
  };
  const copies = watched
    ? createCopyWatches({
        hubId: "hub",
        clientFor,
        types: workloadKindsWith(),
        clock,
        random: () => 0.5,
        relistSeconds: 600,
        onChanged: () => {},
        onTrouble: () => {},
      })
    : undefined;
  if (copies !== undefined) watching.push(copies);
  const attention = copies === undefined ? undefined : createAttention(copies);
  const fleet = createFleet({ clientFor, copies, attention, clock, rate, onRefused });
  return { clock, cluster, fleet, requests, copies, admin: clientWith("right") };
}

const faultIn = (call: Promise<unknown>): Promise<unknown> => call.then(() => undefined, faultOf);

/** Lets time pass until a call has ended. */
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

describe("a fleet", () => {
  it("does not take a cluster that cannot be asked for one that has nothing", async () => {
    const { fleet, cluster, clock } = await aSystem();
    cluster.beUnreachable("refuse");
    expect(await faultIn(fleet.readCopy(at, origin, signal))).toBe("unreachable");
    cluster.recover();
    cluster.beUnreachable("hang");
    expect(await passing(clock, faultIn(fleet.readObject(at, signal)))).toBe("unreachable");
  });

  it("does not take the 404 of whoever stands before a cluster for the cluster's word", async () => {
    const { fleet, cluster } = await aSystem();
    cluster.faults.inject({ match: maps("get"), effect: { kind: "status", code: 404, message: "404 page not found" } });
    expect(await faultIn(fleet.readCopy(at, origin, signal))).toBe("unreachable");
  });

  it("answers from the watch without a request, and asks when there is none to answer from", async () => {
    const { fleet, requests } = await aSystem({ watched: true });
    fleet.subscribe(east, [at.object.type]);
    await fleet.ensureNamespace(east, locator, signal);
    await fleet.readCopy(at, origin, signal);
    await fleet.apply(at, manifest, signal);
    const before = requests.length;
    expect(await fleet.readCopy(at, origin, signal)).toMatchObject({ kind: "there" });
    expect(requests.length).toBe(before);
    const other = { ...at, object: { ...at.object, name: "other" } };
    expect(await fleet.readCopy(other, { ...origin, name: "other" }, signal)).toEqual({ kind: "absent" });
    expect(requests.slice(before).map(({ verb, code }) => `${verb} ${code}`)).toEqual(["get 404"]);
  });

  it.each([
    ["was lost on its way back", "after", true],
    ["never got there", "before", false],
  ] as const)("asks what has become of a write that %s", async (_, when, isThere) => {
    const { fleet, cluster } = await aSystem({ watched: true });
    fleet.subscribe(east, [at.object.type]);
    await fleet.ensureNamespace(east, locator, signal);
    await fleet.readCopy(at, origin, signal);
    cluster.faults.inject({ match: maps("patch"), effect: { kind: "reset", when }, count: 1 });
    expect(await faultIn(fleet.apply(at, manifest, signal))).toBe("unreachable");
    expect(await fleet.readCopy(at, origin, signal)).toMatchObject({ kind: isThere ? "there" : "absent" });
    // Whether it got there or not, the same again does no harm.
    expect((await fleet.apply(at, manifest, signal)).metadata.name).toBe("settings");
  });

  it("does not go by what it knew when the answer to a change was lost, and no watch tells", async () => {
    const { fleet, cluster, copies } = await aSystem({ watched: true });
    fleet.subscribe(east, [at.object.type]);
    await fleet.ensureNamespace(east, locator, signal);
    await fleet.readCopy(at, origin, signal);
    const { metadata } = await fleet.apply(at, manifest, signal);
    cluster.faults.inject({ match: maps("watch"), effect: { kind: "partition", requests: "hang" } });
    cluster.faults.cutWatches();
    cluster.faults.inject({ match: maps("patch"), effect: { kind: "reset", when: "after" }, count: 1 });
    expect(await faultIn(fleet.apply(at, { ...manifest, data: { a: "2" } }, signal))).toBe("unreachable");
    expect(copies?.peek(at)).toBeUndefined();
    const sighting = await fleet.readCopy(at, origin, signal);
    expect(sighting).toMatchObject({ kind: "there", copy: { uid: metadata.uid } });
    expect(sighting).not.toMatchObject({ copy: { resourceVersion: metadata.resourceVersion } });
  });

  it("writes to a cluster that does not take the condition that nothing is there", async () => {
    const { fleet, cluster } = await aSystem();
    await fleet.ensureNamespace(east, locator, signal);
    const conflict = { kind: "status", code: 409, reason: "Conflict" } as const;
    cluster.faults.inject({ match: maps("patch"), effect: conflict, count: 1 });
    expect((await fleet.apply(at, manifest, signal)).data).toEqual({ a: "1" });
  });

  it.each([
    [1, undefined, true],
    [2, undefined, true],
    [3, "conflict", false],
  ])("looks again when others write what it removes at the same time: %d times", async (count, fault, isGone) => {
    const { fleet, cluster } = await aSystem();
    await fleet.ensureNamespace(east, locator, signal);
    const { metadata } = await fleet.apply(at, manifest, signal);
    cluster.faults.inject({ match: maps("delete"), effect: { kind: "status", code: 409, reason: "Conflict" }, count });
    expect(await faultIn(fleet.remove(at, metadata.uid ?? "", signal))).toBe(fault);
    const left = await fleet.readObject(at, signal);
    expect(left === undefined || left.metadata.deletionTimestamp !== undefined).toBe(isGone);
  });

  it("does not remove what stops being ours between its look and its deletion", async () => {
    const { fleet, cluster, admin, clock } = await aSystem();
    await fleet.ensureNamespace(east, locator, signal);
    const { metadata } = await fleet.apply(at, manifest, signal);
    const slow = cluster.faults.inject({ match: maps("delete"), effect: { kind: "delay", ms: 1_000 }, count: 1 });
    const removed = fleet.remove(at, metadata.uid ?? "", signal);
    while (slow.hits === 0) await setImmediate();
    await admin.patch(at.object, { type: "merge", body: { metadata: { labels: { "tmc.kcp.io/synced": null } } } });
    await passing(clock, removed);
    const left = await admin.get<KubeObject>(at.object).catch(() => undefined);
    expect(left?.metadata).toMatchObject({ uid: metadata.uid });
    expect(left?.metadata).not.toHaveProperty("deletionTimestamp");
  });

  it("finds other credentials when a cluster refuses the ones it has, once", async () => {
    const { fleet, requests } = await aSystem({ tokens: ["old", "right"] });
    await fleet.ensureNamespace(east, locator, signal);
    expect((await fleet.apply(at, manifest, signal)).metadata.name).toBe("settings");
    expect(requests.filter(({ code }) => code === "401")).toHaveLength(1);
  });

  it("cannot ask a cluster that refuses all credentials there are", async () => {
    const { fleet, requests } = await aSystem({ tokens: ["old", "older"] });
    expect(await faultIn(fleet.readCopy(at, origin, signal))).toBe("unreachable");
    expect(requests).toHaveLength(2);
    expect(await faultIn(fleet.readCopy(at, origin, signal))).toBe("unreachable");
    expect(requests).toHaveLength(3);
  });

  it("remembers a namespace that was there", async () => {
    const { fleet, requests } = await aSystem();
    await fleet.ensureNamespace(east, locator, signal);
    const before = requests.length;
    await fleet.ensureNamespace(east, locator, signal);
    expect(requests.length).toBe(before);
  });

  it("asks again for a namespace that could not be made", async () => {
    const { fleet, cluster } = await aSystem();
    const made = {
      match: { verb: "create", resource: "namespaces" },
      effect: { kind: "reset", when: "before" },
    } as const;
    cluster.faults.inject({ ...made, count: 1 });
    expect(await faultIn(fleet.ensureNamespace(east, locator, signal))).toBe("unreachable");
    await fleet.ensureNamespace(east, locator, signal);
  });

  it("puts nothing on clusters from a namespace that is the servers' own", async () => {
    const { fleet, requests } = await aSystem();
    const system = { ...locator, namespace: "kube-system" };
    expect(await faultIn(fleet.ensureNamespace(east, system, signal))).toBe("invalid");
    expect(requests).toEqual([]);
  });

  it("keeps a namespace of which it may not see everything", async () => {
    const { fleet, cluster } = await aSystem();
    await fleet.ensureNamespace(east, locator, signal);
    cluster.faults.inject({
      match: { verb: "list", resource: "pods" },
      effect: { kind: "status", code: 403, reason: "Forbidden" },
    });
    expect(await fleet.removeNamespace(east, locator, signal)).toBe(false);
    cluster.faults.clear();
    expect(await fleet.removeNamespace(east, locator, signal)).toBe(true);
  });

  it("keeps a namespace that is needed again while it looks", async () => {
    const { fleet, cluster, clock } = await aSystem();
    await fleet.ensureNamespace(east, locator, signal);
    const slow = cluster.faults.inject({
      match: { verb: "list", resource: "pods" },
      effect: { kind: "delay", ms: 1_000 },
    });
    const removed = fleet.removeNamespace(east, locator, signal);
    while (slow.hits === 0) await setImmediate();
    await fleet.ensureNamespace(east, locator, signal);
    expect(await passing(clock, removed)).toBe(false);
    await fleet.apply(at, manifest, signal);
  });

  it("gives each cluster so many calls and no more", async () => {
    const { fleet, requests, clock } = await aSystem({ rate: { perSecond: 10, burst: 5 } });
    const looks = Array.from({ length: 25 }, () => fleet.readCopy(at, origin, signal));
    const counts: number[] = [];
    for (let step = 0; step <= 5; step++) {
      for (let turns = 0; turns < 50; turns++) await setImmediate();
      counts.push(requests.length);
      clock.advance(500);
    }
    expect(counts).toEqual([5, 10, 15, 20, 25, 25]);
    await Promise.all(looks);
  });

  it("lets no cluster wait for another that is slow, or has had too many calls", async () => {
    const systems = { east: await aSystem(), west: await aSystem() };
    const clientFor = async ({ name }: ObjectKey) => (name === "east" ? systems.east.admin : systems.west.admin);
    const { clock } = systems.east;
    const fleet = createFleet({ clientFor, clock, rate: { perSecond: 1, burst: 1 } });
    systems.east.cluster.beUnreachable("hang");
    const gaveUp = new AbortController();
    const looks = Array.from({ length: 20 }, () => faultIn(fleet.readCopy(at, origin, gaveUp.signal)));
    const west = { ...at, registration: { ...east, name: "west" } };
    expect(await fleet.readCopy(west, { ...origin, registration: "west" }, signal)).toEqual({ kind: "absent" });
    gaveUp.abort();
    await Promise.all(looks);
  });
});
