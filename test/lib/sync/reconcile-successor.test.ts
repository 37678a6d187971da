import { faultOf } from "@tmc/kube/errors.ts";
import { beforeEach, describe, expect, it } from "vitest";
import type { WorkloadSync } from "../../../lib/api/workload-sync.ts";
import { recordName } from "../../../lib/sync/ownership/record.ts";
import { deployments, type InMemoryWorld, Killed, startMs } from "../../support/in-memory-world.ts";
import { anInMemoryWorld, inWorld } from "../../support/in-memory-world-helpers.ts";

let world: InMemoryWorld;
beforeEach(() => {
  world = anInMemoryWorld();
});
const { has, running } = inWorld(() => world);

const recordId = `shop/${recordName({ type: deployments, name: "web" })}`;

function changeRecord(change: (record: WorkloadSync) => WorkloadSync): void {
  const record = world.records.get(recordId);
  if (record === undefined) throw new Error("there is no record");
  world.records.set(recordId, change(record));
}

/** Deletes the workload without its finalizer and creates another one of that name, as `kubectl replace --force` does. */
function replaceWorkload(labels: Readonly<Record<string, string>> = {}): void {
  const key = [...world.workloads.keys()][0] ?? "";
  world.workloads.delete(key);
  world.apply("web", { replicas: 3 }, { uid: "uid-of-successor", labels });
}

/** Marks the record as the upstream garbage collector does when its owner is gone. */
function collectGarbage(): void {
  changeRecord((record) => ({
    ...record,
    metadata: { ...record.metadata, deletionTimestamp: new Date(startMs).toISOString() },
  }));
}

const successorRecord = {
  metadata: { ownerReferences: [{ uid: "uid-of-successor" }], finalizers: ["tmc.kcp.io/sync"] },
  spec: { workload: { uid: "uid-of-successor" } },
};

