import { describe, expect, it } from "vitest";
import { allWorkloadTypes, isClaimed } from "../../../lib/api/workload-kinds.ts";
import { describeAggregation, describeHealth } from "../../../scripts/docs/status-rules.ts";
import { workloadsPage } from "../../../scripts/docs/workloads-page.ts";

describe("docs/workloads.md", () => {
  it.each(allWorkloadTypes().map((type) => [type.kind, type] as const))(
    "docs/workloads.md describes aggregation and health of %s",
    (kind, type) => {
      expect(describeHealth(type)).toBeDefined();
      expect(describeAggregation(type) === undefined).toBe(isClaimed(type));
      expect(workloadsPage()).toContain(`| ${kind} | \`${type.apiVersion}\` |`);
    },
  );

  it("a custom resource has no description of its own", () => {
    const database = { apiVersion: "example.com/v1", kind: "Database" };
    expect([describeHealth(database), describeAggregation(database)]).toEqual([undefined, undefined]);
  });
});
