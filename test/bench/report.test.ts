import { expect, test } from "vitest";
import { formatReport } from "./report.ts";

test("a report aligns numbers to the right and words to the left, and shows missing values as a dash", () => {
  const text = formatReport({
    name: "calls",
    tables: [
      {
        title: "by client",
        columns: [
          { key: "client", label: "client" },
          { key: "rate", label: "req/s" },
          { key: "ratio", label: "ratio", digits: 1 },
        ],
        rows: [
          { client: "ours", rate: 12_345.6, ratio: 5.04 },
          { client: "the other", rate: 7, ratio: undefined },
        ],
      },
    ],
    goals: [{ what: "ratio", goal: "≥ 5 ×", got: "5.0 ×", met: true }],
    notes: ["on a quiet machine"],
  });
  expect(text.split("\n")).toEqual([
    "calls: by client",
    "  client      req/s  ratio",
    "  ours       12,346    5.0",
    "  the other       7      -",
    "",
    "  on a quiet machine",
    "",
    "  goal  of     aim    got",
    "  met   ratio  ≥ 5 ×  5.0 ×",
  ]);
});

test("a report marks a missed goal", () => {
  const goals = [{ what: "memory", goal: "< 120 MB", got: "130 MB", met: false }];
  expect(formatReport({ name: "start", tables: [], goals, notes: [] })).toContain("missed  memory");
});
