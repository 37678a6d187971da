import { afterEach, describe, expect, test } from "vitest";
import { statusOf } from "../../support/controller-environment.ts";
import { aDeployment, deployments, type MovesStage, setMovesStage } from "../../support/moves-environment.ts";
import { placements, registrations } from "../upstream/tenants.ts";

const stages: MovesStage[] = [];
afterEach(async () => {
  for (const stage of stages.splice(0)) await stage.stop();
});

const quick = { tolerations: [{ key: "tmc.kcp.io/not-ready", operator: "Exists", tolerationSeconds: 60 }] };

async function running(placement: object = {}): Promise<MovesStage> {
  const stage = await setMovesStage(placement);
  stages.push(stage);
  await stage.client.create({ type: deployments, namespace: "shop" }, aDeployment("web"));
  await stage.pass(10_000);
  return stage;
}

/** Makes a cluster unreachable, and returns a function that reconnects it. */
function cutOff({ clusters }: MovesStage, name: string): () => void {
  const fault = clusters.get(name)?.faults.inject({ effect: { kind: "partition", requests: "refuse" } });
  return () => fault?.remove();
}

describe("a cluster that is not Ready", () => {
  test("a workload fails over after the tolerated time, and its old copy is evicted once the cluster is back", async () => {
    const stage = await running(quick);
    const { pass, where, said, selected } = stage;
    expect(await where()).toBe("east");
    const reconnect = cutOff(stage, "east");
    await pass(100_000); // three probes, and a part of the tolerated minute
    expect(await selected()).toBe("east");
    expect(await said()).toEqual({ east: "ClusterNotReady" });
    await pass(90_000);
    expect(await selected()).toBe("north");
    expect(await said()).toEqual({ east: "ClusterNotReady", north: "Ready" });
    reconnect();
    // The old copy is evicted only now, and the workload does not return, because the placement has no failback.
    await pass(90_000);
    expect(await where()).toBe("north");
    await pass(900_000, 10_000);
    expect(await selected()).toBe("north");
  }, 60_000);

  test("failback moves a workload to its former cluster without a time in which no copy is ready", async () => {
    const stage = await running({ ...quick, failback: { afterSeconds: 300 } });
    const { pass, where, selected, copy } = stage;
    const reconnect = cutOff(stage, "east");
    await pass(190_000);
    expect(await selected()).toBe("north");
    reconnect();
    await pass(90_000);
    expect(await where()).toBe("north");
    const { failback } = statusOf(await stage.placement("shop"));
    expect(failback).toMatchObject([{ cluster: "east", reason: "NotReady", standIn: "north" }]);
    for (let waited = 0; waited < 300_000; waited += 5_000) {
      await pass(5_000);
      // At every time one copy is ready.
      const ready = [await copy("east"), await copy("north")].filter(
        (each) => each !== undefined && statusOf(each).readyReplicas === 3,
      );
      expect(ready.length).toBeGreaterThanOrEqual(1);
    }
    expect(await selected()).toBe("east");
    await pass(30_000);
    expect(await where()).toBe("east");
  }, 60_000);

  test("evictAfterSeconds of a registration applies to a placement without tolerations", async () => {
    const stage = await running();
    const { client, pass, selected } = stage;
    await client.patch({ ...registrations, name: "east" }, { type: "merge", body: { spec: { evictAfterSeconds: 5 } } });
    cutOff(stage, "east");
    await pass(120_000);
    expect(await selected()).toBe("north");
  }, 60_000);
});

describe("many workloads at once", () => {
  const names = Array.from({ length: 15 }, (_, at) => `web-${at}`);
  async function manyRunning(placement: object): Promise<MovesStage> {
    const stage = await running(placement);
    for (const name of names) await stage.client.create({ type: deployments, namespace: "shop" }, aDeployment(name));
    await stage.pass(10_000);
    return stage;
  }
  const clustersOfAll = async ({ where }: MovesStage): Promise<readonly string[]> => {
    const places = new Set<string>();
    for (const name of names) places.add(await where(name));
    return [...places];
  };

  test("a drain evicts many workloads once their replacements are ready, without a confirmation", async () => {
    const stage = await manyRunning({});
    const { clusters, change, pass, did } = stage;
    expect(await clustersOfAll(stage)).toEqual(["east"]);
    const timeAdded = new Date(stage.clock.now()).toISOString();
    const taints = [{ key: "tmc.kcp.io/drain", effect: "NoExecute", timeAdded }];
    // The copies on the next cluster do not become ready yet.
    clusters.get("north")?.makeFull();
    await change(registrations.type, "east", { spec: { unschedulable: true, taints } });
    await pass(20_000);
    expect(await clustersOfAll(stage)).toEqual(["east north"]);
    clusters.get("north")?.recover();
    await pass(20_000);
    expect(await clustersOfAll(stage)).toEqual(["north"]);
    expect(did("held")).toBe(0);
  }, 60_000);

  test("workloads stay on a drained cluster if no other cluster fits", async () => {
    const stage = await manyRunning({ clusterNames: ["east"] });
    const taints = [{ key: "tmc.kcp.io/drain", effect: "NoExecute" }];
    await stage.change(registrations.type, "east", { spec: { unschedulable: true, taints } });
    await stage.pass(20_000);
    expect(await clustersOfAll(stage)).toEqual(["east"]);
    expect(await stage.said("web-3")).toEqual({ east: "LastCopy" });
    await stage.change(registrations.type, "east", { spec: { unschedulable: null, taints: null } });
    await stage.pass(20_000);
    expect(await stage.said("web-3")).toEqual({ east: "Ready" });
  }, 60_000);

  test("failover and failback of many workloads need no confirmation", async () => {
    const stage = await manyRunning({ ...quick, failback: { afterSeconds: 60 } });
    const reconnect = cutOff(stage, "east");
    await stage.pass(190_000, 5_000);
    reconnect();
    await stage.pass(60_000, 5_000);
    expect(await clustersOfAll(stage)).toEqual(["north"]);
    await stage.pass(120_000, 5_000);
    expect(await clustersOfAll(stage)).toEqual(["east"]);
    expect(stage.did("held")).toBe(0);
  }, 60_000);

  test("are held when the placement is lost, until a user confirms", async () => {
    const stage = await manyRunning({});
    await stage.client.delete({ ...placements, name: "shop" });
    await stage.pass(20_000);
    expect(await clustersOfAll(stage)).toEqual(["east"]);
    expect(await stage.said("web-3")).toEqual({ east: "DeletionsHeld" });
    expect(stage.did("held")).toBe(16);
  }, 60_000);
});

test("a cordoned cluster gets no new placements and keeps its workloads", async () => {
  const { client, pass, where, selected, change } = await running();
  await change(registrations.type, "east", { spec: { unschedulable: true } });
  await pass(5_000);
  const spec = { strategy: "RoundRobin", workloadSelector: {} };
  await client.create(placements, {
    apiVersion: "tmc.kcp.io/v1alpha1",
    kind: "WorkloadPlacement",
    metadata: { name: "new" },
    spec,
  });
  await pass(5_000);
  expect([await selected(), await selected("new")]).toEqual(["east", "north"]);
  expect(await where()).toBe("east");
}, 60_000);
