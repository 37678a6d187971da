import { faultOf } from "@tmc/kube/errors.ts";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createRelay, type Relay, type RelayOptions, type RelayTrouble } from "../../../lib/relay/relay.ts";
import { reconciledTypes } from "../../../lib/upstream/reconciled-types.ts";
import { createManualClock } from "../../support/manual-clock.ts";
import {
  aPlacement,
  aRegistration,
  placements,
  registrations,
  startTenants,
  type Tenants,
} from "../upstream/tenants.ts";

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function someTenants(paths?: readonly string[]): Promise<Tenants> {
  const tenants = await startTenants(paths);
  ends.push(() => tenants.stop());
  return tenants;
}

/** A relay over all tenants, the keys it sent, and the troubles it had. */
function aRelay(tenants: Tenants, options: Partial<RelayOptions> = {}) {
  const sent: string[] = [];
  const reasons: string[] = [];
  const troubles: RelayTrouble[] = [];
  const queue = { down: false };
  const clock = createManualClock();
  const forgotten: string[] = [];
  const relay: Relay = createRelay({
    clusters: tenants.clusters.map((cluster) => ({ logicalCluster: cluster, client: tenants.at(cluster) })),
    types: reconciledTypes,
    queue: {
      send: async (items) => {
        if (queue.down) throw new Error("queue is down");
        sent.push(...items.map(({ key }) => `${tenants.clusters.indexOf(key.logicalCluster)} ${key.name}`));
        reasons.push(...items.map(({ reason }) => reason));
      },
    },
    clock,
    random: () => 0.5,
    listener: {
      trouble: (trouble) => troubles.push(trouble),
      secretChanged: ({ name }) => forgotten.push(name),
    },
    ...options,
  });
  ends.push(() => relay.stop(0));
  relay.start();
  return { relay, sent, reasons, troubles, queue, clock, forgotten };
}

describe("what wakes a key", () => {
  test("the first list, clusters before placements; then changes of what reconcilers act on, and nothing else", async () => {
    const tenants = await someTenants();
    const client = tenants.at(tenants.clusters[0] ?? "");
    await client.create(placements, aPlacement("web"));
    await client.create(registrations, aRegistration("east"));
    const { relay, sent } = aRelay(tenants);
    await relay.whenListed();
    await vi.waitFor(() => expect(sent).toEqual(["0 east", "0 web"]));

    const status = { status: { lastHeartbeat: "2026-01-01T00:00:00Z" } };
    await client.patch({ ...registrations, name: "east" }, { type: "merge", body: status }, { subresource: "status" });
    await client.patch(
      { ...registrations, name: "east" },
      { type: "merge", body: { metadata: { labels: { a: "b" } } } },
    );
    await client.delete({ ...placements, name: "web" });
    await vi.waitFor(() => expect(sent.slice(2)).toEqual(["0 east", "0 web"]));
  });

  test("a person's wish, which is told apart from a change, once for each wish", async () => {
    const tenants = await someTenants();
    const client = tenants.at(tenants.clusters[0] ?? "");
    const annotations = { "tmc.kcp.io/reconcile-requested": "1" };
    await client.create(registrations, aRegistration("east", {}, { annotations }));
    const { relay, reasons } = aRelay(tenants);
    await relay.whenListed();
    const annotate = (body: object) => client.patch({ ...registrations, name: "east" }, { type: "merge", body });
    await annotate({ metadata: { labels: { a: "b" } } });
    await annotate({ metadata: { annotations: { "tmc.kcp.io/reconcile-requested": "2" } } });
    await annotate({ metadata: { labels: { a: "c" } } });
    await vi.waitFor(() => expect(reasons).toEqual(["changed", "changed", "on-demand", "changed"]));
  });

  test("an object that vanished between two lists", async () => {
    const tenants = await someTenants();
    const client = tenants.at(tenants.clusters[0] ?? "");
    await client.create(placements, aPlacement("web"));
    await client.create(placements, aPlacement("api"));
    const { relay, sent, clock } = aRelay(tenants, { relistSeconds: 100 });
    await relay.whenListed();
    await vi.waitFor(() => expect(sent.toSorted()).toEqual(["0 api", "0 web"]));
    tenants.kcp.faults.inject({ match: { verb: "watch" }, effect: { kind: "stall-watch" } });
    tenants.kcp.faults.cutWatches();
    await client.delete({ ...placements, name: "web" });
    clock.advance(120_000);
    await vi.waitFor(() => expect(sent.slice(2)).toEqual(["0 web"]));
  });
});

describe("before everything is listed", () => {
  test("no key of a logical cluster is sent, and other clusters do not wait for it", async () => {
    const tenants = await someTenants(["root:one", "root:two"]);
    const [one = "", two = ""] = tenants.clusters;
    for (const cluster of [one, two]) {
      await tenants.at(cluster).create(placements, aPlacement("web"));
      await tenants.at(cluster).create(registrations, aRegistration("east"));
    }
    const refusal = tenants.kcp.faults.inject({
      match: { verb: "list", resource: "clusterregistrations", cluster: one },
      effect: { kind: "status", code: 403 },
    });
    const { relay, sent, troubles, clock } = aRelay(tenants);
    await vi.waitFor(() => expect(sent).toEqual(["1 east", "1 web"]));
    await vi.waitFor(() => expect(troubles).toHaveLength(1));
    expect(faultOf(troubles[0]?.error)).toBe("forbidden");
    expect(relay.unlisted()).toEqual([one]);
    for (let round = 0; round < 3; round++) {
      await tenants
        .at(one)
        .patch(
          { ...placements, name: "web" },
          { type: "merge", body: { metadata: { labels: { round: `${round}` } } } },
        );
    }

    refusal.remove();
    clock.advance(60_000);
    await relay.whenListed();
    await vi.waitFor(() => expect(sent.slice(2)).toEqual(["0 east", "0 web"]));
  });
});

