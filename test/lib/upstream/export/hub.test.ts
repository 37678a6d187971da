import { faultOf } from "@tmc/kube/errors.ts";
import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { afterEach, describe, expect, test } from "vitest";
import type { ObjectKey } from "../../../../lib/model/key.ts";
import { ClaimNotAccepted, TenantNotBound } from "../../../../lib/model/tenant-errors.ts";
import { createExportHub, type ExportHub } from "../../../../lib/upstream/export/hub.ts";
import { createFreshHub } from "../../../../lib/upstream/fresh-hub.ts";
import { apiBindings } from "../../../../lib/upstream/kcp-types.ts";
import { clientOf } from "../../../../lib/upstream/logical-cluster.ts";
import { aRegistration, registrations, type Tenants } from "../tenants.ts";
import { address, startTwoShards, type TwoShards } from "../two-shards.ts";

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const forEver = new AbortController().signal;
const secrets = { type: { group: "", version: "v1", plural: "secrets" }, namespace: "default" };

async function aHub(): Promise<
  Readonly<{ hub: ExportHub; two: TwoShards; clock: ReturnType<typeof createManualClock> }>
> {
  const two = await startTwoShards();
  ends.push(() => two.stop());
  for (const shard of two.shards) {
    for (const cluster of shard.clusters) await shard.at(cluster).create(registrations, aRegistration("east"));
  }
  const clock = createManualClock();
  const { provider, openEndpoint } = two;
  return { hub: createExportHub({ provider, export: address, openEndpoint, clock, random: () => 0.5 }), two, clock };
}

const read = (hub: ExportHub, cluster: string) => clientOf(hub.client, cluster).get({ ...registrations, name: "east" });
const count = ({ kcp }: Tenants, match: object = {}) => kcp.faults.inject({ match, effect: { kind: "delay", ms: 0 } });
const failureOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (error: unknown) => error,
  );

describe("the endpoint of a tenant", () => {
  test("the endpoint of a tenant is searched once and then remembered", async () => {
    const { hub, two } = await aHub();
    const [one, second] = two.shards;
    const [cluster = ""] = second.clusters;
    const atOne = count(one);
    await read(hub, cluster);
    expect(atOne.hits).toBe(1);
    for (let round = 0; round < 3; round++) await read(hub, cluster);
    expect(atOne.hits).toBe(1);
  });

  test("the endpoint of a tenant that a watch has set is used without a search", async () => {
    const { hub, two } = await aHub();
    const [one, second] = two.shards;
    const atOne = count(one);
    hub.setEndpointOf(second.clusters[0] ?? "", two.urls[1]);
    await read(hub, second.clusters[0] ?? "");
    expect(atOne.hits).toBe(0);
  });

  test("a 404 for an object does not start a search at other endpoints", async () => {
    const { hub, two } = await aHub();
    const [one, second] = two.shards;
    const atTwo = count(second);
    const gone = clientOf(hub.client, one.clusters[0] ?? "").get({ ...registrations, name: "nobody" });
    expect(faultOf(await failureOf(gone))).toBe("not-found");
    expect(atTwo.hits).toBe(0);
  });

  test("a server error does not start a search at other endpoints", async () => {
    const { hub, two } = await aHub();
    const [one, second] = two.shards;
    one.kcp.faults.inject({ match: { verb: "get" }, effect: { kind: "status", code: 503 } });
    const atTwo = count(second);
    expect(faultOf(await failureOf(read(hub, one.clusters[0] ?? "")))).toBe("unreachable");
    expect(atTwo.hits).toBe(0);
  });

  test("a new endpoint is used as soon as the endpoint slice contains it", async () => {
    const { hub, two, clock } = await aHub();
    const [, second] = two.shards;
    two.name([two.urls[0]]);
    await hub.refresh(forEver);
    clock.advance(6_000);
    two.name(two.urls);
    await read(hub, second.clusters[0] ?? "");
    expect(hub.endpoints().map(({ url }) => url)).toEqual(two.urls);
  });

  test("known endpoints are used while the endpoint slice cannot be read", async () => {
    const { hub, two, clock } = await aHub();
    await read(hub, two.shards[0].clusters[0] ?? "");
    two.lose(true);
    clock.advance(600_000);
    await hub.refresh(forEver);
    for (const { clusters } of two.shards) await read(hub, clusters[0] ?? "");
    expect(two.opened).toHaveLength(2);
  });

  test("an endpoint with plain http is never used", async () => {
    const { hub, two } = await aHub();
    two.name(["http://127.0.0.1:1/services/apiexport/a/b", two.urls[1]]);
    await hub.refresh(forEver);
    expect(hub.endpoints().map(({ url }) => url)).toEqual([two.urls[1]]);
    expect(two.opened).toEqual([two.urls[1]]);
  });
});

describe("rejected requests of an export hub", () => {
  const keyIn = (logicalCluster: string): ObjectKey => ({ logicalCluster, kind: "ClusterRegistration", name: "east" });

  test("a rejection by every endpoint is TenantNotBound, not an absent object", async () => {
    const { hub, two } = await aHub();
    const fresh = createFreshHub({ client: hub.client });
    const failure = await failureOf(fresh.read(keyIn("2x7kq1zzzzzzzzzz"), forEver));
    expect(failure).toBeInstanceOf(TenantNotBound);
    expect(faultOf(failure)).toBe("not-found");

    const [one] = two.shards;
    const [cluster = ""] = one.clusters;
    await one.at(cluster).delete({ type: apiBindings, name: "tmc-binding" });
    one.kcp.settle();
    expect(await failureOf(fresh.read(keyIn(cluster), forEver))).toBeInstanceOf(TenantNotBound);
    expect(await failureOf(fresh.list("ClusterRegistration", cluster, forEver))).toBeInstanceOf(TenantNotBound);
  });

  test("a rejection of a claimed type is ClaimNotAccepted", async () => {
    const { hub, two } = await aHub();
    const [one] = two.shards;
    const [cluster = ""] = one.clusters;
    const readSecret = () => clientOf(hub.client, cluster).get({ ...secrets, name: "kubeconfig" });
    expect(faultOf(await failureOf(readSecret()))).toBe("not-found");
    const binding = { type: apiBindings, name: "tmc-binding" };
    const { spec } = await one.at(cluster).get<{ spec: { permissionClaims: object[] } }>(binding);
    const permissionClaims = spec.permissionClaims.map((claim) => ({ ...claim, state: "Rejected" }));
    await one.at(cluster).patch(binding, { type: "merge", body: { spec: { permissionClaims } } });
    one.kcp.settle();
    expect(await failureOf(readSecret())).toBeInstanceOf(ClaimNotAccepted);
  });

  test("a rejection while the tenant is bound, or of all requests, is a transient fault", async () => {
    const { hub, two } = await aHub();
    const [one] = two.shards;
    const [cluster = ""] = one.clusters;
    const refusal = one.kcp.faults.inject({
      match: { resource: "clusterregistrations" },
      effect: { kind: "status", code: 403 },
    });
    expect(faultOf(await failureOf(read(hub, cluster)))).toBe("unreachable");
    refusal.remove();
    one.kcp.faults.inject({ effect: { kind: "status", code: 403 } });
    expect(faultOf(await failureOf(read(hub, cluster)))).toBe("unreachable");
  });
});
