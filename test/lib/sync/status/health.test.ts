import { describe, expect, it } from "vitest";
import { workloadSync } from "../../../../lib/api/workload-sync.ts";
import { hasReached } from "../../../../lib/sync/status/conditions.ts";
import { copyHealth } from "../../../../lib/sync/status/health.ts";
import { healthReasons } from "../../../../lib/sync/status/reasons.ts";
import { type HealthRule, healthOfAll } from "../../../../lib/sync/status/report.ts";
import { faultsOf } from "../../api/validate.ts";
import { rows } from "./health.rows.ts";
import { samples } from "./samples.ts";

describe("the health of a copy", () => {
  it.each(Object.entries(rows))("%s", (_, { given, health }) => {
    const before = structuredClone(given);
    expect(copyHealth(given)).toEqual(health);
    expect(given).toEqual(before);
  });

  it("has a row for every reason there is", () => {
    const seen = new Set(Object.values(rows).map(({ health }) => health.reason));
    expect(Object.keys(healthReasons).filter((reason) => !seen.has(reason as keyof typeof healthReasons))).toEqual([]);
  });

  it("fits into a record, whatever it is", () => {
    const clusters = Object.values(rows).map(({ given }, place) => ({ name: `c${place}`, ...copyHealth(given) }));
    const spec = { workload: { apiVersion: "v1", kind: "Any", name: "any" } };
    expect(faultsOf(workloadSync, { spec, status: { clusters } })).toEqual([]);
  });

  it("keeps a cluster's endless words short", () => {
    const message = "😀".repeat(2000);
    const status = { conditions: [{ type: "Ready", status: "False", message }] };
    const { message: kept = "" } = copyHealth({ apiVersion: "example.com/v1", kind: "Database", status });
    expect(kept.length).toBeLessThanOrEqual(1024);
    expect(kept.isWellFormed()).toBe(true);
  });

  it.each(samples)("finds $kind as it should be, as Kubernetes writes it", (sample) => {
    expect(copyHealth(sample).state).toBe("Ready");
    expect(hasReached(sample)).toBe(true);
  });
});

describe("the health of all copies", () => {
  const table: readonly [rule: HealthRule, ready: number, of: number, isHealthy: boolean][] = [
    ["all", 3, 3, true],
    ["all", 2, 3, false],
    ["all", 0, 0, false],
    ["any", 1, 3, true],
    ["any", 0, 3, false],
    ["any", 0, 0, false],
    ["majority", 2, 3, true],
    ["majority", 1, 2, false],
    ["majority", 2, 4, false],
    ["majority", 3, 4, true],
    ["majority", 0, 0, false],
  ];
  it.each(table)("by %s, %i of %i: %s", (rule, ready, of, isHealthy) => {
    const healths = Array.from({ length: of }, (_, place) => ({ state: place < ready ? "Ready" : "Applied" }) as const);
    expect(healthOfAll(rule, healths)).toEqual({ isHealthy, ready, expected: of, words: `${ready}/${of} clusters` });
  });

  it("counts a cluster that is expected and says nothing as not healthy", () => {
    const two = [{ state: "Ready" }, { state: "Ready" }] as const;
    expect(healthOfAll("all", two, 3)).toMatchObject({ isHealthy: false, words: "2/3 clusters" });
    expect(healthOfAll("majority", two, 3)).toMatchObject({ isHealthy: true, words: "2/3 clusters" });
  });
});
