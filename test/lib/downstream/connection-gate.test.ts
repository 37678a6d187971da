import { describe, expect, it } from "vitest";
import { createClusterGate, type Passage } from "../../../lib/downstream/connection-gate.ts";
import { createManualClock } from "../../support/manual-clock.ts";

const forEver = new AbortController().signal;

function aGate() {
  const clock = createManualClock();
  const gate = createClusterGate({ clock, random: () => 1 });
  const passed: Passage[] = [];
  const ask = (signal = forEver): void => void gate.pass(signal).then((passage) => passage && passed.push(passage));
  const elapse = async (ms: number): Promise<number> => {
    clock.advance(ms);
    for (let turns = 0; turns < 5; turns++) await Promise.resolve();
    return passed.length;
  };
  const last = (): Passage => {
    const passage = passed.at(-1);
    if (passage === undefined) throw new Error("nobody has passed");
    return passage;
  };
  return { clock, ask, elapse, last };
}

describe("the gate of a cluster", () => {
  it("lets everyone through while it is well", async () => {
    const { ask, elapse } = aGate();
    for (let each = 0; each < 3; each++) ask();
    expect(await elapse(0)).toBe(3);
  });

  it("lets one try for all while it is dead, after pauses that grow to half a minute", async () => {
    const { ask, elapse, last } = aGate();
    ask();
    await elapse(0);
    last().failed();
    for (let each = 0; each < 13; each++) ask();
    let passed = 1;
    for (const pauseMs of [3_000, 9_000, 27_000, 30_000, 30_000]) {
      expect(await elapse(pauseMs - 1)).toBe(passed);
      passed += 1;
      expect(await elapse(1)).toBe(passed);
      // Nobody follows while it tries.
      expect(await elapse(60_000)).toBe(passed);
      last().failed();
    }
  });

  it("lets everyone through when the one that tries is answered, and forgets how long it was dead", async () => {
    const { ask, elapse, last } = aGate();
    ask();
    await elapse(0);
    last().failed();
    for (let each = 0; each < 3; each++) ask();
    expect(await elapse(3_000)).toBe(2);
    last().answered();
    expect(await elapse(0)).toBe(4);
    last().failed();
    ask();
    expect(await elapse(3_000)).toBe(5);
  });

  it("takes one failure for one, however many were on their way", async () => {
    const { ask, elapse, last } = aGate();
    ask();
    await elapse(0);
    const first = last();
    ask();
    await elapse(0);
    first.failed();
    last().failed();
    ask();
    expect(await elapse(3_000)).toBe(3);
  });

  it("lets the next one try when the one that tried gave up", async () => {
    const { ask, elapse, last } = aGate();
    ask();
    await elapse(0);
    last().failed();
    ask();
    ask();
    expect(await elapse(3_000)).toBe(2);
    last().end();
    expect(await elapse(0)).toBe(3);
  });

  it("holds nobody who gives up, and leaves no timer behind", async () => {
    const { ask, elapse, last, clock } = aGate();
    ask();
    await elapse(0);
    last().failed();
    const gaveUp = new AbortController();
    ask(gaveUp.signal);
    await elapse(0);
    gaveUp.abort();
    expect(await elapse(0)).toBe(1);
    expect(clock.pending).toBe(0);
  });
});
