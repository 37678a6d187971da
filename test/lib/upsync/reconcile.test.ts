import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, it } from "vitest";
import type { WorkloadSync } from "../../../lib/api/workload-sync.ts";
import { upsyncOriginOf } from "../../../lib/sync/ownership/upsync-origin.ts";
import { createUpsyncOrigins } from "../../../lib/upsync/world.ts";
import { InMemoryClusters, nameOf } from "../../support/in-memory-clusters.ts";
import { deployments, Killed, tenant } from "../../support/in-memory-world.ts";

function worldOf(isWatching: boolean, ...clusters: readonly string[]): InMemoryClusters {
  const world = new InMemoryClusters({ isWatching });
  for (const name of clusters.length === 0 ? ["east"] : clusters) world.register(name);
  return world;
}

/** The registration that the origin annotation of an upstream object names. */
function originOf(world: InMemoryClusters, name = "web"): string | undefined {
  const object = world.upstream(name);
  return object && upsyncOriginOf(object, tenant)?.registration;
}

/** The sync record of a Deployment with this many copies. */
function aRecord(name: string, copies: number): WorkloadSync {
  return {
    apiVersion: "tmc.kcp.io/v1alpha1",
    kind: "WorkloadSync",
    metadata: { name, namespace: "shop" },
    spec: {
      workload: { apiVersion: "apps/v1", kind: "Deployment", name, uid: "u" },
      clusters: Array.from({ length: copies }, (_, index) => `cluster-${index}`),
    },
  };
}

const withReplicas =
  (replicas: number) =>
  (object: KubeObject): KubeObject => ({ ...object, spec: { replicas } });

