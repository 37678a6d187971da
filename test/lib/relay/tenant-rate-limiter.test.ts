import fc from "fast-check";
import { expect, test } from "vitest";
import { allowedOf, createTenantLimit } from "../../../lib/relay/tenant-rate-limiter.ts";

const rate = { perSecond: 10, burst: 4 };

const cases: Record<string, { paidUntilMs: number | undefined; allowed: number }> = {
  "a tenant that never sent has its burst": { paidUntilMs: undefined, allowed: 4 },
  "so has one that has paid": { paidUntilMs: 900, allowed: 4 },
  "what is not paid for yet is missing": { paidUntilMs: 1_200, allowed: 2 },
  "a key that is paid for in part may not go": { paidUntilMs: 1_050, allowed: 3 },
  "an empty bucket gives nothing": { paidUntilMs: 1_400, allowed: 0 },
  "a clock that was set back leaves an empty bucket and no debt": { paidUntilMs: 3_600_000, allowed: 0 },
};
test.each(Object.entries(cases))("%s", (_name, { paidUntilMs, allowed }) => {
  expect(allowedOf(rate, paidUntilMs, 1_000)).toBe(allowed);
});

test("a tenant that spends does not touch another's share, and one that is forgotten begins anew", () => {
  const limit = createTenantLimit(rate);
  limit.spend("a", 4, 1_000);
  expect([limit.allowed("a", 1_000), limit.allowed("b", 1_000), limit.allowed("a", 1_100)]).toEqual([0, 4, 1]);
  limit.forget("a");
  expect(limit.allowed("a", 1_000)).toBe(4);
});

test("after a clock was set back a tenant waits for one key's time, not for the hour", () => {
  const limit = createTenantLimit(rate);
  limit.spend("a", 4, 3_600_000);
  limit.spend("a", 0, 1_000);
  expect(limit.allowed("a", 1_100)).toBe(1);
});

test("in any time nobody sends more than a burst and what the rate gives, and whoever waits gets all of that", () => {
  const property = fc.property(
    fc.integer({ min: 1, max: 1_000 }),
    fc.integer({ min: 1, max: 100 }),
    fc.array(fc.integer({ min: 0, max: 2_000 }), { minLength: 1, maxLength: 50 }),
    (perSecond, burst, waits) => {
      const limit = createTenantLimit({ perSecond, burst });
      let [nowMs, sent, lost] = [0, 0, 0];
      for (const wait of waits) {
        nowMs += wait;
        // What does not fit into the bucket while nobody asks is lost.
        lost += Math.max(0, (wait * perSecond) / 1000 - burst);
        const allowed = limit.allowed("a", nowMs);
        limit.spend("a", allowed, nowMs);
        sent += allowed;
      }
      const given = burst + (nowMs * perSecond) / 1000;
      expect(sent).toBeLessThanOrEqual(given + 1e-3);
      expect(sent).toBeGreaterThan(given - lost - burst - waits.length);
    },
  );
  fc.assert(property);
});
