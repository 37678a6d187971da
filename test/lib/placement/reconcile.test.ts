import { ControllerError } from "@tmc/kube/fault.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, it } from "vitest";
import type { WorkloadPlacement } from "../../../lib/api/workload-placement.ts";
import type { Hub } from "../../../lib/model/hub.ts";
import type { ObjectKey } from "../../../lib/model/key.ts";
import { done } from "../../../lib/model/next.ts";
import { placementReconciler } from "../../../lib/placement/reconcile.ts";
import { createPlacementWorld } from "../../../lib/placement/world.ts";
import { aPlacement, aRegistration, now } from "./builders.ts";

const signal = new AbortController().signal;
const keyOf = (name: string): ObjectKey => ({ logicalCluster: "root", kind: "WorkloadPlacement", name });

/** A hub in memory; what it hands out is frozen, and its cache may lag behind what was written. */
class MemoryHub {
  writes = 0;
  readonly lists: Record<string, number> = {};
  /** While it lags, reads show the world as it was. */
  lags = false;
  #version = 1;
  #stored = new Map<string, KubeObject>();
  #shown = new Map<string, KubeObject>();

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
    this.#shown = new Map(this.#stored);
  }

  placement(name: string): WorkloadPlacement | undefined {
    // Only placements are put under this name.
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
    const of = (kind: string) => [...this.#shown.values()].filter((object) => object.kind === kind);
    return {
      // A hub answers with the type that its caller asks for; the key says which one that is.
      read: async <T extends KubeObject>({ kind, name }: ObjectKey) =>
        this.#shown.get(`${kind}/${name}`) as T | undefined,
      list: async <T extends KubeObject>(kind: string) => {
        this.lists[kind] = (this.lists[kind] ?? 0) + 1;
        return of(kind) as T[];
      },
      writeStatus: async <T extends KubeObject>({ kind, name }: ObjectKey, seen: T, status: object) => {
        const present = this.#stored.get(`${kind}/${name}`);
        if (present?.metadata.resourceVersion !== seen.metadata.resourceVersion) {
          throw new ControllerError("conflict", `${kind} ${name} has changed`);
        }
        this.writes += 1;
        this.put({ ...seen, status });
        return seen;
      },
      confirm: () => Promise.reject(new Error("no one asks whether something is gone")),
      writeFinalizers: () => Promise.reject(new Error("no one asks for finalizers")),
      readSecret: () => Promise.reject(new Error("no one asks for secrets")),
    };
  }
}

function aWorld(
  clusters: readonly string[],
  countSeconds?: number,
): { memory: MemoryHub; reconcile: (name: string) => Promise<unknown> } {
  const memory = new MemoryHub();
  for (const name of clusters) addCluster(memory, name);
  const clock = { now: () => now, after: () => () => undefined };
  const world = createPlacementWorld({ hub: memory.hub(), clock, countSeconds });
  const reconcile = placementReconciler(world);
  return { memory, reconcile: (name) => reconcile(keyOf(name), signal) };
}

function addCluster(memory: MemoryHub, name: string, wish: Parameters<typeof aRegistration>[1] = {}): void {
  memory.put({ apiVersion: "tmc.kcp.io/v1alpha1", kind: "ClusterRegistration", ...aRegistration(name, wish) });
}

function addPlacement(memory: MemoryHub, name: string, spec: WorkloadPlacement["spec"] = {}): void {
  memory.put({ ...aPlacement(spec), metadata: { name, generation: 1 } });
}

