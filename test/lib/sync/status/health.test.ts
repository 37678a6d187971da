import { describe, expect, it } from "vitest";
import { workloadSync } from "../../../../lib/api/workload-sync.ts";
import { hasObservedGeneration } from "../../../../lib/sync/status/conditions.ts";
import { copyHealth } from "../../../../lib/sync/status/health.ts";
import { healthReasons } from "../../../../lib/sync/status/reasons.ts";
import { type HealthRule, overallHealth } from "../../../../lib/sync/status/report.ts";
import { faultsOf } from "../../api/validate.ts";
import { rows } from "./health.rows.ts";
import { samples } from "./samples.ts";

describe("copyHealth", () => {
  it.each(Object.entries(rows))("%s", (_, { given, health }) => {
    const before = structuredClone(given);
    expect(copyHealth(given)).toEqual(health);
    expect(given).toEqual(before);
  });

  it("has a row for every health reason", () => {
    const seen = new Set(Object.values(rows).map(({ health }) => health.reason));
    expect(Object.keys(healthReasons).filter((reason) => !seen.has(reason as keyof typeof healthReasons))).toEqual([]);
  });

  it("every health is valid in a sync record", () => {
    const clusters = Object.values(rows).map(({ given }, place) => ({ name: `c${place}`, ...copyHealth(given) }));
    const spec = { workload: { apiVersion: "v1", kind: "Any", name: "any" } };
    expect(faultsOf(workloadSync, { spec, status: { clusters } })).toEqual([]);
  });

  it("clips a long message of a cluster", () => {
    const message = "😀".repeat(2000);
    const status = { conditions: [{ type: "Ready", status: "False", message }] };
    const { message: kept = "" } = copyHealth({ apiVersion: "example.com/v1", kind: "Database", status });
    expect(kept.length).toBeLessThanOrEqual(1024);
    expect(kept.isWellFormed()).toBe(true);
  });

  it.each(samples)("a $kind with a status as Kubernetes writes it is ready", (sample) => {
    expect(copyHealth(sample).state).toBe("Ready");
    expect(hasObservedGeneration(sample)).toBe(true);
  });
});

describe("overallHealth", () => {
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
  it.each(table)("overall health by rule %s with %i of %i ready copies is %s", (rule, ready, of, isHealthy) => {
    const healths = Array.from({ length: of }, (_, place) => ({ state: place < ready ? "Ready" : "Applied" }) as const);
    expect(overallHealth(rule, healths)).toEqual({
      isHealthy,
      ready,
      expected: of,
      summary: `${ready}/${of} clusters`,
    });
  });

  it("an expected cluster without a copy counts as not healthy", () => {
    const two = [{ state: "Ready" }, { state: "Ready" }] as const;
    expect(overallHealth("all", two, 3)).toMatchObject({ isHealthy: false, summary: "2/3 clusters" });
    expect(overallHealth("majority", two, 3)).toMatchObject({ isHealthy: true, summary: "2/3 clusters" });
  });
});
