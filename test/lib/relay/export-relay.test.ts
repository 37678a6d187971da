import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { afterEach, describe, expect, test, vi } from "vitest";
import { exportName, exportWorkspace } from "../../../lib/api/group.ts";
import { createExportRelay, type ExportRelay, type ExportRelayOptions } from "../../../lib/relay/export-relay.ts";
import type { RelayFailure } from "../../../lib/relay/listener.ts";
import { projectTenantObject } from "../../../lib/relay/watch/projection.ts";
import { createExportHub } from "../../../lib/upstream/export/hub.ts";
import { apiBindings } from "../../../lib/upstream/kcp-types.ts";
import { reconciledTypes } from "../../../lib/upstream/watched-resources.ts";
import {
  aPlacement,
  aRegistration,
  placements,
  registrations,
  startTenants,
  type Tenants,
} from "../upstream/tenants.ts";
import { startTwoShards } from "../upstream/two-shards.ts";

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const secrets = { type: { group: "", version: "v1", plural: "secrets" }, namespace: "default" };
const address = { path: exportWorkspace, name: exportName };

async function someTenants(count: number): Promise<Tenants> {
  const tenants = await startTenants(Array.from({ length: count }, (_, at) => `root:team-${at}`));
  ends.push(() => tenants.stop());
  return tenants;
}

/** A relay for all tenants of a kcp, the keys it sent, and the tenants it released. */
function aRelay(tenants: Tenants, options: Partial<ExportRelayOptions> = {}) {
  const sent: string[] = [];
  const released: string[] = [];
  const failures: RelayFailure[] = [];
  const secretsChanged: string[] = [];
  const clock = createManualClock();
  const nameOf = (cluster: string): string => String(tenants.clusters.indexOf(cluster));
  const hub = createExportHub({
    provider: tenants.client,
    export: address,
    openEndpoint: () => {
      throw new Error("there is one server");
    },
    clock,
    random: () => 0.5,
  });
  const relay: ExportRelay = createExportRelay({
    provider: tenants.client,
    export: address,
    hub,
    types: reconciledTypes,
    queue: {
      send: async (items) => void sent.push(...items.map(({ key }) => `${nameOf(key.logicalCluster)} ${key.name}`)),
    },
    clock,
    random: () => 0.5,
    transform: projectTenantObject,
    listener: {
      released: (cluster) => released.push(nameOf(cluster)),
      failed: (failure) => failures.push(failure),
      secretChanged: ({ name }) => secretsChanged.push(name),
    },
    ...options,
  });
  ends.push(() => relay.stop(0));
  relay.start();
  return { relay, sent, released, failures, secretsChanged, clock, hub };
}

/** Retries an assertion without advancing the clock; a busy machine needs more than a second for some. */
const soon = <T>(assertion: () => T | Promise<T>): Promise<T> => vi.waitFor(assertion, { timeout: 15_000 });

/** Retries an assertion while the clock advances, so that relists and new watches start. */
async function relisted(clock: ReturnType<typeof createManualClock>, assertion: () => void): Promise<void> {
  await soon(() => {
    clock.advance(300);
    assertion();
  });
}

