import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, it } from "vitest";
import { upsyncOriginOf } from "../../../lib/sync/ownership/upsync-origin.ts";
import { Killed, tenant } from "../sync/paper-world.ts";
import { nameOf, PaperClusters } from "./paper-clusters.ts";

function worldOf(isTelling: boolean, ...clusters: readonly string[]): PaperClusters {
  const world = new PaperClusters({ isTelling });
  for (const name of clusters.length === 0 ? ["east"] : clusters) world.register(name);
  return world;
}

/** The cluster that the workspace's object says it was born on. */
function home(world: PaperClusters, name = "web"): string | undefined {
  const object = world.upstream(name);
  return object && upsyncOriginOf(object, tenant)?.registration;
}

const withReplicas =
  (replicas: number) =>
  (object: KubeObject): KubeObject => ({ ...object, spec: { replicas } });

describe.each([
  ["watched", true],
  ["asked", false],
])("where clusters are %s:", (_world, isTelling) => {
  const aWorld = (...clusters: readonly string[]): PaperClusters => worldOf(isTelling, ...clusters);

  describe("what is born on a cluster", () => {
    it("is in the workspace, with its birthplace, and is written once", async () => {
      const world = aWorld();
      world.bear("east");
      await world.settle();
      expect(world.upstream()).toMatchObject({ metadata: { labels: { app: "web" } }, spec: { replicas: 2 } });
      expect(home(world)).toBe("east");
      expect(world.writes).toBe(1);
      world.restart();
      await world.settle();
      expect(world.writes).toBe(1);
    });

    it("is as its origin says, whoever changes it", async () => {
      const world = aWorld();
      world.bear("east");
      await world.settle();
      world.bear("east", "web", { replicas: 5 });
      await world.settle();
      expect(world.upstream()).toMatchObject({ spec: { replicas: 5 } });
      world.edit("web", withReplicas(1));
      await world.settle();
      expect(world.upstream()).toMatchObject({ spec: { replicas: 5 } });
      world.workspace.clear();
      await world.settle();
      expect(world.upstream()).toMatchObject({ spec: { replicas: 5 } });
    });

    it("is not written again and again where the workspace makes something else of it", async () => {
      const world = aWorld();
      world.store = (object) => ({ ...object, spec: { replicas: 2, paused: false } });
      world.bear("east");
      await world.settle();
      const { writes } = world;
      await world.settle();
      expect(world.writes).toBe(writes);
      world.restart();
      await world.settle();
      expect(world.writes).toBeLessThanOrEqual(writes + 1);
    });

    it("waits for its namespace in the workspace, which nobody makes for it", async () => {
      const world = aWorld();
      world.namespaces.clear();
      world.bear("east");
      await world.settle();
      await world.attend("east");
      expect(world.upstream()).toBeUndefined();
      expect(world.condition("east", "UpsyncReady")).toBe("False NamespaceMissing");
      world.namespaces.add("shop");
      world.woken.length = 0;
      await world.attend("east");
      expect(world.woken).toEqual([`Workload/${nameOf("web")}`]);
      await world.settle();
      await world.attend("east");
      expect(world.upstream()).toBeDefined();
      expect(world.condition("east", "UpsyncReady")).toBe("True Upsynced");
    });

    it("that the workspace refuses is a condition, and is not offered again at once", async () => {
      const world = aWorld();
      world.bear("east");
      world.refusal = "spec.replicas: too many";
      expect(await world.reconcile()).toEqual({ kind: "done" });
      world.refusal = undefined;
      world.woken.length = 0;
      await world.attend("east");
      expect(world.woken).toEqual([]);
      expect(world.condition("east", "UpsyncReady")).toBe("False Rejected");
      world.nowMs += 200_000;
      await world.attend("east");
      expect(world.woken).toEqual([`Workload/${nameOf("web")}`]);
      await world.settle();
      await world.attend("east");
      expect(world.condition("east", "UpsyncReady")).toBe("True Upsynced");
    });

    it("that the workspace refused is spoken of no more when it has gone", async () => {
      const world = aWorld();
      world.bear("east");
      world.refusal = "spec.replicas: too many";
      await world.reconcile();
      world.refusal = undefined;
      world.end("east");
      await world.attend("east");
      expect(world.condition("east", "UpsyncReady")).toBe("True Upsynced");
    });

    it("of a type that TMC may not write is a condition, and nothing is tried", async () => {
      const world = new PaperClusters({ isTelling });
      world.register("east", [{ apiVersion: "v1", kind: "ConfigMap" }]);
      await world.attend("east");
      expect(world.condition("east", "UpsyncReady")).toBe("False TypeNotOffered");
      expect(world.woken).toEqual([]);
      const { writes } = world;
      await world.attend("east");
      expect(world.writes).toBe(writes);
    });
  });

  describe("a name that two have", () => {
    it("stays with the one that the workspace made; that is told once and nothing is overwritten", async () => {
      const world = aWorld();
      world.edit("web", withReplicas(9));
      world.bear("east");
      await world.settle();
      await world.settle();
      await world.attend("east");
      expect(world.upstream()).toMatchObject({ spec: { replicas: 9 } });
      expect(home(world)).toBeUndefined();
      expect(world.events.map(({ reason }) => reason)).toEqual(["UpsyncConflict"]);
      expect(world.condition("east", "UpsyncConflict")).toBe("True NameTaken");
    });

    it("that is taken again is told again", async () => {
      const world = aWorld();
      world.edit("web", withReplicas(9));
      for (const _ of ["first", "second"]) {
        world.bear("east");
        await world.settle();
        world.end("east");
        await world.settle();
      }
      expect(world.events.map(({ reason }) => reason)).toEqual(["UpsyncConflict", "UpsyncConflict"]);
      expect(world.upstream()).toMatchObject({ spec: { replicas: 9 } });
    });

    it("stays with the first origin, and goes to the second when that has gone", async () => {
      const world = aWorld("west", "east");
      world.bear("west");
      await world.settle();
      world.bear("east", "web", { replicas: 7 });
      await world.settle();
      for (const name of ["east", "west"]) await world.attend(name);
      expect(home(world)).toBe("west");
      expect(world.upstream()).toMatchObject({ spec: { replicas: 2 } });
      expect(world.condition("east", "UpsyncConflict")).toBe("True NameTaken");
      expect(world.condition("west", "UpsyncConflict")).toBe("none");
      world.end("west");
      await world.settle();
      await world.attend("east");
      expect(home(world)).toBe("east");
      expect(world.condition("east", "UpsyncConflict")).toBe("False NoConflict");
    });
  });

  describe("what goes from a cluster", () => {
    it("goes from the workspace, once the cluster has said so", async () => {
      const world = aWorld();
      world.bear("east");
      await world.settle();
      world.end("east");
      await world.settle();
      expect(world.upstream()).toBeUndefined();
    });

    it("has not gone because a list does not show it", async () => {
      const world = aWorld();
      world.bear("east");
      await world.settle();
      world.told.get("east")?.clear();
      await world.settle();
      expect(world.upstream()).toBeDefined();
    });

    it("has not gone because the cluster does not answer, or is not heard from", async () => {
      const world = aWorld();
      world.bear("east");
      await world.settle();
      world.away.add("east");
      world.end("east");
      expect(await world.reconcile()).toEqual({ kind: "requeue", afterSeconds: 10 });
      world.setReady("east", false);
      // It is looked at again when it is back, and costs nothing until then.
      expect(await world.reconcile()).toEqual({ kind: "done" });
      expect(world.upstream()).toBeDefined();
      world.away.clear();
      world.setReady("east", true);
      await world.settle();
      expect(world.upstream()).toBeUndefined();
    });

    it.each<[string, (world: PaperClusters) => void]>([
      [
        "the cluster opts in no more",
        (world) => world.change("east", ({ spec }) => ({ spec: { ...spec, upsync: [] } })),
      ],
      [
        "the cluster opts in to other labels",
        (world) =>
          world.change("east", ({ spec }) => ({
            spec: { ...spec, upsync: [{ apiVersion: "apps/v1", kind: "Deployment", matchLabels: { app: "api" } }] },
          })),
      ],
      [
        "the registration is being deleted",
        (world) =>
          world.change("east", ({ metadata }) => ({
            metadata: { ...metadata, deletionTimestamp: "2030-01-01T00:00:00Z" },
          })),
      ],
      ["the registration has gone", (world) => void world.registrations.delete("east")],
    ])("stays in the workspace when %s", async (_, change) => {
      const world = aWorld();
      world.bear("east");
      await world.settle();
      change(world);
      world.end("east");
      world.woken.length = 0;
      await world.settle();
      await world.attend("east");
      expect(home(world)).toBe("east");
      expect(world.woken).toEqual([]);
    });

    it("is held when many go at once, until somebody has said how many may", async () => {
      const world = aWorld();
      const names = Array.from({ length: 20 }, (_, index) => `w${index}`);
      for (const name of names) world.bear("east", name);
      await world.settle(...names);
      for (const name of names.slice(0, 15)) world.end("east", name);
      await world.settle(...names);
      await world.attend("east");
      expect(world.workspace.size).toBe(20);
      expect(world.condition("east", "UpsyncHeld")).toBe("True DeletionsHeld");
      world.change("east", ({ metadata }) => ({
        metadata: { ...metadata, annotations: { "tmc.kcp.io/confirm-upsync-deletions": "15" } },
      }));
      world.woken.length = 0;
      await world.attend("east");
      expect(world.woken).toHaveLength(15);
      expect(world.condition("east", "UpsyncHeld")).toBe("False DeletionsConfirmed");
      await world.settle(...names);
      await world.attend("east");
      expect(world.workspace.size).toBe(5);
      expect(world.condition("east", "UpsyncHeld")).toBe("False NoDeletionsHeld");
    });

    it("is held even where it is told of one by one", async () => {
      const world = aWorld();
      const names = Array.from({ length: 20 }, (_, index) => `w${index}`);
      for (const name of names) world.bear("east", name);
      await world.settle(...names);
      for (const name of names) {
        world.end("east", name);
        await world.settle(name);
      }
      expect(world.workspace.size).toBe(10);
      await world.attend("east");
      expect(world.condition("east", "UpsyncHeld")).toBe("True DeletionsHeld");
    });
  });

  describe("a process that dies at any write", () => {
    it("is followed by one that ends in the same place", async () => {
      for (let killAt = 1; killAt <= 5; killAt += 1) {
        const world = aWorld("east", "west");
        world.killAt = killAt;
        const go = async (): Promise<void> => {
          try {
            await world.settle();
            for (const name of ["east", "west"]) await world.attend(name);
          } catch (error) {
            if (!(error instanceof Killed)) throw error;
            world.restart();
            await go();
          }
        };
        world.bear("east");
        await go();
        world.bear("west");
        await go();
        world.bear("east", "web", { replicas: 4 });
        await go();
        expect(home(world)).toBe("east");
        expect(world.upstream()).toMatchObject({ spec: { replicas: 4 } });
        expect(world.condition("west", "UpsyncConflict")).toBe("True NameTaken");
        world.end("east");
        world.end("west");
        await go();
        expect(world.upstream()).toBeUndefined();
      }
    });
  });

  it("what went from one process counts for the next", async () => {
    const world = aWorld();
    const names = Array.from({ length: 20 }, (_, index) => `w${index}`);
    for (const name of names) world.bear("east", name);
    await world.settle(...names);
    for (const name of names) {
      world.end("east", name);
      world.restart();
      await world.settle(name);
    }
    expect(world.workspace.size).toBe(10);
    // After a while it is what is still missing that counts, and nothing is noted down for longer than it says anything.
    world.nowMs += 601_000;
    await world.settle(...names);
    expect(world.workspace.size).toBe(0);
    world.nowMs += 601_000;
    await world.attend("east");
    expect(world.registrations.get("east")?.status?.upsync).toBeUndefined();
  });

  it("two processes that end objects of a cluster at the same moment do not go by the same count", async () => {
    const world = aWorld();
    const names = Array.from({ length: 20 }, (_, index) => `w${index}`);
    for (const name of names) world.bear("east", name);
    await world.settle(...names);
    for (const name of names.slice(0, 9)) {
      world.end("east", name);
      await world.settle(name);
    }
    // The tenth may go. While that is noted down an eleventh ends, and another process has read what was noted before.
    const [reached, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let second: Promise<unknown> = Promise.resolve();
    world.beforeStatus = async () => {
      world.beforeStatus = async () => {};
      world.whileListing = async () => {
        reached.resolve();
        await ended.promise;
      };
      world.end("east", "w10");
      world.restart();
      second = world.reconcile("w10");
      await reached.promise;
    };
    world.end("east", "w9");
    await world.reconcile("w9");
    ended.resolve();
    await expect(second).rejects.toMatchObject({ fault: "conflict" });
    await world.settle(...names);
    expect([world.upstream("w9"), world.upstream("w10")?.metadata.name]).toEqual([undefined, "w10"]);
  });

  it("ends that somebody has confirmed do not count against others", async () => {
    const world = aWorld();
    const names = Array.from({ length: 40 }, (_, index) => `w${index}`);
    for (const name of names) world.bear("east", name);
    await world.settle(...names);
    const confirm = (count: string) =>
      world.change("east", ({ metadata }) => ({
        metadata: { ...metadata, annotations: { "tmc.kcp.io/confirm-upsync-deletions": count } },
      }));
    for (const name of names.slice(0, 20)) world.end("east", name);
    confirm("20");
    await world.settle(...names);
    confirm("0");
    world.end("east", "w20");
    await world.settle("w20");
    expect(world.workspace.size).toBe(19);
  });
});

describe("clusters that have to be asked", () => {
  const withTwenty = async () => {
    const world = worldOf(false);
    const names = Array.from({ length: 20 }, (_, index) => `w${index}`);
    for (const name of names) world.bear("east", name);
    await world.settle(...names);
    return { world, names };
  };
  const elsewhere = [{ apiVersion: "apps/v1", kind: "Deployment", namespaces: ["bank"] }];

  it("are asked for a name where they opt in to such names, and nowhere else", async () => {
    const world = worldOf(false, "east", "west", "north", "south");
    world.change("west", ({ spec }) => ({ spec: { ...spec, upsync: elsewhere } }));
    world.change("north", ({ spec: { upsync: _, ...spec } }) => ({ spec }));
    world.setReady("south", false);
    await world.reconcile();
    expect(world.asked).toEqual(["east/web"]);
  });

  it("are asked for all they have when something may be new, and not by each heartbeat", async () => {
    const world = worldOf(false);
    world.bear("east");
    await world.attend("east", "heartbeat");
    expect(world.asked).toEqual([]);
    expect(world.woken).toEqual([]);
    await world.attend("east", "resync");
    expect(world.asked).toEqual(["east"]);
    expect(world.woken).toEqual([`Workload/${nameOf("web")}`]);
  });

  it("are asked again soon for what may be born and was not heard of, but not for a name that is taken", async () => {
    const world = worldOf(false);
    world.bear("east");
    world.away.add("east");
    expect(await world.reconcile()).toEqual({ kind: "requeue", afterSeconds: 10 });
    world.edit("web", withReplicas(9));
    expect(await world.reconcile()).toEqual({ kind: "done" });
  });

  it("lose nothing by a list that fails: soon again if that may pass, a condition if not", async () => {
    const world = worldOf(false);
    world.bear("east");
    await world.settle();
    world.end("east");
    world.listFault = "unreachable";
    expect(await world.attend("east")).toEqual({ kind: "requeue", afterSeconds: 10 });
    expect(await world.reconcile()).toEqual({ kind: "requeue", afterSeconds: 10 });
    world.listFault = "forbidden";
    expect(await world.attend("east")).toEqual({ kind: "done" });
    expect(await world.reconcile()).toEqual({ kind: "done" });
    expect(world.condition("east", "UpsyncReady")).toBe("False ListForbidden");
    expect(world.upstream()).toBeDefined();
    world.listFault = undefined;
    await world.settle();
    expect(world.upstream()).toBeUndefined();
  });

  it("are listed anew for an end that is news to what was listed before", async () => {
    const world = worldOf(false);
    world.keepsLists = true;
    world.bear("east");
    await world.settle();
    await world.attend("east");
    world.end("east");
    await world.settle();
    expect(world.upstream()).toBeUndefined();
  });

  it("have their registration looked at once for many that are held, and again until they have gone", async () => {
    const { world, names } = await withTwenty();
    for (const name of names) world.end("east", name);
    await world.reconcile("w0");
    await world.attend("east");
    expect(world.condition("east", "UpsyncHeld")).toBe("True DeletionsHeld");
    world.woken.length = 0;
    await world.settle(...names);
    expect(world.woken).toEqual([]);
    world.change("east", ({ metadata }) => ({
      metadata: { ...metadata, annotations: { "tmc.kcp.io/confirm-upsync-deletions": "20" } },
    }));
    expect(await world.attend("east")).toEqual({ kind: "requeue", afterSeconds: 2 });
    world.woken.length = 0;
    await world.settle(...names);
    // However many go, none of them has the cluster listed once more.
    expect(world.woken).toEqual([]);
    expect(await world.attend("east", "requeue")).toEqual({ kind: "done" });
    expect(world.condition("east", "UpsyncHeld")).toBe("False NoDeletionsHeld");
  });

  it("have their registration looked at when what it says is held has gone without it", async () => {
    const { world, names } = await withTwenty();
    for (const name of names) world.end("east", name);
    await world.attend("east");
    world.change("east", ({ metadata }) => ({
      metadata: { ...metadata, annotations: { "tmc.kcp.io/confirm-upsync-deletions": "20" } },
    }));
    world.woken.length = 0;
    await world.settle(...names);
    expect(new Set(world.woken)).toEqual(new Set(["ClusterRegistration/east"]));
    await world.attend("east");
    expect(world.condition("east", "UpsyncHeld")).toBe("False NoDeletionsHeld");
  });
});
