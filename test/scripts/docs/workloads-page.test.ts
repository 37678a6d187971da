import { describe, expect, it } from "vitest";
import { isClaimed, workloadKindsWith } from "../../../lib/api/workload-kinds.ts";
import { healthWords, statusWords } from "../../../scripts/docs/status-rules.ts";
import { workloadsPage } from "../../../scripts/docs/workloads-page.ts";

describe("the published list of types", () => {
  it.each(workloadKindsWith().map((type) => [type.kind, type] as const))("has %s with its rules", (kind, type) => {
    expect(healthWords(type)).toBeDefined();
    expect(statusWords(type) === undefined).toBe(isClaimed(type));
    expect(workloadsPage()).toContain(`| ${kind} | \`${type.apiVersion}\` |`);
  });

  it("says of a type that is none of ours that it has no rule of its own", () => {
    const database = { apiVersion: "example.com/v1", kind: "Database" };
    expect([healthWords(database), statusWords(database)]).toEqual([undefined, undefined]);
  });
});