describe("the reconciler", () => {
  it("writes a decision once, and nothing when nothing has changed", async () => {
    const { memory, reconcile } = aWorld(["a", "b"]);
    addPlacement(memory, "web");
    expect(await reconcile("web")).toEqual(done);
    expect(memory.placement("web")?.status?.selectedClusters).toEqual(["a"]);
    await reconcile("web");
    expect(memory.writes).toBe(1);
  });

  it("has nothing to do for a placement that is gone or going", async () => {
    const { memory, reconcile } = aWorld(["a"]);
    expect(await reconcile("web")).toEqual(done);
    memory.put({ ...aPlacement(), metadata: { name: "web", deletionTimestamp: "2030-01-01T00:00:00Z" } });
    expect(await reconcile("web")).toEqual(done);
    expect(memory.writes).toBe(0);
  });

  it("asks to be called again when a time runs out", async () => {
    const { memory, reconcile } = aWorld(["a"]);
    addPlacement(memory, "web");
    await reconcile("web");
    addCluster(memory, "a", { ready: "False", since: new Date(now).toISOString() });
    expect(await reconcile("web")).toEqual({ kind: "requeue", afterSeconds: 300 });
  });

  it("fails with the conflict when the placement has changed since it was seen", async () => {
    const { memory, reconcile } = aWorld(["a"]);
    addPlacement(memory, "web");
    memory.lags = true;
    addPlacement(memory, "web", { strategy: "Spread" });
    await expect(reconcile("web")).rejects.toMatchObject({ fault: "conflict" });
  });
});

describe("RoundRobin deals", () => {
  const names = Array.from({ length: 300 }, (_, at) => `p${at}`);
  const even = { a: 100, b: 100, c: 100 };

  it("300 placements to 3 clusters, 100 each, one after another", async () => {
    const { memory, reconcile } = aWorld(["a", "b", "c"]);
    for (const name of names) addPlacement(memory, name);
    for (const name of names) await reconcile(name);
    expect(memory.counts()).toEqual(even);
    expect(memory.writes).toBe(300);
  });

  it("300 placements to 3 clusters, 100 each, all at once", async () => {
    const { memory, reconcile } = aWorld(["a", "b", "c"]);
    for (const name of names) addPlacement(memory, name);
    await Promise.all(names.map(reconcile));
    expect(memory.counts()).toEqual(even);
  });

  it("300 placements to 3 clusters, 100 each, with a cache that lags", async () => {
    const { memory, reconcile } = aWorld(["a", "b", "c"]);
    for (const name of names) addPlacement(memory, name);
    memory.lags = true;
    for (const [at, name] of names.entries()) {
      await reconcile(name);
      if (at % 40 === 0) memory.catchUp();
    }
    expect(memory.counts()).toEqual(even);
  });

  it("placements that come in a rush evenly, and counts those before them once", async () => {
    const { memory, reconcile } = aWorld(["a", "b", "c"], 10);
    for (const [at, name] of names.entries()) {
      addPlacement(memory, name);
      if (at % 2 === 0) await reconcile(name);
    }
    for (const [at, name] of names.entries()) if (at % 2 === 1) await reconcile(name);
    expect(memory.counts()).toEqual(even);
    expect(memory.lists.WorkloadPlacement).toBe(1);
  });

  it("again evenly after placements are gone", async () => {
    const { memory, reconcile } = aWorld(["a", "b", "c"]);
    for (const name of names.slice(0, 30)) addPlacement(memory, name);
    for (const name of names.slice(0, 30)) await reconcile(name);
    for (let at = 0; at < 30; at += 3) memory.remove("WorkloadPlacement", `p${at}`); // all of them in a
    for (const name of names.slice(30, 40)) {
      addPlacement(memory, name);
      await reconcile(name);
    }
    expect(memory.counts()).toEqual({ a: 10, b: 10, c: 10 });
  });

  it("what a failed cluster had evenly to the others", async () => {
    const { memory, reconcile } = aWorld(["a", "b", "c"]);
    for (const name of names.slice(0, 60)) addPlacement(memory, name);
    for (const name of names.slice(0, 60)) await reconcile(name);
    addCluster(memory, "a", { ready: "False", since: new Date(now - 300_000).toISOString() });
    for (const name of names.slice(0, 60)) await reconcile(name);
    expect(memory.counts()).toEqual({ b: 30, c: 30 });
  });

  it("and moves nothing when a cluster comes back", async () => {
    const { memory, reconcile } = aWorld(["b", "c"]);
    for (const name of names.slice(0, 10)) addPlacement(memory, name);
    for (const name of names.slice(0, 10)) await reconcile(name);
    addCluster(memory, "a");
    for (const name of names.slice(0, 10)) await reconcile(name);
    expect(memory.counts()).toEqual({ b: 5, c: 5 });
  });
});
