import { ControllerError } from "@tmc/kube/fault.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, it } from "vitest";
import type { WorkloadPlacement } from "../../../lib/api/workload-placement.ts";
import type { Hub } from "../../../lib/model/hub.ts";
import type { ObjectKey } from "../../../lib/model/key.ts";
import { done, requeueAfter } from "../../../lib/model/work-item.ts";
import { placementReconciler } from "../../../lib/placement/reconcile.ts";
import { createPlacementWorld, maxPlacementsCountedEachTime } from "../../../lib/placement/world.ts";
import { ago, aPlacement, aRegistration, now } from "../../support/placement-builders.ts";

const signal = new AbortController().signal;
const keyOf = (name: string): ObjectKey => ({ logicalCluster: "root", kind: "WorkloadPlacement", name });

/** An in-memory hub. Its objects are frozen, and its cache can lag behind the writes. */
class MemoryHub {
  writes = 0;
  readonly lists: Record<string, number> = {};
  /** While true, reads return the state before the lag started. */
  lags = false;
  #version = 1;
  #stored = new Map<string, KubeObject>();
  #cached = new Map<string, KubeObject>();

  put(object: KubeObject): void {
    this.#version += 1;
    const metadata = { ...object.metadata, resourceVersion: String(this.#version) };
    const stored: KubeObject = Object.freeze({ ...object, metadata });
    this.#stored.set(`${object.kind}/${object.metadata.name ?? ""}`, stored);
    if (!this.lags) this.catchUp();
  }

  remove(kind: string, name: string): void {
    this.#stored.delete(`${kind}/${name}`);
    this.catchUp();
  }

  catchUp(): void {
    this.#cached = new Map(this.#stored);
  }

  placement(name: string): WorkloadPlacement | undefined {
    // This key prefix is used for placements only.
    return this.#stored.get(`WorkloadPlacement/${name}`) as WorkloadPlacement | undefined;
  }

  counts(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const object of this.#stored.values()) {
      for (const name of this.placement(object.metadata.name ?? "")?.status?.selectedClusters ?? []) {
        counts[name] = (counts[name] ?? 0) + 1;
      }
    }
    return counts;
  }

  hub(): Hub {
    const ofKind = (kind: string) => [...this.#cached.values()].filter((object) => object.kind === kind);
    return {
      // The hub returns the type that the caller expects for the kind of the key.
      read: async <T extends KubeObject>({ kind, name }: ObjectKey) =>
        this.#cached.get(`${kind}/${name}`) as T | undefined,
      list: async <T extends KubeObject>(kind: string) => {
        this.lists[kind] = (this.lists[kind] ?? 0) + 1;
        return ofKind(kind) as T[];
      },
      writeStatus: async <T extends KubeObject>({ kind, name }: ObjectKey, observed: T, status: object) => {
        const stored = this.#stored.get(`${kind}/${name}`);
        if (stored?.metadata.resourceVersion !== observed.metadata.resourceVersion) {
          throw new ControllerError("conflict", `${kind} ${name} has changed`);
        }
        this.writes += 1;
        this.put({ ...observed, status });
        return observed;
      },
      confirm: () => Promise.reject(new Error("unexpected call of confirm")),
      writeFinalizers: () => Promise.reject(new Error("unexpected call of writeFinalizers")),
      readSecret: () => Promise.reject(new Error("unexpected call of readSecret")),
    };
  }
}

function aWorld(
  clusters: readonly string[],
  loadMaxAgeSeconds?: number,
): { memory: MemoryHub; reconcile: (name: string) => Promise<unknown> } {
  const memory = new MemoryHub();
  for (const name of clusters) addCluster(memory, name);
  return { memory, reconcile: aReconciler(memory, loadMaxAgeSeconds) };
}

/** The placement reconciler of one process. */
function aReconciler(memory: MemoryHub, loadMaxAgeSeconds?: number): (name: string) => Promise<unknown> {
  const clock = { now: () => now, monotonicMs: () => now, after: () => () => undefined };
  const world = createPlacementWorld({ hub: memory.hub(), clock, loadMaxAgeSeconds });
  const reconcile = placementReconciler(world);
  return (name) => reconcile(keyOf(name), signal);
}

function addCluster(memory: MemoryHub, name: string, options: Parameters<typeof aRegistration>[1] = {}): void {
  memory.put({ apiVersion: "tmc.kcp.io/v1alpha1", kind: "ClusterRegistration", ...aRegistration(name, options) });
}

function addPlacement(memory: MemoryHub, name: string, spec: WorkloadPlacement["spec"] = {}): void {
  memory.put({ ...aPlacement(spec), metadata: { name, generation: 1 } });
}

describe("the placement reconciler", () => {
  it("writes a placement decision once, and nothing if nothing has changed", async () => {
    const { memory, reconcile } = aWorld(["a", "b"]);
    addPlacement(memory, "web");
    expect(await reconcile("web")).toEqual(done);
    expect(memory.placement("web")?.status?.selectedClusters).toEqual(["a"]);
    await reconcile("web");
    expect(memory.writes).toBe(1);
  });

  it("does nothing for a placement that is gone or being deleted", async () => {
    const { memory, reconcile } = aWorld(["a"]);
    expect(await reconcile("web")).toEqual(done);
    memory.put({ ...aPlacement(), metadata: { name: "web", deletionTimestamp: "2030-01-01T00:00:00Z" } });
    expect(await reconcile("web")).toEqual(done);
    expect(memory.writes).toBe(0);
  });

  it("requeues a placement for the end of the tolerated time", async () => {
    const { memory, reconcile } = aWorld(["a"]);
    addPlacement(memory, "web");
    await reconcile("web");
    addCluster(memory, "a", { ready: "False", since: new Date(now).toISOString() });
    expect(await reconcile("web")).toEqual({ kind: "requeue", afterSeconds: 300 });
  });

  it("throws a conflict if the placement has changed since it was observed", async () => {
    const { memory, reconcile } = aWorld(["a"]);
    addPlacement(memory, "web");
    memory.lags = true;
    addPlacement(memory, "web", { strategy: "Spread" });
    await expect(reconcile("web")).rejects.toMatchObject({ fault: "conflict" });
  });
});

describe("RoundRobin", () => {
  const names = Array.from({ length: 300 }, (_, index) => `p${index}`);
  const even = { a: 100, b: 100, c: 100 };

  it("distributes 300 placements evenly to 3 clusters, one after another", async () => {
    const { memory, reconcile } = aWorld(["a", "b", "c"]);
    for (const name of names) addPlacement(memory, name);
    for (const name of names) await reconcile(name);
    expect(memory.counts()).toEqual(even);
    expect(memory.writes).toBe(300);
  });

  it("distributes 300 placements evenly to 3 clusters, all at once", async () => {
    const { memory, reconcile } = aWorld(["a", "b", "c"]);
    for (const name of names) addPlacement(memory, name);
    await Promise.all(names.map(reconcile));
    expect(memory.counts()).toEqual(even);
  });

  it("distributes 300 placements evenly to 3 clusters with a lagging cache", async () => {
    const { memory, reconcile } = aWorld(["a", "b", "c"]);
    for (const name of names) addPlacement(memory, name);
    memory.lags = true;
    for (const [index, name] of names.entries()) {
      await reconcile(name);
      if (index % 40 === 0) memory.catchUp();
    }
    expect(memory.counts()).toEqual(even);
  });

  it("distributes a burst of placements in a large tenant evenly with one list of the existing ones", async () => {
    const { memory, reconcile } = aWorld(["a", "b", "c"], 10);
    const existing = Math.ceil((maxPlacementsCountedEachTime + 1) / 3);
    for (const selected of ["a", "b", "c"]) {
      for (let index = 0; index < existing; index++) {
        const metadata = { name: `existing-${selected}${index}`, generation: 1 };
        memory.put({ ...aPlacement(), metadata, status: { selectedClusters: [selected] } });
      }
    }
    for (const [index, name] of names.entries()) {
      addPlacement(memory, name);
      if (index % 2 === 0) await reconcile(name);
    }
    for (const [index, name] of names.entries()) if (index % 2 === 1) await reconcile(name);
    expect(memory.counts()).toEqual({ a: existing + 100, b: existing + 100, c: existing + 100 });
    expect(memory.lists.WorkloadPlacement).toBe(1);
  });

  it("counts the decisions of other processes at once in a tenant of usual size", async () => {
    const { memory, reconcile } = aWorld(["a", "b", "c"], 10);
    const other = aReconciler(memory, 10);
    for (const name of ["p0", "p1", "p2"]) addPlacement(memory, name);
    await reconcile("p0");
    await other("p1");
    await reconcile("p2");
    expect(memory.counts()).toEqual({ a: 1, b: 1, c: 1 });
  });

  it("distributes new placements evenly after others were deleted", async () => {
    const { memory, reconcile } = aWorld(["a", "b", "c"]);
    for (const name of names.slice(0, 30)) addPlacement(memory, name);
    for (const name of names.slice(0, 30)) await reconcile(name);
    for (let index = 0; index < 30; index += 3) memory.remove("WorkloadPlacement", `p${index}`); // all on cluster a
    for (const name of names.slice(30, 40)) {
      addPlacement(memory, name);
      await reconcile(name);
    }
    expect(memory.counts()).toEqual({ a: 10, b: 10, c: 10 });
  });

  it("does not fill a cluster beyond its capacity, although all placements are decided at once", async () => {
    const { memory, reconcile } = aWorld(["a", "b"]); // 8 CPU each
    const many = Array.from({ length: 20 }, (_, index) => `p${index}`);
    for (const name of many) addPlacement(memory, name, { resources: { cpu: "3" } });
    await Promise.all(many.map(reconcile));
    expect(memory.counts()).toEqual({ a: 2, b: 2 });
  });

  it("holds the evictions of a mass failure, with one Event, until enough clusters respond again", async () => {
    const { memory } = aWorld(["d"]);
    const lose = (name: string, since = ago(400)) =>
      addCluster(memory, name, { ready: "False", since, status: { lastHeartbeat: ago(460) } });
    for (const name of ["a", "b", "c"]) lose(name);
    const events: string[] = [];
    let held = 0;
    const world = createPlacementWorld({
      hub: memory.hub(),
      clock: { now: () => now, monotonicMs: () => now, after: () => () => undefined },
      onEvictionsHeld: () => {
        held += 1;
      },
      recordEvent: (key, _, { reason }) => events.push(`${key.name} ${reason}`),
    });
    const reconcile = placementReconciler(world);
    memory.put({ ...aPlacement(), metadata: { name: "web", generation: 1 }, status: { selectedClusters: ["a"] } });
    for (let round = 0; round < 3; round++) {
      expect(await reconcile(keyOf("web"), signal)).toEqual(requeueAfter(60));
      expect(memory.placement("web")?.status?.selectedClusters).toEqual(["a"]);
    }
    expect([memory.writes, held, events]).toEqual([1, 3, ["web MassFailureSuspected"]]);
    for (const name of ["b", "c"]) addCluster(memory, name, { since: ago(300) });
    await reconcile(keyOf("web"), signal);
    expect(memory.placement("web")?.status?.selectedClusters).toEqual(["b"]);
  });

  it("holds evictions if most clusters of all tenants of the process failed", async () => {
    const { memory } = aWorld(["b"]);
    const failed = { ready: "False", since: ago(400), status: { lastHeartbeat: ago(460) } } as const;
    addCluster(memory, "a", failed);
    memory.put({ ...aPlacement(), metadata: { name: "web", generation: 1 }, status: { selectedClusters: ["a"] } });
    const others = [1, 2].map(() => ["x", "y"].map((name) => aRegistration(name, failed)));
    const reconcileWith = (tenants: readonly (readonly ReturnType<typeof aRegistration>[])[]) =>
      placementReconciler(
        createPlacementWorld({
          hub: memory.hub(),
          clock: { now: () => now, monotonicMs: () => now, after: () => () => undefined },
          registrationsOfProcess: () => [[aRegistration("a", failed), aRegistration("b")], ...tenants],
        }),
      )(keyOf("web"), signal);
    await reconcileWith(others);
    expect(memory.placement("web")?.status?.selectedClusters).toEqual(["a"]);
    await reconcileWith([]);
    expect(memory.placement("web")?.status?.selectedClusters).toEqual(["b"]);
  });

  it("distributes the placements of a failed cluster evenly to the others", async () => {
    const { memory, reconcile } = aWorld(["a", "b", "c"]);
    for (const name of names.slice(0, 60)) addPlacement(memory, name);
    for (const name of names.slice(0, 60)) await reconcile(name);
    addCluster(memory, "a", { ready: "False", since: new Date(now - 300_000).toISOString() });
    for (const name of names.slice(0, 60)) await reconcile(name);
    expect(memory.counts()).toEqual({ b: 30, c: 30 });
  });

  it("moves no placement when a cluster is added", async () => {
    const { memory, reconcile } = aWorld(["b", "c"]);
    for (const name of names.slice(0, 10)) addPlacement(memory, name);
    for (const name of names.slice(0, 10)) await reconcile(name);
    addCluster(memory, "a");
    for (const name of names.slice(0, 10)) await reconcile(name);
    expect(memory.counts()).toEqual({ b: 5, c: 5 });
  });
});
