import { describe, expect, it } from "vitest";
import { neverAborted } from "../../src/deadline.ts";
import { type Attempt, createConnectionGate } from "../../src/informer/connection-gate.ts";
import { createManualClock } from "../../src/manual-clock.ts";

function aGate() {
  const clock = createManualClock();
  const gate = createConnectionGate({ clock, random: () => 1 });
  const attempts: Attempt[] = [];
  const ask = (signal = neverAborted): void =>
    void gate.attempt(signal).then((attempt) => attempt && attempts.push(attempt));
  const elapse = async (ms: number): Promise<number> => {
    clock.advance(ms);
    for (let turns = 0; turns < 5; turns++) await Promise.resolve();
    return attempts.length;
  };
  const last = (): Attempt => {
    const attempt = attempts.at(-1);
    if (attempt === undefined) throw new Error("there was no attempt yet");
    return attempt;
  };
  return { clock, ask, elapse, last };
}

describe("a connection gate", () => {
  it("allows every attempt while the server answers", async () => {
    const { ask, elapse } = aGate();
    for (let each = 0; each < 3; each++) ask();
    expect(await elapse(0)).toBe(3);
  });

  it("allows one attempt at a time to an unreachable server, with a backoff that grows to 30 seconds", async () => {
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
      // No other attempt begins while this one is under way.
      expect(await elapse(60_000)).toBe(passed);
      last().failed();
    }
  });

  it("allows every attempt again after one was answered, and resets the backoff", async () => {
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

  it("counts one failure when several attempts under way fail together", async () => {
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

  it("allows the next attempt when the current one ends without a result", async () => {
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

  it("lets a waiting caller abort, and leaves no timer behind", async () => {
    const { ask, elapse, last, clock } = aGate();
    ask();
    await elapse(0);
    last().failed();
    const aborted = new AbortController();
    ask(aborted.signal);
    await elapse(0);
    aborted.abort();
    expect(await elapse(0)).toBe(1);
    expect(clock.pending).toBe(0);
  });
});
