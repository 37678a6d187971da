import { describe, expect, it } from "vitest";
import { createRemembered, type Read } from "../../../lib/credentials/expiring-cache.ts";
import { createManualClock } from "../../support/manual-clock.ts";

const never = new AbortController().signal;

/** A memory, and a source that counts how often it was asked and can be down or slow. */
function aMemory({ random = 1, capacity = 10, staleWhileDown = false } = {}) {
  const clock = createManualClock();
  const source = { asked: 0, isDown: false, wait: Promise.resolve() };
  const memory = createRemembered<number>({ clock, random: () => random, capacity, staleWhileDown });
  const read = async (): Promise<Read<number>> => {
    source.asked += 1;
    const answer = source.asked;
    await source.wait;
    if (source.isDown) throw new Error("down");
    return { value: answer, rememberMs: 1_000 };
  };
  return { clock, source, memory, get: (id = "a", signal = never) => memory.get(id, read, signal) };
}

describe("what is remembered", () => {
  it("is read again when its time has passed, and not before", async () => {
    const { clock, get } = aMemory();
    const answers: number[] = [];
    for (const waitMs of [0, 999, 1, 999, 1]) {
      clock.advance(waitMs);
      answers.push(await get());
    }
    expect(answers).toEqual([1, 1, 2, 2, 3]);
  });
  it("is read again up to a fifth earlier, so that many are not read at once", async () => {
    const { clock, get } = aMemory({ random: 0 });
    await get();
    clock.advance(799);
    expect(await get()).toBe(1);
    clock.advance(1);
    expect(await get()).toBe(2);
  });
  it("is read once for all who ask at the same time", async () => {
    const { get } = aMemory();
    expect(await Promise.all([get(), get(), get("b")])).toEqual([1, 1, 2]);
  });
  it("is read anew once it was forgotten, even while it is being read", async () => {
    const { get, memory } = aMemory();
    const before = get();
    memory.forget("a");
    const after = get();
    expect(await Promise.all([before, after])).toEqual([1, 2]);
    expect(await get()).toBe(2);
    memory.forget("a");
    expect(await get()).toBe(3);
  });
  it("makes room by what was asked for longest ago", async () => {
    const { get } = aMemory({ capacity: 2 });
    for (const id of ["a", "b", "a", "c"]) await get(id);
    expect(await get("a")).toBe(1);
    expect(await get("b")).toBe(4);
  });
  it("is not kept when reading failed: the next one asks again", async () => {
    const { get, source } = aMemory();
    source.isDown = true;
    await expect(get()).rejects.toThrow("down");
    source.isDown = false;
    expect(await get()).toBe(2);
  });
  it("is still good while its source is down, where that is wished, and asked for in peace", async () => {
    const { get, source, clock, memory } = aMemory({ staleWhileDown: true });
    await get();
    source.isDown = true;
    clock.advance(1_000);
    expect([await get(), await get(), source.asked]).toEqual([1, 1, 2]);
    clock.advance(10_000);
    expect([await get(), source.asked]).toEqual([1, 3]);
    memory.forget("a");
    await expect(get()).rejects.toThrow("down");
  });
  it("is not waited for by those who have given up; the others get it", async () => {
    const { get, source } = aMemory();
    const slow = Promise.withResolvers<void>();
    source.wait = slow.promise;
    const impatient = new AbortController();
    const [gone, patient] = [get("a", impatient.signal), get("a")];
    impatient.abort(new Error("no time"));
    await expect(gone).rejects.toThrow("no time");
    slow.resolve();
    expect(await patient).toBe(1);
  });
});
