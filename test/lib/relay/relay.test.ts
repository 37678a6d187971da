import { faultOf } from "@tmc/kube/errors.ts";
import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { RelayFailure } from "../../../lib/relay/listener.ts";
import { createRelay, type Relay, type RelayOptions } from "../../../lib/relay/relay.ts";
import { reconciledTypes } from "../../../lib/upstream/watched-resources.ts";
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

/** A relay for all tenants, the keys it sent, and its failures. */
function aRelay(tenants: Tenants, options: Partial<RelayOptions> = {}) {
  const sent: string[] = [];
  const reasons: string[] = [];
  const failures: RelayFailure[] = [];
  const queue = { down: false };
  const clock = createManualClock();
  const secretsChanged: string[] = [];
  const relay: Relay = createRelay({
    workspaces: tenants.clusters.map((cluster) => ({ logicalCluster: cluster, client: tenants.at(cluster) })),
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
      failed: (failure) => failures.push(failure),
      secretChanged: ({ name }) => secretsChanged.push(name),
    },
    ...options,
  });
  ends.push(() => relay.stop(0));
  relay.start();
  return { relay, sent, reasons, failures, queue, clock, secretsChanged };
}

describe("relay", () => {
  test("sends the first list, registrations before placements, and then only changes that reconcilers act on", async () => {
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

  test("sends the reason on-demand once for each new value of the reconcile-requested annotation", async () => {
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

  test("sends the key of an object that was deleted between two lists", async () => {
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

describe("relay before everything is listed", () => {
  test("sends no key of a logical cluster that is not listed, and does not delay the others", async () => {
    const tenants = await someTenants(["root:one", "root:two"]);
    const [one = "", two = ""] = tenants.clusters;
    for (const cluster of [one, two]) {
      await tenants.at(cluster).create(placements, aPlacement("web"));
      await tenants.at(cluster).create(registrations, aRegistration("east"));
    }
    const fault = tenants.kcp.faults.inject({
      match: { verb: "list", resource: "clusterregistrations", logicalCluster: one },
      effect: { kind: "status", code: 403 },
    });
    const { relay, sent, failures, clock } = aRelay(tenants);
    await vi.waitFor(() => expect(sent).toEqual(["1 east", "1 web"]));
    await vi.waitFor(() => expect(failures).toHaveLength(1));
    expect(faultOf(failures[0]?.error)).toBe("forbidden");
    expect(relay.unlisted()).toEqual([one]);
    for (let round = 0; round < 3; round++) {
      await tenants
        .at(one)
        .patch(
          { ...placements, name: "web" },
          { type: "merge", body: { metadata: { labels: { round: `${round}` } } } },
        );
    }

    fault.remove();
    clock.advance(60_000);
    await relay.whenListed();
    await vi.waitFor(() => expect(sent.slice(2)).toEqual(["0 east", "0 web"]));
  });
});

test("reports a resumed watch as restarted, but not the first watch after a list", async () => {
  const tenants = await someTenants();
  const client = tenants.at(tenants.clusters[0] ?? "");
  const calls: string[] = [];
  const { relay, clock, failures } = aRelay(tenants, {
    listener: {
      failed: (failure) => void failures.push(failure),
      alive: (kind) => void calls.push(`${kind} alive`),
      restarted: (kind) => void calls.push(`${kind} restarted`),
    },
  });
  await relay.whenListed();
  await client.create(placements, aPlacement("web"));
  await vi.waitFor(() => expect(calls.filter((call) => call.startsWith("WorkloadPlacement"))).toHaveLength(3));
  await vi.waitFor(() => expect(calls.filter((call) => call.startsWith("ClusterRegistration"))).toHaveLength(2));
  expect(calls.filter((call) => call.endsWith("restarted"))).toEqual([]);

  tenants.kcp.faults.cutWatches();
  await vi.waitFor(() => {
    clock.advance(1_000);
    expect(calls.filter((call) => call.endsWith("restarted")).toSorted()).toEqual([
      "ClusterRegistration restarted",
      "WorkloadPlacement restarted",
    ]);
  });
});

test("loses no key while the queue is down, and sends the remaining keys on stop", async () => {
  const tenants = await someTenants();
  const client = tenants.at(tenants.clusters[0] ?? "");
  const { relay, sent, queue, failures } = aRelay(tenants);
  await relay.whenListed();
  queue.down = true;
  await client.create(placements, aPlacement("web"));
  await client.create(placements, aPlacement("api"));
  await vi.waitFor(() => expect(relay.unsent).toBe(2));
  expect(failures[0]?.what).toBe("queue");
  queue.down = false;
  expect(await relay.stop(1_000)).toBe(0);
  expect(sent.toSorted()).toEqual(["0 api", "0 web"]);
});

describe("relay of secrets", () => {
  const secrets = { type: { group: "", version: "v1", plural: "secrets" }, namespace: "default" };
  const aSecret = (name: string, value = "eA==") => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name },
    data: { kubeconfig: value },
  });
  const referring = (name: string, secret: string) =>
    aRegistration(name, { credentials: { secretRef: { namespace: "default", name: secret } } });

  test("a secret that is created, changed or deleted enqueues the registrations that refer to it, and no other", async () => {
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
    const { relay, sent, secretsChanged } = aRelay(tenants);
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
    expect(secretsChanged).toEqual(["east", "west", "east"]);
  });

  test("requests no secrets unless a registration refers to one", async () => {
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
