import fc from "fast-check";
import { expect, test } from "vitest";
import { allowedOf, createTenantRateLimiter } from "../../../../lib/relay/outbox/tenant-rate-limiter.ts";

const rate = { perSecond: 10, burst: 4 };

const cases: Record<string, { fullAtMs: number | undefined; allowed: number }> = {
  "a tenant that never sent may send its burst": { fullAtMs: undefined, allowed: 4 },
  "a tenant whose bucket is full again may send its burst": { fullAtMs: 900, allowed: 4 },
  "a tenant may send the tokens in its bucket": { fullAtMs: 1_200, allowed: 2 },
  "a fraction of a token allows no key": { fullAtMs: 1_050, allowed: 3 },
  "an empty bucket allows no key": { fullAtMs: 1_400, allowed: 0 },
  "a clock that was set back empties the bucket": { fullAtMs: 3_600_000, allowed: 0 },
};
test.each(Object.entries(cases))("%s", (_name, { fullAtMs, allowed }) => {
  expect(allowedOf(rate, fullAtMs, 1_000)).toBe(allowed);
});

test("tenants have separate buckets, and a forgotten tenant starts with a full one", () => {
  const limiter = createTenantRateLimiter(rate);
  limiter.spend("a", 4, 1_000);
  expect([limiter.allowed("a", 1_000), limiter.allowed("b", 1_000), limiter.allowed("a", 1_100)]).toEqual([0, 4, 1]);
  limiter.forget("a");
  expect(limiter.allowed("a", 1_000)).toBe(4);
});

test("after a clock was set back, a tenant waits for one token, not for an hour", () => {
  const limiter = createTenantRateLimiter(rate);
  limiter.spend("a", 4, 3_600_000);
  limiter.spend("a", 0, 1_000);
  expect(limiter.allowed("a", 1_100)).toBe(1);
});

test("a tenant never sends more than its burst and its rate, and a tenant that waits gets all of that", () => {
  const property = fc.property(
    fc.integer({ min: 1, max: 1_000 }),
    fc.integer({ min: 1, max: 100 }),
    fc.array(fc.integer({ min: 0, max: 2_000 }), { minLength: 1, maxLength: 50 }),
    (perSecond, burst, waits) => {
      const limiter = createTenantRateLimiter({ perSecond, burst });
      let [nowMs, sent, lost] = [0, 0, 0];
      for (const wait of waits) {
        nowMs += wait;
        // Tokens that do not fit into the bucket are lost.
        lost += Math.max(0, (wait * perSecond) / 1000 - burst);
        const allowed = limiter.allowed("a", nowMs);
        limiter.spend("a", allowed, nowMs);
        sent += allowed;
      }
      const given = burst + (nowMs * perSecond) / 1000;
      expect(sent).toBeLessThanOrEqual(given + 1e-3);
      expect(sent).toBeGreaterThan(given - lost - burst - waits.length);
    },
  );
  fc.assert(property);
});
