import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { afterEach, describe, expect, test } from "vitest";
import type { WorkloadSync } from "../../../lib/api/workload-sync.ts";
import { statusOf } from "../../support/controller-environment.ts";
import {
  aDeployment,
  clusterNames,
  deployments,
  type MovesStage,
  records,
  setMovesStage,
} from "../../support/moves-environment.ts";
import { aPlacement, placements } from "../upstream/tenants.ts";

const stages: MovesStage[] = [];
afterEach(async () => {
  for (const stage of stages.splice(0)) await stage.stop();
});

async function running(placement: object = { strategy: "Spread" }): Promise<MovesStage> {
  const stage = await setMovesStage(placement);
  stages.push(stage);
  await stage.client.create({ type: deployments, namespace: "shop" }, aDeployment("web"));
  await stage.pass(10_000);
  return stage;
}

const annotated = (annotations: Record<string, string | null>) => ({ metadata: { annotations } });

describe("annotations of a workload", () => {
  test.each([
    ["disabled", "SyncDisabled"],
    ["paused", "SyncPaused"],
  ])(
    "sync=%s stops all writes and evictions, is reported, and is caught up after its removal",
    async (word, reason) => {
      const { change, pass, copy, said, where } = await running();
      await change(deployments, "web", { ...annotated({ "tmc.kcp.io/sync": word }), spec: { replicas: 5 } });
      await pass(10_000);
      expect(await said()).toEqual({ east: reason, north: reason, west: reason });
      expect(await copy("east")).toMatchObject({ spec: { replicas: 3 } });
      // Nothing is evicted either.
      await change(placements.type, "shop", { spec: { clusterNames: ["west"] } });
      await pass(10_000);
      expect(await where()).toBe("east north west");
      await change(deployments, "web", annotated({ "tmc.kcp.io/sync": null }));
      await pass(20_000);
      expect(await where()).toBe("west");
      expect(await copy("west")).toMatchObject({ spec: { replicas: 5 } });
    },
    60_000,
  );

  test("a deleted workload with sync=disabled loses its copies", async () => {
    const { client, change, pass, where } = await running();
    await change(deployments, "web", annotated({ "tmc.kcp.io/sync": "disabled" }));
    await pass(5_000);
    await client.delete({ type: deployments, namespace: "shop", name: "web" });
    await pass(20_000);
    expect(await where()).toBe("");
  }, 60_000);

  test("target-clusters and exclude-clusters restrict a placement and never extend it", async () => {
    const { change, pass, where } = await running({ strategy: "Spread", clusterNames: ["east", "west"] });
    expect(await where()).toBe("east west");
    await change(deployments, "web", annotated({ "tmc.kcp.io/target-clusters": "north, west" }));
    await pass(20_000);
    expect(await where()).toBe("west");
    await change(
      deployments,
      "web",
      annotated({ "tmc.kcp.io/target-clusters": null, "tmc.kcp.io/exclude-clusters": "west" }),
    );
    await pass(20_000);
    expect(await where()).toBe("east");
    await change(deployments, "web", annotated({ "tmc.kcp.io/exclude-clusters": null }));
    await pass(20_000);
    expect(await where()).toBe("east west");
  }, 60_000);

  test("exclude-clusters for all clusters keeps the last copy and reports LastCopy", async () => {
    const { change, pass, where, said } = await running({ strategy: "Spread", clusterNames: ["east"] });
    await change(deployments, "web", annotated({ "tmc.kcp.io/exclude-clusters": "east" }));
    await pass(20_000);
    expect(await where()).toBe("east");
    expect(await said()).toEqual({ east: "LastCopy" });
  }, 60_000);
});

describe("annotations with values that TMC ignores", () => {
  const annotationsValid = (object: KubeObject | undefined) => {
    const { conditions = [] } = (object ?? {}) as { conditions?: { type: string }[] } & KubeObject;
    return conditions.find(({ type }) => type === "AnnotationsValid");
  };
  const eventsOf = async ({ client }: MovesStage, kind: string): Promise<readonly string[]> => {
    const { items } = await client.list<KubeObject & { reason: string; involvedObject: { kind: string } }>({
      type: { group: "", version: "v1", plural: "events" },
    });
    return items.filter(({ involvedObject }) => involvedObject.kind === kind).map(({ reason }) => reason);
  };

  test("a misspelled cluster is reported on the workload and on the placement, until it is corrected", async () => {
    const stage = await running();
    const { client, change, pass } = stage;
    const recordStatus = async () => {
      const [record] = (await client.list<KubeObject & WorkloadSync>({ type: records, namespace: "shop" })).items;
      return record?.status as KubeObject | undefined;
    };
    const placementStatus = async () => statusOf(await stage.placement("shop")) as unknown as KubeObject;
    await change(deployments, "web", annotated({ "tmc.kcp.io/exclude-clusters": "esat" }));
    await change(placements.type, "shop", annotated({ "tmc.kcp.io/preferred-cluster": "wset" }));
    await pass(10_000);
    expect(annotationsValid(await recordStatus())).toMatchObject({
      status: "False",
      reason: "InvalidAnnotation",
      message: "tmc.kcp.io/exclude-clusters names clusters that are not registered: esat",
    });
    expect(annotationsValid(await placementStatus())).toMatchObject({
      status: "False",
      reason: "InvalidAnnotation",
      message: "tmc.kcp.io/preferred-cluster names clusters that are not registered: wset",
    });
    expect(await eventsOf(stage, "Deployment")).toContain("InvalidAnnotation");
    expect(await eventsOf(stage, "WorkloadPlacement")).toContain("InvalidAnnotation");
    await change(deployments, "web", annotated({ "tmc.kcp.io/exclude-clusters": "east" }));
    await change(placements.type, "shop", annotated({ "tmc.kcp.io/preferred-cluster": "west" }));
    await pass(20_000);
    expect(annotationsValid(await recordStatus())).toBeUndefined();
    expect(annotationsValid(await placementStatus())).toBeUndefined();
  }, 60_000);
});

