import { compareStrings } from "@tmc/kube/compare.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { afterEach, describe, expect, test } from "vitest";
import type { Controller } from "../../../lib/controller/controller.ts";
import type { ControllerOptions } from "../../../lib/controller/parts.ts";
import { formatKey, type ObjectKey, type WorkKey } from "../../../lib/model/key.ts";
import { createMetrics } from "../../../lib/observe/metrics.ts";
import { createKeyShardFilter, shardOf } from "../../../lib/sources/shard.ts";
import {
  type ControllerEnvironment,
  readyOf,
  startControllerEnvironment,
  statusOf,
} from "../../support/controller-environment.ts";
import { aDeployment, deployments, namespaces } from "../../support/moves-environment.ts";
import { aPlacement, aRegistration, placements, registrations } from "../upstream/tenants.ts";

const shards = ["0", "1"];
const clusterKey = (name: string, logicalCluster = "abc"): ObjectKey => ({
  logicalCluster,
  kind: "ClusterRegistration",
  name,
});

describe("the shard of a key", () => {
  const labelled = (label?: string) => ({
    get: (): KubeObject => ({
      apiVersion: "tmc.kcp.io/v1alpha1",
      kind: "ClusterRegistration",
      metadata: { name: "east", ...(label !== undefined && { labels: { "tmc.kcp.io/shard": label } }) },
    }),
    isStale: () => false,
  });
  const owners = (
    key: WorkKey,
    cache: Readonly<{ get: () => KubeObject | undefined; isStale: () => boolean }> = labelled(),
  ): readonly string[] => shards.filter((id) => createKeyShardFilter({ id, shards }, cache)(key));

  test("every key belongs to exactly one shard", () => {
    for (let n = 0; n < 100; n++) {
      const keys: WorkKey[] = [
        clusterKey(`c${n}`),
        { logicalCluster: "abc", kind: "WorkloadPlacement", name: `p${n}` },
        { logicalCluster: "abc", kind: "Workload", name: `deployments.v1.apps/shop/w${n}` },
      ];
      for (const key of keys) expect(owners(key)).toHaveLength(1);
    }
  });
  test("the shard label of a registration applies if that shard exists", () => {
    expect(owners(clusterKey("east"), labelled("0"))).toEqual(["0"]);
    expect(owners(clusterKey("east"), labelled("1"))).toEqual(["1"]);
    expect(owners(clusterKey("east"), labelled("9"))).toEqual([shardOf(formatKey(clusterKey("east")), shards)]);
  });
  test("the key of a deleted registration belongs to every shard, so that each one drops its state", () => {
    const gone = { get: () => undefined, isStale: () => false };
    expect(owners(clusterKey("east"), gone)).toEqual(shards);
  });
  test("the key of an object that a list lacked belongs to every shard, so that each one reads whether it is gone", () => {
    const stale = { ...labelled(), isStale: () => true };
    expect(owners(clusterKey("east"), stale)).toEqual(shards);
    expect(owners({ logicalCluster: "abc", kind: "WorkloadPlacement", name: "web" }, stale)).toEqual(shards);
  });
  test("every key belongs to a controller without shards", () => {
    expect(createKeyShardFilter(undefined, labelled())(clusterKey("east"))).toBe(true);
  });
});

describe("two controllers with a shard each", () => {
  let stage: ControllerEnvironment | undefined;
  afterEach(async () => {
    await stage?.stop();
    stage = undefined;
  });
  const candidates = Array.from({ length: 100 }, (_, n) => `c${n}`);
  const reached = Object.fromEntries(candidates.map((name) => [name, "east"]));
  const shardOfName = (name: string, logicalCluster: string) =>
    shardOf(formatKey(clusterKey(name, logicalCluster)), shards);
  /** Six names, three of each shard: which shard owns a name depends on the generated name of the logical cluster. */
  const namesIn = (logicalCluster: string): readonly string[] =>
    shards
      .flatMap((id) => candidates.filter((name) => shardOfName(name, logicalCluster) === id).slice(0, 3))
      .sort(compareStrings);

  test("two shards probe each cluster once per round and decide every placement over all clusters", async () => {
    stage = await startControllerEnvironment({ reached });
    const { client, cluster, controller, rest, pass, registration, placement } = stage;
    const names = namesIn(cluster);
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
    const owned = shards.map((id) => names.filter((name) => shardOfName(name, cluster) === id).length);
    expect(owned).toEqual([3, 3]);
    expect(probes()).toEqual(owned);
    await pass(300_000);
    // Ten rounds; a first round right after the probe at the start is skipped.
    for (const [at, count] of owned.entries()) {
      expect(probes()[at]).toBeGreaterThanOrEqual(count * 10);
      expect(probes()[at]).toBeLessThanOrEqual(count * 11);
    }
  });

  test("a taint on a cluster of one shard changes the placements of the other shard at once", async () => {
    stage = await startControllerEnvironment({ reached });
    const { client, cluster, controller, rest, placement } = stage;
    const names = namesIn(cluster);
    for (const name of names) await client.create(registrations, aRegistration(name));
    for (const name of names) await client.create(placements, aPlacement(name, { strategy: "Spread" }));
    for (const id of shards) await controller({ shard: { id, shards } }).start();
    await rest();
    const taint = { key: "down", effect: "NoExecute" };
    await client.patch(
      { ...registrations, name: names[0] ?? "" },
      { type: "merge", body: { spec: { taints: [taint] } } },
    );
    await rest();
    for (const name of names) {
      expect(statusOf(await placement(name)).selectedClusters).toEqual(names.slice(1));
    }
  });

  test("no shard asks a cluster that is not Ready for copies, whichever shard probes it", async () => {
    stage = await startControllerEnvironment({ reached });
    const { client, cluster, clusters, controller, rest, pass, registration } = stage;
    const names = namesIn(cluster);
    for (const name of names) await client.create(registrations, aRegistration(name));
    const namespace = "shop";
    await client.create({ type: namespaces }, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
    await client.create(placements, aPlacement("web", { strategy: "Spread", workloadSelector: {} }));
    const asked: string[] = [];
    for (const id of shards) {
      const openTransport: ControllerOptions["openTransport"] = () => {
        const transport = clusters.get("east")?.transport();
        if (transport === undefined) throw new Error("there is no cluster");
        return {
          ...transport,
          send: (request) => {
            asked.push(request.path);
            return transport.send(request);
          },
        };
      };
      await controller({ shard: { id, shards }, openTransport }).start();
    }
    await rest();
    // With this many, each shard has some.
    for (let n = 0; n < 8; n++) await client.create({ type: deployments, namespace }, aDeployment(`web-${n}`));
    await pass(10_000);
    clusters.get("east")?.faults.inject({ effect: { kind: "partition", requests: "refuse" } });
    await pass(120_000);
    for (const name of names) expect(readyOf(await registration(name))).toBe("False ClusterUnhealthy");
    asked.splice(0);
    // Longer than any watch stays open.
    await pass(360_000, 10_000);
    expect([...new Set(asked)]).toEqual(["/readyz"]);
  });
});