describe("export relay", () => {
  test("relays all tenants through one endpoint, each with its own logical cluster", async () => {
    const tenants = await someTenants(2);
    const [one = "", two = ""] = tenants.clusters;
    await tenants.at(one).create(placements, aPlacement("web"));
    await tenants.at(one).create(registrations, aRegistration("east"));
    await tenants.at(two).create(registrations, aRegistration("east"));
    const { relay, sent, failures } = aRelay(tenants);
    await relay.whenListed();
    await soon(() => expect(sent.toSorted()).toEqual(["0 east", "0 web", "1 east"]));
    expect(relay.tenants().toSorted()).toEqual([one, two].toSorted());
    expect(relay.endpoints()).toHaveLength(1);

    await tenants.at(two).create(placements, aPlacement("api"));
    await soon(() => expect(sent.slice(3)).toEqual(["1 api"]));
    expect(failures).toEqual([]);
  });

  test("starts with an empty endpoint slice, and relays the first tenant when it binds", async () => {
    const tenants = await someTenants(0);
    const { relay, sent, failures } = aRelay(tenants);
    await relay.whenListed();
    expect(relay.endpoints()).toEqual([]);
    const cluster = await tenants.bind("root:first");
    await soon(() => expect(relay.tenants()).toEqual([cluster]));
    await tenants.at(cluster).create(registrations, aRegistration("east"));
    await soon(() => expect(sent).toEqual(["-1 east"]));
    expect(failures).toEqual([]);
  });

  test("relays objects that a tenant had before it bound, but none before both kinds are listed", async () => {
    const tenants = await someTenants(1);
    const { relay, sent, clock } = aRelay(tenants);
    await relay.whenListed();
    const cluster = await tenants.bind("root:late");
    await tenants.at(cluster).create(placements, aPlacement("web"));
    await soon(() => expect(relay.unlisted()).toEqual([cluster]));
    expect(sent).toEqual([]);
    await relisted(clock, () => expect(sent).toEqual(["-1 web"]));
    expect(relay.unlisted()).toEqual([]);
  });

  test("releases a tenant whose binding is deleted, and goes on with the others", async () => {
    const tenants = await someTenants(2);
    const [one = "", two = ""] = tenants.clusters;
    await tenants.at(one).create(placements, aPlacement("web"));
    const { relay, sent, released, clock } = aRelay(tenants);
    await relay.whenListed();
    await soon(() => expect(sent).toEqual(["0 web"]));
    await tenants.at(one).delete({ type: apiBindings, name: "tmc-binding" });
    await soon(() => expect(released).toEqual(["0"]));
    expect(relay.isEngaged(one)).toBe(false);
    await tenants.at(two).create(placements, aPlacement("api"));
    await soon(() => expect(sent).toContain("1 api"));

    // The same workspace binds again, as a new tenant.
    await tenants.bind("root:team-0");
    await tenants.at(one).create(placements, aPlacement("again"));
    await relisted(clock, () => expect(sent).toContain("0 again"));
  });

  test("opens as many watches for 50 tenants as for one", async () => {
    const watches = async (count: number): Promise<number> => {
      const tenants = await someTenants(count);
      for (const cluster of tenants.clusters) {
        const secretRef = { namespace: "default", name: "kubeconfig" };
        await tenants.at(cluster).create(registrations, aRegistration("east", { credentials: { secretRef } }));
      }
      const counted = tenants.kcp.faults.inject({ match: { verb: "watch" }, effect: { kind: "delay", ms: 0 } });
      const { relay, sent } = aRelay(tenants);
      await relay.whenListed();
      await soon(() => expect(sent).toHaveLength(count));
      await soon(() => expect(counted.hits).toBeGreaterThanOrEqual(5));
      return counted.hits;
    };
    // The slice, bindings, two kinds and secrets.
    expect(await watches(1)).toBe(5);
    expect(await watches(50)).toBe(5);
  }, 60_000);

  test("a secret enqueues the registrations that refer to it, in its own logical cluster only", async () => {
    const tenants = await someTenants(2);
    const spec = { credentials: { secretRef: { namespace: "default", name: "kubeconfig" } } };
    for (const cluster of tenants.clusters) {
      await tenants.at(cluster).create(registrations, aRegistration("east", spec));
    }
    const { relay, sent } = aRelay(tenants);
    await relay.whenListed();
    await soon(() => expect(sent).toHaveLength(2));
    sent.splice(0);
    const watched = tenants.kcp.faults.inject({
      match: { verb: "watch", resource: "secrets" },
      effect: { kind: "delay", ms: 0 },
    });
    await soon(() => expect(watched.hits).toBeGreaterThanOrEqual(0));
    const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "kubeconfig" }, stringData: { a: "b" } };
    await soon(async () => {
      await tenants
        .at(tenants.clusters[1] ?? "")
        .patch({ ...secrets, name: "kubeconfig" }, { type: "apply", body: secret }, { fieldManager: "test" });
      expect(sent).toContain("1 east");
    });
    expect(sent).not.toContain("0 east");
  });
});

describe("export relay with failures", () => {
  test("keeps its endpoints when the provider workspace cannot be read", async () => {
    const tenants = await someTenants(1);
    const [one = ""] = tenants.clusters;
    const { relay, sent, failures, clock } = aRelay(tenants, { relistSeconds: 100 });
    await relay.whenListed();
    const fault = tenants.kcp.faults.inject({
      match: { resource: "apiexportendpointslices" },
      effect: { kind: "status", code: 403 },
    });
    tenants.kcp.faults.cutWatches({ resource: "apiexportendpointslices" });
    clock.advance(150_000);
    await soon(() => expect(failures.map(({ what }) => what)).toContain("APIExportEndpointSlice"));
    expect(relay.tenants()).toEqual([one]);
    await tenants.at(one).create(placements, aPlacement("web"));
    await soon(() => expect(sent).toEqual(["0 web"]));
    fault.remove();
  });

  test("resumes interrupted watches without losing or repeating a key", async () => {
    const tenants = await someTenants(2);
    const { relay, sent } = aRelay(tenants);
    await relay.whenListed();
    for (let round = 0; round < 3; round++) {
      tenants.kcp.faults.cutWatches();
      for (const cluster of tenants.clusters) await tenants.at(cluster).create(placements, aPlacement(`web-${round}`));
      await soon(() => expect(sent).toHaveLength((round + 1) * 2));
    }
    expect(new Set(sent).size).toBe(6);
  });
});

