import { describe, expect, it } from "vitest";
import { ageOf, formatAge, formatDeadline, formatFields, formatTable, textWidth } from "../../../lib/cli/output.ts";

import { closestMatch } from "../../../lib/model/text.ts";

const seconds = 1000;
const minutes = 60 * seconds;
const hours = 60 * minutes;
const days = 24 * hours;

describe("ages", () => {
  it.each<[number, string]>([
    [-5 * seconds, "0s"],
    [999, "0s"],
    [119 * seconds, "119s"],
    [2 * minutes, "2m"],
    [5 * minutes + 7 * seconds, "5m7s"],
    [10 * minutes + 59 * seconds, "10m"],
    [179 * minutes, "179m"],
    [3 * hours, "3h"],
    [7 * hours + 59 * minutes, "7h59m"],
    [47 * hours, "47h"],
    [2 * days, "2d"],
    [7 * days + 23 * hours, "7d23h"],
    [100 * days, "100d"],
    [800 * days, "2y70d"],
  ])("formatAge formats %i ms as kubectl does: %s", (ms, text) => {
    expect(formatAge(ms)).toBe(text);
  });

  it("ageOf returns undefined for a missing or invalid timestamp", () => {
    expect([ageOf(undefined, 0), ageOf("yesterday", 0)]).toEqual([undefined, undefined]);
  });
});

describe("deadlines", () => {
  const nowMs = Date.parse("2026-01-01T17:03:05Z");
  it.each<[string, string]>([
    ["2026-01-01T17:06:17Z", "at 17:06:17Z, in 3m12s"],
    ["2026-01-01T17:03:35Z", "at 17:03:35Z, in 30s"],
    ["2026-01-01T17:23:15Z", "at 17:23:15Z, in 20m10s"],
    ["2026-01-01T21:13:05Z", "at 21:13:05Z, in 4h10m"],
    ["2026-01-04T17:03:05Z", "at 2026-01-04T17:03:05Z, in 3d"],
    ["2026-01-01T17:03:05Z", "at 17:03:05Z, now due"],
    ["2026-01-01T17:03:00Z", "at 17:03:00Z, now due"],
    ["soon", "at soon"],
  ])("formatDeadline says when %s is due, and how long that is from now: %s", (timestamp, text) => {
    expect(formatDeadline(timestamp, nowMs)).toBe(text);
  });
});

describe("tables", () => {
  it("formatTable aligns columns with wide characters", () => {
    expect(
      formatTable(
        ["A", "B"],
        [
          ["名前", "x"],
          ["", "y"],
        ],
      ),
    ).toBe("A        B\n名前     x\n<none>   y\n");
  });

  it("formatTable prints no trailing spaces", () => {
    expect(formatTable(["A", "LONG"], [["x", "y"]])).not.toMatch(/ \n/);
  });

  it("formatFields omits fields without a value and indents further lines of a value", () => {
    expect(
      formatFields([
        ["A", "1\n2"],
        ["Long", ""],
        ["None", undefined],
      ]),
    ).toBe("A:      1\n        2\nLong:   <none>\n");
  });

  it.each<[string, number]>([
    ["abc", 3],
    ["名", 2],
    ["é", 1],
    ["🚀", 2],
  ])("textWidth of %s is %i columns", (text, width) => {
    expect(textWidth(text)).toBe(width);
  });
});

it.each<[string, string | undefined]>([
  ["--helth-port", "--health-port"],
  ["--workspac", "--workspace"],
  ["--nothing-like-it", undefined],
])("closestMatch of %s is %s", (option, match) => {
  expect(closestMatch(option, ["--health-port", "--metrics-port", "--workspace"])).toBe(match);
});
