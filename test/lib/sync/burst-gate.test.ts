import { beforeEach, describe, expect, it } from "vitest";
import { workloadKey } from "../../../lib/model/key.ts";
import { type BurstGate, createBurstGate } from "../../../lib/sync/burst-gate.ts";
import { createManualClock, type ManualClock } from "../../support/manual-clock.ts";
import { deployments } from "./paper-world.ts";

let clock: ManualClock;
let isBusy: boolean;
let rush: BurstGate;
beforeEach(() => {
  clock = createManualClock(0);
  isBusy = true;
  rush = createBurstGate({ clock, isBusy: () => isBusy });
});

const keyOf = (name: string) => workloadKey("tenant", { type: deployments, namespace: "shop", name });
const look = (name: string, isMadeSafe: boolean): number | undefined => rush.waitSeconds(keyOf(name), { isMadeSafe });
const rest = (name: string): number | undefined => rush.restSeconds(keyOf(name));

describe("copies of a workload", () => {
  it("are written at once where little is to be done", () => {
    isBusy = false;
    expect(look("web", true)).toBeUndefined();
  });

  it("wait while others are made safe, and are written when none is any more", () => {
    expect(look("one", true)).toBe(0.15);
    clock.advance(100);
    expect(look("two", true)).toBe(0.15);
    clock.advance(50);
    expect(look("one", false)).toBeCloseTo(0.1);
    clock.advance(100);
    expect([look("one", false), look("two", false)]).toEqual([undefined, undefined]);
  });

  it("do not wait for what has made them busy once they are written", () => {
    look("one", true);
    clock.advance(150);
    look("one", false);
    look("two", true);
    expect(look("one", false)).toBeUndefined();
  });

  it("never wait that were there before the rush", () => {
    look("new", true);
    expect(look("old", false)).toBeUndefined();
  });

  it("wait three seconds at most, however long it goes on", () => {
    look("first", true);
    for (let ms = 0; ms < 2_900; ms += 100) {
      clock.advance(100);
      look(`at-${ms}`, true);
    }
    expect(look("first", false)).toBeCloseTo(0.1);
    clock.advance(100);
    expect(look("first", false)).toBeUndefined();
  });
});

describe("a workload", () => {
  /** Two of a rush, of which one has been written. */
  const writeOne = (): void => {
    look("one", true);
    look("two", true);
    clock.advance(150);
    look("one", false);
  };

  it("that is safe is not looked at while others are made safe", () => {
    look("one", true);
    clock.advance(100);
    look("two", true);
    expect(rest("one")).toBe(0.15);
    clock.advance(150);
    expect(rest("one")).toBeUndefined();
  });

  it("that was written in a rush is not looked at while others wait", () => {
    writeOne();
    expect(rest("one")).toBe(0.5);
    look("two", false);
    expect(rest("one")).toBeUndefined();
  });

  it("is looked at all the same when others have waited for very long", () => {
    writeOne();
    clock.advance(3_000);
    expect(rest("one")).toBeUndefined();
  });

  it("that has gone is waited for by nobody", () => {
    writeOne();
    rush.forget(keyOf("two"));
    expect(rest("one")).toBeUndefined();
  });

  it("that was no part of the rush is looked at", () => {
    writeOne();
    expect([rest("two"), rest("other")]).toEqual([undefined, undefined]);
  });
});
