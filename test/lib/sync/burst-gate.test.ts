import { createManualClock, type ManualClock } from "@tmc/kube/manual-clock.ts";
import { beforeEach, describe, expect, it } from "vitest";
import { workloadKey } from "../../../lib/model/key.ts";
import { type BurstGate, createBurstGate } from "../../../lib/sync/burst-gate.ts";
import { deployments } from "../../support/in-memory-world.ts";

let clock: ManualClock;
let isBusy: boolean;
let gate: BurstGate;
beforeEach(() => {
  clock = createManualClock(0);
  isBusy = true;
  gate = createBurstGate({ clock, isBusy: () => isBusy });
});

const keyOf = (name: string) => workloadKey("tenant", { type: deployments, namespace: "shop", name });
const writeDelay = (name: string, isNewlyProtected: boolean): number | undefined =>
  gate.writeDelaySeconds(keyOf(name), { isNewlyProtected });
const reconcileDelay = (name: string): number | undefined => gate.reconcileDelaySeconds(keyOf(name));

describe("BurstGate.writeDelaySeconds", () => {
  it("writes copies at once when the queue is not busy", () => {
    isBusy = false;
    expect(writeDelay("web", true)).toBeUndefined();
  });

  it("delays the copies of a new workload while others are being protected, and releases them when none is", () => {
    expect(writeDelay("one", true)).toBe(0.15);
    clock.advance(100);
    expect(writeDelay("two", true)).toBe(0.15);
    clock.advance(50);
    expect(writeDelay("one", false)).toBeCloseTo(0.1);
    clock.advance(100);
    expect([writeDelay("one", false), writeDelay("two", false)]).toEqual([undefined, undefined]);
  });

  it("does not delay copies again once they were written in the burst", () => {
    writeDelay("one", true);
    clock.advance(150);
    writeDelay("one", false);
    writeDelay("two", true);
    expect(writeDelay("one", false)).toBeUndefined();
  });

  it("does not delay the copies of a workload that existed before the burst", () => {
    writeDelay("new", true);
    expect(writeDelay("old", false)).toBeUndefined();
  });

  it("delays copies for three seconds at most, however long the burst lasts", () => {
    writeDelay("first", true);
    for (let ms = 0; ms < 2_900; ms += 100) {
      clock.advance(100);
      writeDelay(`at-${ms}`, true);
    }
    expect(writeDelay("first", false)).toBeCloseTo(0.1);
    clock.advance(100);
    expect(writeDelay("first", false)).toBeUndefined();
  });
});

describe("BurstGate.reconcileDelaySeconds", () => {
  /** Two workloads of a burst, one of which was written. */
  const writeOne = (): void => {
    writeDelay("one", true);
    writeDelay("two", true);
    clock.advance(150);
    writeDelay("one", false);
  };

  it("defers the reconcile of a protected workload while others are being protected", () => {
    writeDelay("one", true);
    clock.advance(100);
    writeDelay("two", true);
    expect(reconcileDelay("one")).toBe(0.15);
    clock.advance(150);
    expect(reconcileDelay("one")).toBeUndefined();
  });

  it("defers the reconcile of a workload that was written in the burst while others wait", () => {
    writeOne();
    expect(reconcileDelay("one")).toBe(0.5);
    writeDelay("two", false);
    expect(reconcileDelay("one")).toBeUndefined();
  });

  it("does not defer a reconcile any more after others have waited for three seconds", () => {
    writeOne();
    clock.advance(3_000);
    expect(reconcileDelay("one")).toBeUndefined();
  });

  it("does not wait for a workload that was deleted", () => {
    writeOne();
    gate.forget(keyOf("two"));
    expect(reconcileDelay("one")).toBeUndefined();
  });

  it("does not defer the reconcile of a workload outside the burst", () => {
    writeOne();
    expect([reconcileDelay("two"), reconcileDelay("other")]).toEqual([undefined, undefined]);
  });
});