describe("a workload that was deleted and created again", () => {
  it("gets a new record if the old one is terminating, and keeps its copies", async () => {
    await running();
    const uids = ["east", "west"].map((name) => world.copy(name, "web")?.metadata.uid);
    replaceWorkload();
    collectGarbage();
    world.log.length = 0;
    await world.settle("web");
    expect(world.record("web")).toMatchObject({
      ...successorRecord,
      spec: { workload: { uid: "uid-of-successor" }, placement: "shop", clusters: ["east", "west"] },
    });
    expect(world.record("web")?.metadata.deletionTimestamp).toBeUndefined();
    expect(["east", "west"].map((name) => world.copy(name, "web")?.metadata.uid)).toEqual(uids);
    expect(world.log.filter((line) => line.includes("remove"))).toEqual([]);
  });

  it("gets no record for an earlier object that only the cache still has", async () => {
    await running();
    const before = [...world.workloads];
    replaceWorkload();
    for (const [key, earlier] of before) world.cachedWorkloads.set(key, earlier);
    collectGarbage();
    const uids = [...world.records.values()].map(({ metadata }) => metadata.uid);
    expect(await world.reconcile("web").catch(faultOf)).toBe("conflict");
    expect([...world.records.values()].map(({ metadata }) => metadata.uid)).toEqual(uids);
    world.cachedWorkloads.clear();
    await world.settle("web");
    expect(world.record("web")).toMatchObject(successorRecord);
  });

  it("is governed by its own placement: with Orphan its copies stay when that placement is deleted", async () => {
    world.place("old", ["east", "west"], { workloadSelector: {} });
    world.apply("web");
    await world.settle("web");
    world.makeReady("east", "west");
    await world.settle("web");
    replaceWorkload({ team: "new" });
    collectGarbage();
    world.place("new", ["east", "west"], {
      workloadSelector: { labelSelector: { matchLabels: { team: "new" } } },
      deletionPolicy: "Orphan",
    });
    await world.settle("web");
    expect(world.record("web")?.spec).toMatchObject({ placement: "new", deletionPolicy: "Orphan" });
    world.placements.clear();
    await world.settle("web");
    expect(has("web")).toBe("east west");
    expect(world.record("web")?.spec.clusters ?? []).toEqual([]);
  });

  it("is not governed by the placement of an earlier object if the record is not terminating yet", async () => {
    world.place("old", ["east", "west"]);
    world.apply("web");
    await world.settle("web");
    world.place("new", ["east", "west"], { workloadSelector: { labelSelector: { matchLabels: { team: "new" } } } });
    replaceWorkload({ team: "new" });
    await world.settle("web");
    expect(world.record("web")).toMatchObject(successorRecord);
    expect(world.record("web")?.spec.placement).toBe("new");
  });

  it("is not taken for deleted because an earlier object was deleted while a cluster was away", async () => {
    await running();
    changeRecord((record) => ({ ...record, spec: { ...record.spec, deleted: true } }));
    replaceWorkload();
    await world.settle("web");
    world.workloads.clear();
    await world.settle("web");
    expect(has("web")).toBe("east west");
  });

  it("is recorded on its clusters before the first write there, while a cluster of the earlier object is away", async () => {
    await running();
    world.setReady("east", false);
    replaceWorkload();
    collectGarbage();
    world.place("shop", ["north", "west"]);
    await world.settle("web");
    // The record cannot be replaced yet: after a crash nobody would know that east has a copy.
    expect(world.record("web")?.metadata.deletionTimestamp).toBeDefined();
    expect(world.record("web")?.spec).toMatchObject({
      workload: { uid: "uid-of-successor" },
      clusters: ["east", "north", "west"],
    });
    expect(has("web")).toBe("east north west");
    world.makeReady("north", "west");
    world.setReady("east", true);
    await world.settle("web");
    expect(has("web")).toBe("north west");
    expect(world.record("web")).toMatchObject({ ...successorRecord, spec: { clusters: ["north", "west"] } });
    expect(world.record("web")?.metadata.deletionTimestamp).toBeUndefined();
  });

  it("asks to be reconciled again when its record has become replaceable", async () => {
    await running();
    replaceWorkload();
    collectGarbage();
    world.place("shop", ["west"]);
    world.makeReady("west");
    expect(await world.reconcile("web")).toMatchObject({ afterSeconds: expect.any(Number) });
    await world.settle("web");
    expect(world.record("web")?.metadata.deletionTimestamp).toBeUndefined();
    expect(world.record("web")?.spec.clusters).toEqual(["west"]);
  });

  it("keeps its terminating record in a terminating namespace, which accepts no new one", async () => {
    await running();
    replaceWorkload();
    collectGarbage();
    world.terminatingNamespaces.add("shop");
    await world.settle("web");
    expect(world.record("web")?.metadata.deletionTimestamp).toBeDefined();
    expect(world.record("web")?.spec).toMatchObject({
      workload: { uid: "uid-of-successor" },
      clusters: ["east", "west"],
    });
  });

  it("has every copy named by its record wherever the controller is killed", async () => {
    for (let killAt = 1; killAt < 40; killAt += 1) {
      world = anInMemoryWorld();
      await running();
      replaceWorkload();
      collectGarbage();
      world.place("shop", ["north", "west"]);
      world.killAt = world.writes + killAt;
      const isKilled = await world.settle("web").then(
        () => false,
        (error: unknown) => {
          if (!(error instanceof Killed)) throw error;
          return true;
        },
      );
      world.killAt = Number.POSITIVE_INFINITY;
      // While the controller is down, the placement selects another cluster.
      world.place("shop", ["north"]);
      await world.settle("web");
      world.makeReady("north");
      await world.settle("web");
      expect(has("web")).toBe("north");
      expect(world.record("web")?.spec.clusters).toEqual(["north"]);
      if (!isKilled) return;
    }
    throw new Error("the reconcile never finished");
  });
});
