import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { describe, expect, test } from "vitest";
import { createEngine } from "../../src/kubernetes/engine.ts";
import type { ClusterController, World } from "../../src/kubernetes/world.ts";
import { keyOf } from "../../src/kubernetes/world.ts";
import { createMemoryStore } from "../../src/storage/memory-store.ts";
import { aPod } from "./builders.ts";

function setUp(reconcile: (name: string) => number | undefined) {
  const clock = createManualClock();
  const store = createMemoryStore();
  const seen: string[] = [];
  const errors: unknown[] = [];
  const controller: ClusterController = {
    name: "test",
    watches: { pods: (pod) => [keyOf(pod)] },
    reconcile: ({ name }) => {
      seen.push(name);
      return reconcile(name);
    },
  };
  const put = (name: string) =>
    store.put({ storage: "pods", logicalCluster: "", namespace: "default", name }, structuredClone(aPod(name)));
  put("early");
  // The controller under test uses nothing else.
  const world = { now: () => clock.now() } as World;
  const engine = createEngine({
    world,
    store,
    clock,
    storages: new Map([["pods", "pods"]]),
    controllers: [controller],
    onError: (_, __, error) => errors.push(error),
  });
  return { clock, put, seen, errors, engine };
}

describe("the engine", () => {
  test("reconciles existing objects and every change, never synchronously within the change", () => {
    const { clock, put, seen } = setUp(() => undefined);
    expect(seen).toEqual([]);
    clock.advance(0);
    put("late");
    expect(seen).toEqual(["early"]);
    clock.advance(0);
    expect(seen).toEqual(["early", "late"]);
  });
  test("reconciles an object once after several changes", () => {
    const { clock, put, seen } = setUp(() => undefined);
    for (const name of ["a", "b", "a", "a"]) put(name);
    clock.advance(0);
    expect(seen).toEqual(["early", "a", "b"]);
  });
  test("requeues after the requested time, and reconciles only once if a change came first", () => {
    const { clock, put, seen } = setUp(() => (seen.length === 1 ? 1000 : undefined));
    clock.advance(999);
    expect(seen).toEqual(["early"]);
    put("early");
    clock.advance(5000);
    expect(seen).toEqual(["early", "early"]);
  });
  test("retries failures with a growing backoff, and resets it after a success", () => {
    let fails = 3;
    const { clock, seen, errors, engine } = setUp(() => {
      fails -= 1;
      if (fails >= 0) throw new Error("not yet");
      return undefined;
    });
    clock.advance(0);
    expect(seen).toHaveLength(1);
    clock.advance(250);
    expect(seen).toHaveLength(2);
    clock.advance(499);
    expect(seen).toHaveLength(2);
    clock.advance(1 + 1000);
    expect(seen).toHaveLength(4);
    expect(errors).toHaveLength(3);
    clock.advance(3_600_000);
    expect(seen).toHaveLength(4);
    engine.resync();
    clock.advance(0);
    expect(seen).toHaveLength(5);
  });
  test("settles immediately without advancing the clock", () => {
    const { seen, engine } = setUp(() => undefined);
    engine.settle();
    expect(seen).toEqual(["early"]);
  });
  test("reconciles nothing after it was stopped, and leaves no timer", () => {
    const { clock, put, seen, engine } = setUp(() => 10);
    clock.advance(0);
    engine.stop();
    put("late");
    clock.advance(1000);
    expect(seen).toEqual(["early"]);
    expect(clock.pending).toBe(0);
  });
});