test("a watch that goes on where it left off is told as such, the first one after a list is not", async () => {
  const tenants = await someTenants();
  const client = tenants.at(tenants.clusters[0] ?? "");
  const heard: string[] = [];
  const { relay, clock, troubles } = aRelay(tenants, {
    listener: {
      trouble: (trouble) => void troubles.push(trouble),
      alive: (kind) => void heard.push(`${kind} alive`),
      restarted: (kind) => void heard.push(`${kind} restarted`),
    },
  });
  await relay.whenListed();
  await client.create(placements, aPlacement("web"));
  await vi.waitFor(() => expect(heard.filter((word) => word.startsWith("WorkloadPlacement"))).toHaveLength(3));
  await vi.waitFor(() => expect(heard.filter((word) => word.startsWith("ClusterRegistration"))).toHaveLength(2));
  expect(heard.filter((word) => word.endsWith("restarted"))).toEqual([]);

  tenants.kcp.faults.cutWatches();
  await vi.waitFor(() => {
    clock.advance(1_000);
    expect(heard.filter((word) => word.endsWith("restarted")).toSorted()).toEqual([
      "ClusterRegistration restarted",
      "WorkloadPlacement restarted",
    ]);
  });
});

test("while the queue is down nothing is lost, and what is left is sent at the end", async () => {
  const tenants = await someTenants();
  const client = tenants.at(tenants.clusters[0] ?? "");
  const { relay, sent, queue, troubles } = aRelay(tenants);
  await relay.whenListed();
  queue.down = true;
  await client.create(placements, aPlacement("web"));
  await client.create(placements, aPlacement("api"));
  await vi.waitFor(() => expect(relay.unsent).toBe(2));
  expect(troubles[0]?.what).toBe("queue");
  queue.down = false;
  expect(await relay.stop(1_000)).toBe(0);
  expect(sent.toSorted()).toEqual(["0 api", "0 web"]);
});

describe("secrets", () => {
  const secrets = { type: { group: "", version: "v1", plural: "secrets" }, namespace: "default" };
  const aSecret = (name: string, value = "eA==") => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name },
    data: { kubeconfig: value },
  });
  const referring = (name: string, secret: string) =>
    aRegistration(name, { credentials: { secretRef: { namespace: "default", name: secret } } });

  test("a secret that changes, comes or goes wakes the registrations that refer to it, and no other", async () => {
    const tenants = await someTenants();
    const client = tenants.at(tenants.clusters[0] ?? "");
    await client.create(secrets, aSecret("one"));
    await client.create(secrets, aSecret("unused"));
    await client.create(registrations, referring("east", "one"));
    await client.create(registrations, referring("west", "two"));
    await client.create(registrations, aRegistration("north"));
    const watches = tenants.kcp.faults.inject({
      match: { resource: "secrets", verb: "watch" },
      effect: { kind: "delay", ms: 0 },
    });
    const { relay, sent, forgotten } = aRelay(tenants);
    await relay.whenListed();
    await vi.waitFor(() => expect(sent).toHaveLength(3));
    await vi.waitFor(() => expect(watches.hits).toBe(1));

    await client.patch({ ...secrets, name: "unused" }, { type: "merge", body: { data: { kubeconfig: "eQ==" } } });
    await client.patch({ ...secrets, name: "one" }, { type: "merge", body: { data: { kubeconfig: "eQ==" } } });
    await vi.waitFor(() => expect(sent.slice(3)).toEqual(["0 east"]));
    await client.create(secrets, aSecret("two"));
    await vi.waitFor(() => expect(sent.slice(3)).toEqual(["0 east", "0 west"]));
    await client.delete({ ...secrets, name: "one" });
    await vi.waitFor(() => expect(sent.slice(3)).toEqual(["0 east", "0 west", "0 east"]));
    expect(forgotten).toEqual(["east", "west", "east"]);
  });

  test("where nobody refers to a secret, none is looked at", async () => {
    const tenants = await someTenants();
    const client = tenants.at(tenants.clusters[0] ?? "");
    await client.create(registrations, aRegistration("north"));
    const secretRequests = tenants.kcp.faults.inject({
      match: { resource: "secrets" },
      effect: { kind: "status", code: 403 },
    });
    const { relay, sent } = aRelay(tenants);
    await relay.whenListed();
    await vi.waitFor(() => expect(sent).toHaveLength(1));
    expect(secretRequests.hits).toBe(0);
    await client.create(registrations, referring("east", "one"));
    await vi.waitFor(() => expect(secretRequests.hits).toBe(1));
  });
});
