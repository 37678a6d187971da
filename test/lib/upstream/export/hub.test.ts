import { faultOf } from "@tmc/kube/errors.ts";
import { afterEach, describe, expect, test } from "vitest";
import type { ObjectKey } from "../../../../lib/model/key.ts";
import { ClaimNotAccepted, TenantNotBound } from "../../../../lib/model/tenant-errors.ts";
import { createExportHub, type ExportHub } from "../../../../lib/upstream/export/hub.ts";
import { createFreshHub } from "../../../../lib/upstream/fresh-hub.ts";
import { apiBindings } from "../../../../lib/upstream/kcp-types.ts";
import { clientOf } from "../../../../lib/upstream/logical-cluster.ts";
import { createManualClock } from "../../../support/manual-clock.ts";
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

describe("the way to a tenant", () => {
  test("is found among the endpoints once, and known from then on", async () => {
    const { hub, two } = await aHub();
    const [one, second] = two.shards;
    const [cluster = ""] = second.clusters;
    const atOne = count(one);
    await read(hub, cluster);
    expect(atOne.hits).toBe(1);
    for (let round = 0; round < 3; round++) await read(hub, cluster);
    expect(atOne.hits).toBe(1);
  });

  test("is taken from whoever has seen the tenant", async () => {
    const { hub, two } = await aHub();
    const [one, second] = two.shards;
    const atOne = count(one);
    hub.placed(second.clusters[0] ?? "", two.urls[1]);
    await read(hub, second.clusters[0] ?? "");
    expect(atOne.hits).toBe(0);
  });

  test("an answer about the object is an answer: nobody else is asked", async () => {
    const { hub, two } = await aHub();
    const [one, second] = two.shards;
    const atTwo = count(second);
    const gone = clientOf(hub.client, one.clusters[0] ?? "").get({ ...registrations, name: "nobody" });
    expect(faultOf(await failureOf(gone))).toBe("not-found");
    expect(atTwo.hits).toBe(0);
  });

  test("trouble of a server is not taken for another place", async () => {
    const { hub, two } = await aHub();
    const [one, second] = two.shards;
    one.kcp.faults.inject({ match: { verb: "get" }, effect: { kind: "status", code: 503 } });
    const atTwo = count(second);
    expect(faultOf(await failureOf(read(hub, one.clusters[0] ?? "")))).toBe("unreachable");
    expect(atTwo.hits).toBe(0);
  });

  test("leads through a new endpoint as soon as the slice names it", async () => {
    const { hub, two, clock } = await aHub();
    const [, second] = two.shards;
    two.name([two.urls[0]]);
    await hub.refresh(forEver);
    clock.advance(6_000);
    two.name(two.urls);
    await read(hub, second.clusters[0] ?? "");
    expect(hub.endpoints().map(({ url }) => url)).toEqual(two.urls);
  });

  test("stays when the slice cannot be read", async () => {
    const { hub, two, clock } = await aHub();
    await read(hub, two.shards[0].clusters[0] ?? "");
    two.lose(true);
    clock.advance(600_000);
    await hub.refresh(forEver);
    for (const { clusters } of two.shards) await read(hub, clusters[0] ?? "");
    expect(two.opened).toHaveLength(2);
  });

  test("never leads over plain http", async () => {
    const { hub, two } = await aHub();
    two.name(["http://127.0.0.1:1/services/apiexport/a/b", two.urls[1]]);
    await hub.refresh(forEver);
    expect(hub.endpoints().map(({ url }) => url)).toEqual([two.urls[1]]);
    expect(two.opened).toEqual([two.urls[1]]);
  });
});

describe("a refusal", () => {
  const keyIn = (logicalCluster: string): ObjectKey => ({ logicalCluster, kind: "ClusterRegistration", name: "east" });

  test("of everybody means that the tenant is not bound, and says nothing about its objects", async () => {
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

  test("of a claimed type means that its owner has not accepted the claim", async () => {
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

  test("while the tenant is bound may pass, and so may one of all that we may see", async () => {
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