describe("a Job under a Spread placement", () => {
  const jobs: ResourceType = { group: "batch", version: "v1", plural: "jobs" };
  const aJob = (name: string, annotations: Record<string, string> = {}): KubeObject => ({
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name, namespace: "shop", annotations },
    spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "main", image: "migrate:1" }] } } },
  });
  const runningOn = async ({ on, namespaceThere }: MovesStage, name: string): Promise<readonly string[]> => {
    const found = await Promise.all(
      clusterNames.map(async (cluster) => {
        const { items } = await on(cluster).list<KubeObject>({ type: jobs, namespace: namespaceThere() });
        return items.some(({ metadata }) => metadata.name === name) ? cluster : undefined;
      }),
    );
    return found.filter((cluster) => cluster !== undefined);
  };

  test("a Job runs on one cluster, stays there, and moves only if the cluster is not selected any more", async () => {
    const stage = await running();
    const { client, change, pass } = stage;
    for (const name of ["one", "two"]) await client.create({ type: jobs, namespace: "shop" }, aJob(name));
    const everywhere = aJob("everywhere", { "tmc.kcp.io/job-clusters": "all" });
    await client.create({ type: jobs, namespace: "shop" }, everywhere);
    await pass(10_000);
    const [first = "", ...others] = await runningOn(stage, "one");
    expect(others).toEqual([]);
    expect(await runningOn(stage, "two")).toHaveLength(1);
    expect(await runningOn(stage, "everywhere")).toEqual(clusterNames);
    const record = (await client.list<KubeObject & WorkloadSync>({ type: records, namespace: "shop" })).items.find(
      ({ spec: { workload } }) => workload.name === "one",
    );
    expect(record?.status).toMatchObject({
      clusterSummary: first,
      conditions: [{ type: "Ready", status: "True", message: "ready on 1 of 1 clusters" }],
    });
    // A preference for another cluster moves nothing.
    const alternatives = clusterNames.filter((name) => name !== first);
    await change(placements.type, "shop", { spec: { preferredClusters: alternatives } });
    await pass(40_000);
    expect(await runningOn(stage, "one")).toEqual([first]);
    await change(placements.type, "shop", { spec: { clusterNames: alternatives } });
    await pass(40_000);
    const moved = await runningOn(stage, "one");
    expect(moved).toHaveLength(1);
    expect(moved).not.toEqual([first]);
  }, 60_000);
});

describe("the owner of a placement", () => {
  test("excludedNamespaces wins over namespaces", async () => {
    const stage = await setMovesStage({ strategy: "Spread", workloadSelector: { namespaces: ["shop", "back"] } });
    stages.push(stage);
    const { client, pass, where, change } = stage;
    await client.create({ type: deployments, namespace: "shop" }, aDeployment("web"));
    await client.create({ type: deployments, namespace: "back" }, aDeployment("web", { namespace: "back" }));
    await pass(10_000);
    expect([await where("web", "shop"), await where("web", "back")]).toEqual(["east north west", "east north west"]);
    await change(placements.type, "shop", { spec: { workloadSelector: { excludedNamespaces: ["back"] } } });
    await pass(20_000);
    expect([await where("web", "shop"), await where("web", "back")]).toEqual(["east north west", ""]);
  }, 60_000);

  test("namespaceSelector follows the current labels of a namespace", async () => {
    const namespaceSelector = { matchLabels: { tier: "gold" } };
    const { client, pass, where } = await running({ strategy: "Spread", workloadSelector: { namespaceSelector } });
    expect(await where()).toBe("");
    const type = { group: "", version: "v1", plural: "namespaces" };
    await client.patch({ type, name: "shop" }, { type: "merge", body: { metadata: { labels: { tier: "gold" } } } });
    await pass(40_000);
    expect(await where()).toBe("east north west");
  }, 60_000);

  test("moves nothing by a second placement for the same work", async () => {
    const { client, pass, where } = await running({ clusterNames: ["east"] });
    // It has a label selector, so that it would win for a new workload.
    const workloadSelector = { labelSelector: { matchLabels: { app: "web" } } };
    await client.create(placements, aPlacement("other", { workloadSelector, clusterNames: ["west"] }));
    await pass(20_000);
    expect(await where()).toBe("east");
  }, 60_000);
});