describe.each([
  ["with watches", true],
  ["without watches", false],
])("upsync %s", (_source, isWatching) => {
  const aWorld = (...clusters: readonly string[]): InMemoryClusters => worldOf(isWatching, ...clusters);

  describe("an object on a cluster that opts in", () => {
    it("is created upstream once, with its origin", async () => {
      const world = aWorld();
      world.createDownstream("east");
      await world.settle();
      expect(world.upstream()).toMatchObject({ metadata: { labels: { app: "web" } }, spec: { replicas: 2 } });
      expect(originOf(world)).toBe("east");
      expect(world.writes).toBe(1);
      world.restart();
      await world.settle();
      expect(world.writes).toBe(1);
    });

    it("keeps the content of its origin upstream, after changes on either side", async () => {
      const world = aWorld();
      world.createDownstream("east");
      await world.settle();
      world.createDownstream("east", "web", { replicas: 5 });
      await world.settle();
      expect(world.upstream()).toMatchObject({ spec: { replicas: 5 } });
      world.edit("web", withReplicas(1));
      await world.settle();
      expect(world.upstream()).toMatchObject({ spec: { replicas: 5 } });
      world.upstreamObjects.clear();
      await world.settle();
      expect(world.upstream()).toMatchObject({ spec: { replicas: 5 } });
    });

    it("gets its labels back upstream when a user changes one that the opt-in names", async () => {
      const world = aWorld();
      const matchLabels = { app: "web" };
      world.register("east", [{ apiVersion: "apps/v1", kind: "Deployment", matchLabels }]);
      world.createDownstream("east");
      await world.settle();
      world.edit("web", (object) => ({ ...object, metadata: { ...object.metadata, labels: { app: "api" } } }));
      await world.settle();
      expect(world.upstream()).toMatchObject({ metadata: { labels: matchLabels } });
    });

    it("is not written repeatedly when upstream stores it differently", async () => {
      const world = aWorld();
      world.store = (object) => ({ ...object, spec: { replicas: 2, paused: false } });
      world.createDownstream("east");
      await world.settle();
      const { writes } = world;
      await world.settle();
      expect(world.writes).toBe(writes);
      world.restart();
      await world.settle();
      expect(world.writes).toBeLessThanOrEqual(writes + 1);
    });

    it("waits until a user has created its namespace upstream", async () => {
      const world = aWorld();
      world.namespaces.clear();
      world.createDownstream("east");
      await world.settle();
      await world.reconcileRegistration("east");
      expect(world.upstream()).toBeUndefined();
      expect(world.condition("east", "UpsyncReady")).toBe("False NamespaceMissing");
      world.namespaces.add("shop");
      world.enqueued.length = 0;
      await world.reconcileRegistration("east");
      expect(world.enqueued).toEqual([`Workload/${nameOf("web")}`]);
      await world.settle();
      await world.reconcileRegistration("east");
      expect(world.upstream()).toBeDefined();
      expect(world.condition("east", "UpsyncReady")).toBe("True Upsynced");
    });

    it("is reported in a condition when upstream rejects it, and retried after the interval", async () => {
      const world = aWorld();
      world.createDownstream("east");
      world.rejection = "spec.replicas: too many";
      expect(await world.reconcile()).toEqual({ kind: "done" });
      world.rejection = undefined;
      world.enqueued.length = 0;
      await world.reconcileRegistration("east");
      expect(world.enqueued).toEqual([]);
      expect(world.condition("east", "UpsyncReady")).toBe("False Rejected");
      world.nowMs += 200_000;
      await world.reconcileRegistration("east");
      expect(world.enqueued).toEqual([`Workload/${nameOf("web")}`]);
      await world.settle();
      await world.reconcileRegistration("east");
      expect(world.condition("east", "UpsyncReady")).toBe("True Upsynced");
    });

    it("is no longer reported as rejected after it was deleted on the cluster", async () => {
      const world = aWorld();
      world.createDownstream("east");
      world.rejection = "spec.replicas: too many";
      await world.reconcile();
      world.rejection = undefined;
      world.deleteDownstream("east");
      await world.reconcileRegistration("east");
      expect(world.condition("east", "UpsyncReady")).toBe("True Upsynced");
    });

    it("of a type that TMC cannot write is reported in a condition, and not written", async () => {
      const world = new InMemoryClusters({ isWatching });
      world.register("east", [{ apiVersion: "v1", kind: "ConfigMap" }]);
      await world.reconcileRegistration("east");
      expect(world.condition("east", "UpsyncReady")).toBe("False TypeNotOffered");
      expect(world.enqueued).toEqual([]);
      const { writes } = world;
      await world.reconcileRegistration("east");
      expect(world.writes).toBe(writes);
    });
  });

  describe("a name that two objects have", () => {
    it("stays with the object that was created upstream, and one Event reports the conflict", async () => {
      const world = aWorld();
      world.edit("web", withReplicas(9));
      world.createDownstream("east");
      await world.settle();
      await world.settle();
      await world.reconcileRegistration("east");
      expect(world.upstream()).toMatchObject({ spec: { replicas: 9 } });
      expect(originOf(world)).toBeUndefined();
      expect(world.events.map(({ reason }) => reason)).toEqual(["UpsyncConflict"]);
      expect(world.condition("east", "UpsyncConflict")).toBe("True NameTaken");
    });

    it("gets no other Event from a process that starts later", async () => {
      const world = aWorld();
      world.edit("web", withReplicas(9));
      world.createDownstream("east");
      await world.settle();
      await world.reconcileRegistration("east");
      world.restart();
      await world.settle();
      expect(world.events.map(({ reason }) => reason)).toEqual(
        isWatching ? ["UpsyncConflict", "UpsyncConflict"] : ["UpsyncConflict"],
      );
    });

    it("gets another Event when it is in conflict again", async () => {
      const world = aWorld();
      world.edit("web", withReplicas(9));
      for (const _ of ["first", "second"]) {
        world.createDownstream("east");
        await world.settle();
        world.deleteDownstream("east");
        await world.settle();
      }
      expect(world.events.map(({ reason }) => reason)).toEqual(["UpsyncConflict", "UpsyncConflict"]);
      expect(world.upstream()).toMatchObject({ spec: { replicas: 9 } });
    });

    it("stays with the first origin, and passes to the second after the first was deleted", async () => {
      const world = aWorld("west", "east");
      world.createDownstream("west");
      await world.settle();
      world.createDownstream("west", "rest");
      await world.settle("rest");
      world.createDownstream("east", "web", { replicas: 7 });
      await world.settle();
      for (const name of ["east", "west"]) await world.reconcileRegistration(name);
      expect(originOf(world)).toBe("west");
      expect(world.upstream()).toMatchObject({ spec: { replicas: 2 } });
      expect(world.condition("east", "UpsyncConflict")).toBe("True NameTaken");
      expect(world.condition("west", "UpsyncConflict")).toBe("none");
      world.deleteDownstream("west");
      await world.settle();
      await world.reconcileRegistration("east");
      expect(originOf(world)).toBe("east");
      expect(world.condition("east", "UpsyncConflict")).toBe("False NoConflict");
    });
  });

  describe("an object that is missing on its cluster", () => {
    it("is deleted upstream after the cluster has answered that it is gone", async () => {
      const world = aWorld();
      world.createDownstream("east");
      await world.settle();
      world.createDownstream("east", "rest");
      await world.settle("rest");
      world.deleteDownstream("east");
      await world.settle();
      expect(world.upstream()).toBeUndefined();
    });

    it("is deleted upstream as the only object of its cluster only after a watch has reported the deletion", async () => {
      const world = aWorld();
      world.createDownstream("east");
      await world.settle();
      world.deleteDownstream("east");
      await world.settle();
      await world.reconcileRegistration("east");
      expect(world.upstream() === undefined).toBe(isWatching);
      expect(world.condition("east", "UpsyncHeld")).toBe(isWatching ? "none" : "True DeletionsHeld");
    });

    it("is not deleted upstream while all objects of its cluster are missing without a reported deletion, until a user confirms", async () => {
      const world = aWorld();
      for (const name of ["web", "api", "db"]) world.createDownstream("east", name);
      await world.settle("web", "api", "db");
      world.deleteDownstream("east", "web");
      for (const name of ["api", "db"]) world.loseDownstream("east", name);
      await world.settle("web", "api", "db");
      await world.reconcileRegistration("east");
      expect(world.upstreamObjects.size).toBe(3);
      expect(world.condition("east", "UpsyncHeld")).toBe("True DeletionsHeld");
      world.update("east", ({ metadata }) => ({
        metadata: { ...metadata, annotations: { "tmc.kcp.io/confirm-upsync-deletions": "3" } },
      }));
      await world.settle("web", "api", "db");
      expect(world.upstreamObjects.size).toBe(0);
    });

    it("is not deleted upstream while many copies on other clusters would be deleted with it and others", async () => {
      const world = aWorld();
      const names = Array.from({ length: 20 }, (_, index) => `w${index}`);
      for (const name of names) {
        world.createDownstream("east", name);
        world.records.push(aRecord(name, 40));
      }
      await world.settle(...names);
      for (const name of names.slice(0, 3)) {
        world.deleteDownstream("east", name);
        await world.settle(name);
      }
      await world.reconcileRegistration("east");
      // Two objects have 80 copies, and three have more than the hundred that may be deleted at once.
      expect(world.upstreamObjects.size).toBe(18);
      expect(world.condition("east", "UpsyncHeld")).toBe("True DeletionsHeld");
    });

    it("is not deleted upstream because a list does not contain it", async () => {
      const world = aWorld();
      world.createDownstream("east");
      await world.settle();
      world.watched.get("east")?.clear();
      await world.settle();
      expect(world.upstream()).toBeDefined();
    });

    it("is not deleted upstream because its cluster does not answer or is not Ready", async () => {
      const world = aWorld();
      world.createDownstream("east");
      await world.settle();
      world.createDownstream("east", "rest");
      await world.settle("rest");
      world.unreachable.add("east");
      world.deleteDownstream("east");
      expect(await world.reconcile()).toEqual({ kind: "requeue", afterSeconds: 10 });
      world.setReady("east", false);
      // It is enqueued again when the cluster is Ready.
      expect(await world.reconcile()).toEqual({ kind: "done" });
      expect(world.upstream()).toBeDefined();
      world.unreachable.clear();
      world.setReady("east", true);
      await world.settle();
      expect(world.upstream()).toBeUndefined();
    });

    it.each<[string, (world: InMemoryClusters) => void]>([
      [
        "the cluster no longer opts in",
        (world) => world.update("east", ({ spec }) => ({ spec: { ...spec, upsync: [] } })),
      ],
      [
        "the cluster opts in to other labels",
        (world) =>
          world.update("east", ({ spec }) => ({
            spec: { ...spec, upsync: [{ apiVersion: "apps/v1", kind: "Deployment", matchLabels: { app: "api" } }] },
          })),
      ],
      [
        "the registration is being deleted",
        (world) =>
          world.update("east", ({ metadata }) => ({
            metadata: { ...metadata, deletionTimestamp: "2030-01-01T00:00:00Z" },
          })),
      ],
      ["the registration was deleted", (world) => void world.registrations.delete("east")],
    ])("stays upstream when %s", async (_, change) => {
      const world = aWorld();
      world.createDownstream("east");
      await world.settle();
      change(world);
      world.deleteDownstream("east");
      world.enqueued.length = 0;
      await world.settle();
      await world.reconcileRegistration("east");
      expect(originOf(world)).toBe("east");
      expect(world.enqueued).toEqual([]);
    });

    it("is not deleted upstream with many others until a user confirms how many may be deleted", async () => {
      const world = aWorld();
      const names = Array.from({ length: 20 }, (_, index) => `w${index}`);
      for (const name of names) world.createDownstream("east", name);
      await world.settle(...names);
      for (const name of names.slice(0, 15)) world.deleteDownstream("east", name);
      await world.settle(...names);
      await world.reconcileRegistration("east");
      expect(world.upstreamObjects.size).toBe(20);
      expect(world.condition("east", "UpsyncHeld")).toBe("True DeletionsHeld");
      expect(world.registrations.get("east")?.status?.upsync?.heldDeletions).toBe(15);
      world.update("east", ({ metadata }) => ({
        metadata: { ...metadata, annotations: { "tmc.kcp.io/confirm-upsync-deletions": "15" } },
      }));
      world.enqueued.length = 0;
      await world.reconcileRegistration("east");
      expect(world.enqueued).toHaveLength(15);
      expect(world.condition("east", "UpsyncHeld")).toBe("False DeletionsConfirmed");
      expect(world.registrations.get("east")?.status?.upsync?.heldDeletions).toBeUndefined();
      await world.settle(...names);
      await world.reconcileRegistration("east");
      expect(world.upstreamObjects.size).toBe(5);
      expect(world.condition("east", "UpsyncHeld")).toBe("False NoDeletionsHeld");
    });

    it("keeps the number of held deletions while the cluster is not Ready, and removes it when upsync is switched off", async () => {
      const world = aWorld();
      const names = Array.from({ length: 20 }, (_, index) => `w${index}`);
      for (const name of names) world.createDownstream("east", name);
      await world.settle(...names);
      for (const name of names.slice(0, 15)) world.deleteDownstream("east", name);
      await world.settle(...names);
      await world.reconcileRegistration("east");
      const heldDeletions = (): number | undefined => world.registrations.get("east")?.status?.upsync?.heldDeletions;
      const ready = world.registrations.get("east")?.status?.conditions ?? [];
      world.update("east", ({ status }) => ({
        status: {
          ...status,
          conditions: ready.map((each) => (each.type === "Ready" ? { ...each, status: "False" } : each)),
        },
      }));
      await world.reconcileRegistration("east");
      expect(heldDeletions()).toBe(15);
      world.update("east", ({ spec }) => ({ spec: { ...spec, upsync: [] } }));
      await world.reconcileRegistration("east");
      expect(heldDeletions()).toBeUndefined();
      expect(world.condition("east", "UpsyncHeld")).toBe("none");
    });

    it("is not deleted upstream with many others that are reported one by one", async () => {
      const world = aWorld();
      const names = Array.from({ length: 20 }, (_, index) => `w${index}`);
      for (const name of names) world.createDownstream("east", name);
      await world.settle(...names);
      for (const name of names) {
        world.deleteDownstream("east", name);
        await world.settle(name);
      }
      expect(world.upstreamObjects.size).toBe(10);
      await world.reconcileRegistration("east");
      expect(world.condition("east", "UpsyncHeld")).toBe("True DeletionsHeld");
    });
  });

  it("the original of an object whose labels are no longer opted in is not reported as unreadable", async () => {
    const world = aWorld();
    world.createDownstream("east");
    await world.settle();
    const object = world.upstream();
    const origin = object && upsyncOriginOf(object, tenant);
    if (origin === undefined) throw new Error("the object was not upsynced");
    const address = { type: deployments, namespace: "shop", name: "web" };
    const upstream = { address, labels: object?.metadata.labels };
    const read = () => createUpsyncOrigins(world.tools()).read(origin, upstream, new AbortController().signal);
    expect(await read()).toMatchObject({ targetCluster: "east", copy: { uid: origin.uid } });
    world.update("east", ({ spec }) => ({
      spec: { ...spec, upsync: [{ apiVersion: "apps/v1", kind: "Deployment", matchLabels: { app: "api" } }] },
    }));
    const { length: before } = world.reads;
    expect(await read()).toBeUndefined();
    // A watch has only what is opted in, so nothing has to be read.
    expect(world.reads.length - before).toBe(isWatching ? 0 : 1);
  });

  describe("a process that dies before any write", () => {
    it("is followed by a process that converges to the same state", async () => {
      for (let killAt = 1; killAt <= 8; killAt += 1) {
        const world = aWorld("east", "west");
        world.createDownstream("east", "rest");
        await world.settle("rest");
        world.killAt = world.writes + killAt;
        const run = async (): Promise<void> => {
          try {
            await world.settle();
            for (const name of ["east", "west"]) await world.reconcileRegistration(name);
          } catch (error) {
            if (!(error instanceof Killed)) throw error;
            world.restart();
            await run();
          }
        };
        world.createDownstream("east");
        await run();
        world.createDownstream("west");
        await run();
        world.createDownstream("east", "web", { replicas: 4 });
        await run();
        expect(originOf(world)).toBe("east");
        expect(world.upstream()).toMatchObject({ spec: { replicas: 4 } });
        expect(world.condition("west", "UpsyncConflict")).toBe("True NameTaken");
        world.deleteDownstream("east");
        world.deleteDownstream("west");
        await run();
        expect(world.upstream()).toBeUndefined();
      }
    });
  });

  it("deletions by an earlier process count for the deletion guard", async () => {
    const world = aWorld();
    const names = Array.from({ length: 20 }, (_, index) => `w${index}`);
    for (const name of names) world.createDownstream("east", name);
    await world.settle(...names);
    world.createDownstream("east", "rest");
    await world.settle("rest");
    for (const name of names) {
      world.deleteDownstream("east", name);
      world.restart();
      await world.settle(name);
    }
    expect(world.upstreamObjects.size).toBe(11);
    // After the window only objects that are still missing count, and the log is removed when it is empty.
    world.nowMs += 601_000;
    await world.settle(...names);
    expect([...world.upstreamObjects.keys()]).toEqual([nameOf("rest")]);
    world.nowMs += 601_000;
    await world.reconcileRegistration("east");
    expect(world.registrations.get("east")?.status?.upsync).toBeUndefined();
  });

  it("two processes that delete objects of a cluster concurrently do not use the same count", async () => {
    const world = aWorld();
    const names = Array.from({ length: 20 }, (_, index) => `w${index}`);
    for (const name of names) world.createDownstream("east", name);
    await world.settle(...names);
    for (const name of names.slice(0, 9)) {
      world.deleteDownstream("east", name);
      await world.settle(name);
    }
    // The tenth deletion is allowed. While it is logged, an eleventh object is deleted, and another process has read the old log.
    const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let second: Promise<unknown> = Promise.resolve();
    world.beforeStatusWrite = async () => {
      world.beforeStatusWrite = async () => {};
      world.whileListing = async () => {
        reached.resolve();
        await released.promise;
      };
      world.deleteDownstream("east", "w10");
      world.restart();
      second = world.reconcile("w10");
      await reached.promise;
    };
    world.deleteDownstream("east", "w9");
    await world.reconcile("w9");
    released.resolve();
    await expect(second).rejects.toMatchObject({ fault: "conflict" });
    await world.settle(...names);
    expect([world.upstream("w9"), world.upstream("w10")?.metadata.name]).toEqual([undefined, "w10"]);
  });

  it("confirmed deletions do not count against later ones", async () => {
    const world = aWorld();
    const names = Array.from({ length: 40 }, (_, index) => `w${index}`);
    for (const name of names) world.createDownstream("east", name);
    await world.settle(...names);
    const confirm = (count: string) =>
      world.update("east", ({ metadata }) => ({
        metadata: { ...metadata, annotations: { "tmc.kcp.io/confirm-upsync-deletions": count } },
      }));
    for (const name of names.slice(0, 20)) world.deleteDownstream("east", name);
    confirm("20");
    await world.settle(...names);
    confirm("0");
    world.deleteDownstream("east", "w20");
    await world.settle("w20");
    expect(world.upstreamObjects.size).toBe(19);
  });
});

