import { describe, expect, test } from "vitest";
import { createManualClock } from "../../../../test/support/manual-clock.ts";
import { createEngine } from "../../src/kubernetes/engine.ts";
import type { Controller, World } from "../../src/kubernetes/world.ts";
import { keyOf } from "../../src/kubernetes/world.ts";
import { createMemoryStore } from "../../src/memory-store.ts";
import { aPod } from "./builders.ts";

function setUp(reconcile: (name: string) => number | undefined) {
  const clock = createManualClock();
  const store = createMemoryStore();
  const seen: string[] = [];
  const errors: unknown[] = [];
  const controller: Controller = {
    name: "test",
    watches: { pods: (pod) => [keyOf(pod)] },
    reconcile: ({ name }) => {
      seen.push(name);
      return reconcile(name);
    },
  };
  const put = (name: string) =>
    store.put({ storage: "pods", cluster: "", namespace: "default", name }, structuredClone(aPod(name)));
  put("early");
  // The controller under test asks nothing of its world.
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
  test("looks at what was there before it, and at every change, never inside the change itself", () => {
    const { clock, put, seen } = setUp(() => undefined);
    expect(seen).toEqual([]);
    clock.advance(0);
    put("late");
    expect(seen).toEqual(["early"]);
    clock.advance(0);
    expect(seen).toEqual(["early", "late"]);
  });
  test("looks once at what has changed often", () => {
    const { clock, put, seen } = setUp(() => undefined);
    for (const name of ["a", "b", "a", "a"]) put(name);
    clock.advance(0);
    expect(seen).toEqual(["early", "a", "b"]);
  });
  test("looks again when it was asked to, and only once where a change came first", () => {
    const { clock, put, seen } = setUp(() => (seen.length === 1 ? 1000 : undefined));
    clock.advance(999);
    expect(seen).toEqual(["early"]);
    put("early");
    clock.advance(5000);
    expect(seen).toEqual(["early", "early"]);
  });
  test("tries again with growing patience what has failed, and forgets that when it works", () => {
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
  test("settles at once where nobody lets time pass", () => {
    const { seen, engine } = setUp(() => undefined);
    engine.settle();
    expect(seen).toEqual(["early"]);
  });
  test("does nothing more when it is stopped, and leaves no timer", () => {
    const { clock, put, seen, engine } = setUp(() => 10);
    clock.advance(0);
    engine.stop();
    put("late");
    clock.advance(1000);
    expect(seen).toEqual(["early"]);
    expect(clock.pending).toBe(0);
  });
});