describe("export relay with changing tenants", () => {
  test("loses no key of bound tenants and sends none of released tenants while tenants bind and unbind", async () => {
    const tenants = await someTenants(6);
    const { relay, sent, released, clock } = aRelay(tenants);
    await relay.whenListed();
    const [gone, back, ...staying] = tenants.clusters;
    const expected = new Set<string>();
    for (let round = 0; round < 12; round++) {
      for (const cluster of staying) {
        await tenants.at(cluster).create(placements, aPlacement(`web-${round}`));
        expected.add(`${tenants.clusters.indexOf(cluster)} web-${round}`);
      }
      if (round % 4 === 1) tenants.kcp.faults.cutWatches();
      if (round === 3) await tenants.at(gone ?? "").delete({ type: apiBindings, name: "tmc-binding" });
      if (round === 5) await tenants.at(back ?? "").delete({ type: apiBindings, name: "tmc-binding" });
      if (round === 8) {
        await relisted(clock, () => expect(released.toSorted()).toEqual(["0", "1"]));
        await tenants.bind("root:team-1");
        await tenants.at(back ?? "").create(placements, aPlacement("again"));
        expected.add("1 again");
      }
      clock.advance(100);
    }
    await relisted(clock, () => expect([...expected].filter((key) => !sent.includes(key))).toEqual([]));
    expect(sent.filter((key) => key.startsWith("0 "))).toEqual([]);
    expect(relay.tenants().toSorted()).toEqual([back ?? "", ...staying].toSorted());
  });
});

describe("export relay with two endpoints", () => {
  async function aSharedRelay() {
    const two = await startTwoShards(2);
    ends.push(() => two.stop());
    const clusters = two.shards.flatMap((shard) => shard.clusters);
    const [one, other] = two.shards;
    const tenants: Tenants = { ...one, clusters, at: (cluster) => shardOf(cluster).at(cluster) };
    const shardOf = (cluster: string): Tenants => (one.clusters.includes(cluster) ? one : other);
    const { provider, openEndpoint } = two;
    const hub = createExportHub({
      provider,
      export: address,
      openEndpoint,
      clock: createManualClock(),
      random: () => 0.5,
    });
    return { two, tenants, ...aRelay(tenants, { provider, hub }) };
  }

  test("releases the tenants of an endpoint that is removed from the slice, and relays them again when it is back", async () => {
    const { two, tenants, relay, sent, released } = await aSharedRelay();
    await relay.whenListed();
    for (const cluster of tenants.clusters) await tenants.at(cluster).create(placements, aPlacement("web"));
    await soon(() => expect(sent.toSorted()).toEqual(["0 web", "1 web", "2 web", "3 web"]));

    two.name([two.urls[0]]);
    await soon(() => expect(released.toSorted()).toEqual(["2", "3"]));
    await tenants.at(tenants.clusters[2] ?? "").create(placements, aPlacement("while-removed"));
    await tenants.at(tenants.clusters[0] ?? "").create(placements, aPlacement("while-served"));
    await soon(() => expect(sent.slice(4)).toEqual(["0 while-served"]));

    two.name(two.urls);
    await soon(() => expect(sent.slice(5).toSorted()).toEqual(["2 web", "2 while-removed", "3 web"]));
    expect(relay.endpoints()).toEqual(two.urls);
  });

  test("an endpoint that does not answer delays no other endpoint", async () => {
    const { two, tenants, relay, sent } = await aSharedRelay();
    two.shards[1].kcp.faults.inject({ effect: { kind: "status", code: 503 } });
    await tenants.at(tenants.clusters[0] ?? "").create(placements, aPlacement("web"));
    await soon(() => expect(sent).toEqual(["0 web"]));
    expect(relay.unlisted()).toEqual([`tenants at ${two.urls[1]}`]);
  });
});

describe("export relay with permission claims", () => {
  test("a change of the accepted claims enqueues the registrations that refer to secrets, and no others", async () => {
    const tenants = await someTenants(2);
    const [one = ""] = tenants.clusters;
    const spec = { credentials: { secretRef: { namespace: "default", name: "kubeconfig" } } };
    for (const cluster of tenants.clusters) {
      await tenants.at(cluster).create(registrations, aRegistration("east", spec));
      await tenants.at(cluster).create(registrations, aRegistration("west"));
    }
    const { relay, sent, secretsChanged } = aRelay(tenants);
    await relay.whenListed();
    await soon(() => expect(sent).toHaveLength(4));
    const binding = { type: apiBindings, name: "tmc-binding" };
    const { spec: bound } = await tenants.at(one).get<{ spec: { permissionClaims: object[] } }>(binding);
    const permissionClaims = bound.permissionClaims.map((claim) => ({ ...claim, state: "Rejected" }));
    await tenants.at(one).patch(binding, { type: "merge", body: { spec: { permissionClaims } } });
    await soon(() => expect(new Set(sent.slice(4))).toEqual(new Set(["0 east"])));
    expect(new Set(secretsChanged)).toEqual(new Set(["east"]));
  });
});
