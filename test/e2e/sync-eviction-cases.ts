import { expect, it } from "vitest";
import { findCondition } from "../../lib/model/condition.ts";
import { ownerAnnotation, syncedLabel } from "../../lib/sync/ownership/owner.ts";
import { eventually } from "../support/eventually.ts";
import { type ClusterName, clusterNames } from "./environment.ts";
import type { SyncBench } from "./sync-environment.ts";
import { aDeployment, aRoom, clear, type Deployment, imageOf, uidsIn, workTypes } from "./tenant-work.ts";
import { startWriteLog } from "./write-log.ts";

/** How work leaves clusters: when it should, when a cluster or the controller dies, and not because somebody slipped. */
export function syncLeavingCases({ begin, run, waitMs }: SyncBench): void {
  it("deletes an evicted copy only after its replacement is ready, or orphans it", async () => {
    const { world, work } = await begin();
    const placed = (cluster: ClusterName, deletionPolicy = "Delete") =>
      aRoom("tent", { strategy: "Spread", clusterNames: [cluster], deletionPolicy });
    await work.apply(...placed("us-east"), aDeployment("tent", "stage", { replicas: 2 }));
    await work.untilRuns("tent", "stage", { "us-east": 2 });
    const states = await startWriteLog(world.tenant, [{ type: workTypes.Deployment, namespace: "tent" }]);
    await work.apply(...placed("us-west"));
    await work.untilRuns("tent", "stage", { "us-west": 2 });
    for (const { object } of await states.end()) {
      const { readyReplicas = 0 } = (object as Deployment).status ?? {};
      expect(readyReplicas, JSON.stringify(object.status)).toBeGreaterThanOrEqual(2);
    }

    await work.apply(...placed("us-east", "Orphan"));
    await work.untilState("tent", "stage", "us-west", "none");
    const orphan = await work.copy<Deployment>("us-west", "Deployment", "tent", "stage");
    expect(orphan?.spec.replicas).toBe(2);
    expect(orphan?.metadata.labels).not.toHaveProperty([syncedLabel]);
    expect(orphan?.metadata.annotations).not.toHaveProperty([ownerAnnotation]);
    await work.remove("Deployment", "tent", "stage");
    await eventually(async () => {
      const copy = await work.copy("us-east", "Deployment", "tent", "stage");
      return copy === undefined ? undefined : "us-east still has it";
    }, waitMs);
    expect((await work.copy("us-west", "Deployment", "tent", "stage"))?.metadata.uid).toBe(orphan?.metadata.uid);
    await world.clusterClient("us-west").delete({ type: workTypes.Namespace, name: work.namespaceOn("tent") });
    await work.remove("WorkloadPlacement", undefined, "tent");
    await work.untilCleared("tent");
  });

  it("keeps a workload where its volumes are, and starts no empty copy elsewhere", async () => {
    const { work } = await begin();
    const placed = (cluster: ClusterName) => aRoom("vault", { strategy: "Spread", clusterNames: [cluster] });
    const claim = {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name: "gold", namespace: "vault" },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    };
    const volumes = [{ name: "gold", persistentVolumeClaim: { claimName: "gold" } }];
    await work.apply(...placed("us-east"), claim, aDeployment("vault", "guard", { podSpec: { volumes } }));
    await eventually(async () => {
      const { appliedHash } = (await work.record("vault", "guard"))?.status?.clusters?.[0] ?? {};
      return appliedHash === undefined ? "us-east has no copy yet" : undefined;
    }, waitMs);
    const before = await work.copy("us-east", "Deployment", "vault", "guard");
    await work.apply(...placed("us-west"));
    await eventually(async () => {
      const condition = findCondition((await work.record("vault", "guard"))?.status?.conditions, "EvictionHeld");
      return condition?.reason === "VolumeNotMovable" ? undefined : `EvictionHeld is ${JSON.stringify(condition)}`;
    }, waitMs);
    expect((await work.copy("us-east", "Deployment", "vault", "guard"))?.metadata.uid).toBe(before?.metadata.uid);
    expect(await work.copy("us-east", "PersistentVolumeClaim", "vault", "gold")).toBeDefined();
    expect(await work.copy("us-west", "Deployment", "vault", "guard")).toBeUndefined();
    expect(await work.copy("us-west", "PersistentVolumeClaim", "vault", "gold")).toBeUndefined();

    // The owner deletes the workload: nothing is held.
    await work.remove("Deployment", "vault", "guard");
    await work.remove("PersistentVolumeClaim", "vault", "gold");
    await work.untilCleared("vault");
    await work.remove("WorkloadPlacement", undefined, "vault");
  });

  it("places nothing new on a cordoned cluster, and evicts everything from a drained one", async () => {
    const { world, tenant, work } = await begin();
    const preferred = { preferredClusters: ["us-west"] };
    await work.apply(...aRoom("pier", preferred), aDeployment("pier", "boat"));
    await work.untilRuns("pier", "boat", { "us-west": 1 });
    expect(await run(world, ["cluster", "cordon", "us-west"])).toMatchObject({ code: 0 });
    await tenant.place("late", preferred);
    await tenant.untilChosen("late", ["us-east"]);
    await work.untilRuns("pier", "boat", { "us-west": 1 });

    const seconds = `${Math.ceil(waitMs / 1000)}s`;
    const drain = await run(world, ["cluster", "drain", "us-west", "--timeout", seconds]);
    expect(drain, drain.err).toMatchObject({ code: 0 });
    expect(drain.out).toContain("drained");
    expect(await work.copy("us-west", "Deployment", "pier", "boat")).toBeUndefined();
    await work.untilRuns("pier", "boat", { "us-east": 1 });
    expect(await run(world, ["cluster", "uncordon", "us-west"])).toMatchObject({ code: 0 });
    await tenant.remove("placement", "late");
    await clear(work, "pier", ["boat"]);
  });

  it("fails over from a dead cluster, writes nothing there meanwhile, and cleans up when it is back", async () => {
    const { world, tenant, form, work } = await begin();
    const impatient = { key: "tmc.kcp.io/not-ready", operator: "Exists", effect: "NoExecute", tolerationSeconds: 1 };
    await work.apply(
      ...aRoom("ferry", { preferredClusters: ["us-west"], tolerations: [impatient] }),
      aDeployment("ferry", "boat", { replicas: 2 }),
    );
    await work.untilRuns("ferry", "boat", { "us-west": 2 });
    // Whoever tolerates it stays: what is there cannot be known, and is not in what is said.
    await work.apply(...aRoom("dock"), aDeployment("dock", "bell", { replicas: 2 }));
    await work.untilRuns("dock", "bell", { "us-east": 2, "us-west": 2 });
    const before = await work.copy("us-west", "Deployment", "ferry", "boat");
    await world.parts.clusters["us-west"].kill();
    await tenant.untilCluster("us-west", "False ClusterUnhealthy");
    await work.untilState("ferry", "boat", "us-east", "Ready");
    const left = await work.untilState("ferry", "boat", "us-west", "Evicting ClusterNotReady");
    expect(left?.uid).toBe(before?.metadata.uid);
    const record = await work.record("ferry", "boat");
    expect(record?.spec.clusters).toEqual(["us-east", "us-west"]);
    // A cluster that is not heard from is not in the sum.
    const boat = await work.find<Deployment>("Deployment", "ferry", "boat");
    expect(boat?.status).toMatchObject({ readyReplicas: 2 });
    await work.untilState("dock", "bell", "us-west", "Stale ClusterNotReady");
    await work.merge("Deployment", "dock", "bell", { spec: { replicas: 3 } });
    await eventually(async () => {
      const { status } = (await work.find<Deployment>("Deployment", "dock", "bell")) ?? {};
      return status?.readyReplicas === 3 ? undefined : `bell says of itself ${JSON.stringify(status)}`;
    }, waitMs);

    // Read before the controller acts: the objects of the cluster are still there, unchanged.
    await form.kill();
    await world.parts.clusters["us-west"].revive();
    await eventually(async () => {
      const copy = await work.copy("us-west", "Deployment", "ferry", "boat").catch((error: unknown) => String(error));
      if (typeof copy === "string") return `us-west does not answer yet: ${copy}`;
      return copy?.metadata.uid === before?.metadata.uid ? undefined : `us-west has ${JSON.stringify(copy?.metadata)}`;
    }, waitMs);
    await form.running();
    await tenant.untilCluster("us-west", "True ClusterReady");
    await work.untilRuns("ferry", "boat", { "us-east": 2 });
    await work.untilState("ferry", "boat", "us-west", "none");
    await work.untilRuns("dock", "bell", { "us-east": 3, "us-west": 3 });
    await clear(work, "dock", ["bell"]);
    await clear(work, "ferry", ["boat"]);
  });

  it("deletes many workloads at once, and their shared dependencies with the last of them", async () => {
    const { world, work } = await begin();
    const names = Array.from({ length: 12 }, (_, at) => `straw-${at}`);
    const [first, second] = [names.slice(0, 6), names.slice(6)];
    const needs = { container: { envFrom: [{ configMapRef: { name: "harvest" } }] } };
    const harvest = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "harvest", namespace: "barn" } };
    const straws = names.map((name) => aDeployment("barn", name, needs));
    await work.apply(...aRoom("barn"), { ...harvest, data: { of: "1949" } }, ...straws);
    for (const name of names) await work.untilRuns("barn", name, { "us-east": 1, "us-west": 1 });
    const before = await uidsIn(world, work.namespaceOn("barn"));

    // More copies than may leave at once by a decision: what its owner deletes is meant to go.
    await Promise.all(first.map((name) => work.remove("Deployment", "barn", name)));
    const kept = before.filter((each) => second.some((name) => each.includes(`/${name} `)));
    await eventually(async () => {
      for (const name of first) {
        if ((await work.record("barn", name)) !== undefined) return `there is a record of ${name}`;
        if ((await work.find("Deployment", "barn", name)) !== undefined) return `${name} is in the workspace`;
      }
      const left = await uidsIn(world, work.namespaceOn("barn"));
      return left.join() === kept.join() ? undefined : `the clusters have ${left.join()}`;
    }, waitMs);
    for (const name of clusterNames) expect(await work.copy(name, "ConfigMap", "barn", "harvest")).toBeDefined();

    await Promise.all(second.map((name) => work.remove("Deployment", "barn", name)));
    await work.untilCleared("barn");
    await work.remove("WorkloadPlacement", undefined, "barn");
  });

  it("holds a mass eviction until a person confirms it", async () => {
    const { world, work } = await begin();
    const names = Array.from({ length: 12 }, (_, at) => `box-${at}`);
    const selecting = (labels: Readonly<Record<string, string>>) => ({
      strategy: "Spread",
      workloadSelector: { namespaces: ["attic"], labelSelector: { matchLabels: labels } },
    });
    const boxes = names.map((name) => aDeployment("attic", name, { labels: { kept: "yes" } }));
    await work.apply(...aRoom("attic", selecting({ kept: "yes" })), ...boxes);
    for (const name of names) await work.untilRuns("attic", name, { "us-east": 1, "us-west": 1 });

    // A slip of the pen: nobody has such a label.
    await work.apply(...aRoom("attic", selecting({ kept: "yse" })));
    for (const name of names) {
      await work.untilState("attic", name, "us-east", "Held DeletionsHeld");
      await work.untilState("attic", name, "us-west", "Held DeletionsHeld");
    }
    const record = await work.record("attic", "box-0");
    expect(findCondition(record?.status?.conditions, "DeletionsHeld")).toMatchObject({ status: "True" });
    for (const cluster of clusterNames) {
      for (const name of names) expect(await work.copy(cluster, "Deployment", "attic", name)).toBeDefined();
    }

    // Put right, nothing has happened.
    await work.apply(...aRoom("attic", selecting({ kept: "yes" })));
    for (const name of names) await work.untilState("attic", name, "us-east", "Ready");
    await work.apply(...aRoom("attic", selecting({ kept: "yse" })));
    for (const name of names) {
      for (const cluster of clusterNames) await work.untilState("attic", name, cluster, "Held DeletionsHeld");
    }

    const asked = await run(world, ["confirm"]);
    expect(asked, asked.err).toMatchObject({ code: 0 });
    expect(asked.out).toMatch(/attic +12 copies: deployment.*box-0/i);
    const timeout = ["--timeout", `${Math.ceil(waitMs / 1000)}s`];
    const one = await run(world, ["confirm", "deploy/box-0", "-n", "attic", "--yes", ...timeout]);
    expect(one, one.err).toMatchObject({ code: 0 });
    expect(await work.copy("us-east", "Deployment", "attic", "box-0")).toBeUndefined();
    expect(await work.copy("us-east", "Deployment", "attic", "box-1")).toBeDefined();
    const all = await run(world, ["confirm", "--all", "--yes", ...timeout]);
    expect(all, all.err).toMatchObject({ code: 0 });
    for (const cluster of clusterNames) {
      for (const name of names) expect(await work.copy(cluster, "Deployment", "attic", name)).toBeUndefined();
    }
    await clear(work, "attic", names);
  });

  it("finishes a rollout after the controller is killed, with each copy exactly once", async () => {
    const { world, form, work } = await begin();
    const names = Array.from({ length: 8 }, (_, at) => `wave-${at}`);
    const waves = (image: string) => names.map((name) => aDeployment("sea", name, { image }));
    await work.apply(...aRoom("sea"), ...waves("nginx:1.29"));
    for (const name of names) await work.untilRuns("sea", name, { "us-east": 1, "us-west": 1 });
    const uids = await uidsIn(world, work.namespaceOn("sea"));
    expect(uids).toHaveLength(16);

    const updates = waves("nginx:1.30");
    await work.apply(...updates.slice(0, 4));
    await eventually(async () => {
      const image = imageOf(await work.copy<Deployment>("us-east", "Deployment", "sea", "wave-0"));
      return image === "nginx:1.30" ? undefined : `us-east has ${image}`;
    }, waitMs);
    await Promise.all([form.kill(), work.apply(...updates.slice(4))]);
    await work.apply(aDeployment("sea", "late", { image: "nginx:1.30" }));
    await work.remove("Deployment", "sea", "wave-7");

    await form.running();
    for (const name of [...names.slice(0, 7), "late"]) {
      await work.untilRuns("sea", name, { "us-east": 1, "us-west": 1 });
      for (const cluster of clusterNames) {
        expect(imageOf(await work.copy<Deployment>(cluster, "Deployment", "sea", name))).toBe("nginx:1.30");
      }
    }
    await eventually(async () => {
      const gone = (await work.find("Deployment", "sea", "wave-7")) === undefined;
      return gone ? undefined : "wave-7 is still in the workspace";
    }, waitMs);
    const after = await uidsIn(world, work.namespaceOn("sea"));
    const kept = after.filter((each) => !each.includes("/late "));
    expect(kept).toEqual(uids.filter((each) => !each.includes("/wave-7 ")));
    expect(after).toHaveLength(16);
    await clear(work, "sea", [...names.slice(0, 7), "late"]);
  });
}