describe("upsync without watches:", () => {
  const withTwenty = async () => {
    const world = worldOf(false);
    const names = Array.from({ length: 20 }, (_, index) => `w${index}`);
    for (const name of names) world.createDownstream("east", name);
    await world.settle(...names);
    return { world, names };
  };
  const elsewhere = [{ apiVersion: "apps/v1", kind: "Deployment", namespaces: ["bank"] }];

  it("reads an object only from Ready clusters that opt in to its namespace", async () => {
    const world = worldOf(false, "east", "west", "north", "south");
    world.update("west", ({ spec }) => ({ spec: { ...spec, upsync: elsewhere } }));
    world.update("north", ({ spec: { upsync: _, ...spec } }) => ({ spec }));
    world.setReady("south", false);
    await world.reconcile();
    expect(world.reads).toEqual(["east/web"]);
  });

  it("lists a cluster with a resync, and not with a heartbeat", async () => {
    const world = worldOf(false);
    world.createDownstream("east");
    await world.reconcileRegistration("east", "heartbeat");
    expect(world.reads).toEqual([]);
    expect(world.enqueued).toEqual([]);
    await world.reconcileRegistration("east", "resync");
    expect(world.reads).toEqual(["east"]);
    expect(world.enqueued).toEqual([`Workload/${nameOf("web")}`]);
  });

  it("retries a cluster that could not be read while the name is free, but not when it is taken", async () => {
    const world = worldOf(false);
    world.createDownstream("east");
    world.unreachable.add("east");
    expect(await world.reconcile()).toEqual({ kind: "requeue", afterSeconds: 10 });
    world.edit("web", withReplicas(9));
    expect(await world.reconcile()).toEqual({ kind: "done" });
  });

  it("deletes nothing after a failed list; retries a transient failure and reports a permanent one in a condition", async () => {
    const world = worldOf(false);
    world.createDownstream("east");
    await world.settle();
    world.createDownstream("east", "rest");
    await world.settle("rest");
    world.deleteDownstream("east");
    world.listFault = "unreachable";
    expect(await world.reconcileRegistration("east")).toEqual({ kind: "requeue", afterSeconds: 10 });
    expect(await world.reconcile()).toEqual({ kind: "requeue", afterSeconds: 10 });
    world.listFault = "forbidden";
    expect(await world.reconcileRegistration("east")).toEqual({ kind: "done" });
    expect(await world.reconcile()).toEqual({ kind: "done" });
    expect(world.condition("east", "UpsyncReady")).toBe("False ListForbidden");
    expect(world.upstream()).toBeDefined();
    world.listFault = undefined;
    await world.settle();
    expect(world.upstream()).toBeUndefined();
  });

  it("lists a cluster again when the cached list is older than a deletion", async () => {
    const world = worldOf(false);
    world.cachesLists = true;
    world.createDownstream("east");
    await world.settle();
    world.createDownstream("east", "rest");
    await world.settle("rest");
    await world.reconcileRegistration("east");
    world.deleteDownstream("east");
    await world.settle();
    expect(world.upstream()).toBeUndefined();
  });

  it("enqueues the registration once for many held deletions, and requeues it until they are complete", async () => {
    const { world, names } = await withTwenty();
    for (const name of names) world.deleteDownstream("east", name);
    await world.reconcile("w0");
    await world.reconcileRegistration("east");
    expect(world.condition("east", "UpsyncHeld")).toBe("True DeletionsHeld");
    world.enqueued.length = 0;
    await world.settle(...names);
    expect(world.enqueued).toEqual([]);
    world.update("east", ({ metadata }) => ({
      metadata: { ...metadata, annotations: { "tmc.kcp.io/confirm-upsync-deletions": "20" } },
    }));
    expect(await world.reconcileRegistration("east")).toEqual({ kind: "requeue", afterSeconds: 2 });
    world.enqueued.length = 0;
    await world.settle(...names);
    // No confirmed deletion enqueues the registration, which would list the cluster again.
    expect(world.enqueued).toEqual([]);
    expect(await world.reconcileRegistration("east", "requeue")).toEqual({ kind: "done" });
    expect(world.condition("east", "UpsyncHeld")).toBe("False NoDeletionsHeld");
  });

  it("enqueues the registration when objects are deleted that its condition reports as held", async () => {
    const { world, names } = await withTwenty();
    for (const name of names) world.deleteDownstream("east", name);
    await world.reconcileRegistration("east");
    world.update("east", ({ metadata }) => ({
      metadata: { ...metadata, annotations: { "tmc.kcp.io/confirm-upsync-deletions": "20" } },
    }));
    world.enqueued.length = 0;
    await world.settle(...names);
    expect(new Set(world.enqueued)).toEqual(new Set(["ClusterRegistration/east"]));
    await world.reconcileRegistration("east");
    expect(world.condition("east", "UpsyncHeld")).toBe("False NoDeletionsHeld");
  });
});
