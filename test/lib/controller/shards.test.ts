import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { afterEach, describe, expect, test } from "vitest";
import type { Controller } from "../../../lib/controller/controller.ts";
import { formatKey, type ObjectKey, type WorkKey } from "../../../lib/model/key.ts";
import { createMetrics } from "../../../lib/observe/metrics.ts";
import { createDuty, shardOf } from "../../../lib/sources/shard.ts";

import { aPlacement, aRegistration, placements, registrations } from "../upstream/tenants.ts";
import { readyOf, type Stage, setStage, statusOf } from "./stage.ts";

const shards = ["0", "1"];
const clusterKey = (name: string, logicalCluster = "abc"): ObjectKey => ({
  logicalCluster,
  kind: "ClusterRegistration",
  name,
});

describe("whose a key is", () => {
  const labelled = (label?: string) => ({
    get: (): KubeObject => ({
      apiVersion: "tmc.kcp.io/v1alpha1",
      kind: "ClusterRegistration",
      metadata: { name: "east", ...(label !== undefined && { labels: { "tmc.kcp.io/shard": label } }) },
    }),
  });
  const owners = (key: WorkKey, cache = labelled()): readonly string[] =>
    shards.filter((id) => createDuty({ id, shards }, cache)(key));

  test("each is one process's and no other's", () => {
    for (let n = 0; n < 100; n++) {
      const keys: WorkKey[] = [
        clusterKey(`c${n}`),
        { logicalCluster: "abc", kind: "WorkloadPlacement", name: `p${n}` },
        { logicalCluster: "abc", kind: "Workload", name: `deployments.v1.apps/shop/w${n}` },
      ];
      for (const key of keys) expect(owners(key)).toHaveLength(1);
    }
  });
  test("a cluster is that of its label, while there is such a shard", () => {
    expect(owners(clusterKey("east"), labelled("0"))).toEqual(["0"]);
    expect(owners(clusterKey("east"), labelled("1"))).toEqual(["1"]);
    expect(owners(clusterKey("east"), labelled("9"))).toEqual([shardOf(formatKey(clusterKey("east")), shards)]);
  });
  test("a cluster that has gone is everybody's: each lets go of what it held", () => {
    const gone = { get: () => undefined };
    expect(shards.filter((id) => createDuty({ id, shards }, gone)(clusterKey("east")))).toEqual(shards);
  });
  test("without shards everything is this one's", () => {
    expect(createDuty(undefined, labelled())(clusterKey("east"))).toBe(true);
  });
});

describe("two controllers that share the clusters", () => {
  let stage: Stage | undefined;
  afterEach(async () => {
    await stage?.stop();
    stage = undefined;
  });
  const names = Array.from({ length: 6 }, (_, n) => `c${n}`);

  test("probe each cluster once, decide every placement, and leave nobody unheard", async () => {
    stage = await setStage({ reached: Object.fromEntries(names.map((name) => [name, "east"])) });
    const { client, cluster, controller, rest, pass, registration, placement } = stage;
    for (const name of names) await client.create(registrations, aRegistration(name));
    for (const name of names) await client.create(placements, aPlacement(name, { strategy: "Spread" }));
    const metrics = shards.map(() => createMetrics());
    const running: Controller[] = shards.map((id, at) =>
      controller({ shard: { id, shards }, ...(metrics[at] && { metrics: metrics[at] }) }),
    );
    for (const each of running) await each.start();
    await rest();
    for (const name of names) {
      expect(readyOf(await registration(name))).toBe("True ClusterReady");
      expect(statusOf(await placement(name)).selectedClusters).toEqual(names);
    }
    const probes = () =>
      metrics.map((each) => Number(/^tmc_probe_total\{outcome="healthy"\} (\d+)$/m.exec(each.render())?.[1] ?? 0));
    const owned = shards.map(
      (id) => names.filter((name) => shardOf(formatKey(clusterKey(name, cluster)), shards) === id).length,
    );
    expect(Math.min(...owned)).toBeGreaterThan(0);
    expect(probes()).toEqual(owned);
    await pass(300_000);
    // Ten rounds; a first one that comes right after the look at the start is left out.
    for (const [at, count] of owned.entries()) {
      expect(probes()[at]).toBeGreaterThanOrEqual(count * 10);
      expect(probes()[at]).toBeLessThanOrEqual(count * 11);
    }
  });

  test("a cluster that sends work away is heard of by the other's placements at once", async () => {
    stage = await setStage({ reached: Object.fromEntries(names.map((name) => [name, "east"])) });
    const { client, controller, rest, placement } = stage;
    for (const name of names) await client.create(registrations, aRegistration(name));
    for (const name of names) await client.create(placements, aPlacement(name, { strategy: "Spread" }));
    for (const id of shards) await controller({ shard: { id, shards } }).start();
    await rest();
    const taint = { key: "down", effect: "NoExecute" };
    await client.patch({ ...registrations, name: "c0" }, { type: "merge", body: { spec: { taints: [taint] } } });
    await rest();
    for (const name of names) {
      expect(statusOf(await placement(name)).selectedClusters).toEqual(names.slice(1));
    }
  });
});
