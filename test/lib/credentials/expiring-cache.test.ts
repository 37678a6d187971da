import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { describe, expect, it } from "vitest";
import { type CacheRead, createExpiringCache } from "../../../lib/credentials/expiring-cache.ts";

const never = new AbortController().signal;

/** Creates a cache, and a source that counts its reads and can fail or be slow. */
function createTestCache({ random = 1, capacity = 10, staleWhileDown = false } = {}) {
  const clock = createManualClock();
  const source = { reads: 0, isDown: false, wait: Promise.resolve() };
  const cache = createExpiringCache<number>({
    clock,
    random: () => random,
    capacity,
    serveStaleOnError: staleWhileDown,
  });
  const read = async (): Promise<CacheRead<number>> => {
    source.reads += 1;
    const value = source.reads;
    await source.wait;
    if (source.isDown) throw new Error("down");
    return { value, ttlMs: 1_000 };
  };
  return { clock, source, cache, get: (id = "a", signal = never) => cache.get(id, read, signal) };
}

describe("createExpiringCache", () => {
  it("an entry is read again after its TTL", async () => {
    const { clock, get } = createTestCache();
    const answers: number[] = [];
    for (const waitMs of [0, 999, 1, 999, 1]) {
      clock.advance(waitMs);
      answers.push(await get());
    }
    expect(answers).toEqual([1, 1, 2, 2, 3]);
  });
  it("an entry is read again after its TTL although the clock was set back meanwhile", async () => {
    const { clock, get } = createTestCache();
    await get();
    clock.setBack(7_200_000);
    clock.advance(1_000);
    expect(await get()).toBe(2);
  });
  it("the TTL is shortened by up to a fifth", async () => {
    const { clock, get } = createTestCache({ random: 0 });
    await get();
    clock.advance(799);
    expect(await get()).toBe(1);
    clock.advance(1);
    expect(await get()).toBe(2);
  });
  it("concurrent calls share one read", async () => {
    const { get } = createTestCache();
    expect(await Promise.all([get(), get(), get("b")])).toEqual([1, 1, 2]);
  });
  it("an invalidated entry is read again, even while a read is in flight", async () => {
    const { get, cache } = createTestCache();
    const before = get();
    cache.invalidate("a");
    const after = get();
    expect(await Promise.all([before, after])).toEqual([1, 2]);
    expect(await get()).toBe(2);
    cache.invalidate("a");
    expect(await get()).toBe(3);
  });
  it("the least recently used entry is evicted", async () => {
    const { get } = createTestCache({ capacity: 2 });
    for (const id of ["a", "b", "a", "c"]) await get(id);
    expect(await get("a")).toBe(1);
    expect(await get("b")).toBe(4);
  });
  it("a failed read is not cached", async () => {
    const { get, source } = createTestCache();
    source.isDown = true;
    await expect(get()).rejects.toThrow("down");
    source.isDown = false;
    expect(await get()).toBe(2);
  });
  it("with serveStaleOnError, an expired entry is served while reads fail, and reads are retried with a delay", async () => {
    const { get, source, clock, cache } = createTestCache({ staleWhileDown: true });
    await get();
    source.isDown = true;
    clock.advance(1_000);
    expect([await get(), await get(), source.reads]).toEqual([1, 1, 2]);
    clock.advance(10_000);
    expect([await get(), source.reads]).toEqual([1, 3]);
    cache.invalidate("a");
    await expect(get()).rejects.toThrow("down");
  });
  it("an aborted call does not abort the read of the others", async () => {
    const { get, source } = createTestCache();
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
