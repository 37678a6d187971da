import { describe, expect, it } from "vitest";
import { canonicalQuantity, compareQuantityTexts } from "../../src/builtin/quantity.ts";

describe("canonicalQuantity", () => {
  const cases: [string | number, string | undefined][] = [
    [0.5, "500m"],
    ["0.5", "500m"],
    ["1000m", "1"],
    [1, "1"],
    ["0", "0"],
    ["1024Mi", "1Gi"],
    ["1.5Gi", "1536Mi"],
    ["1000Mi", "1000Mi"],
    ["1000k", "1M"],
    ["1e3", "1e3"],
    ["100", "100"],
    ["1024", "1024"],
    ["-5m", "-5m"],
    ["+2", "2"],
    [".5", "500m"],
    ["0.0000000001", "1n"],
    ["abc", undefined],
    ["1Gib", undefined],
    ["", undefined],
    ["1e999", undefined],
  ];
  it.each(cases)("formats %s as %s", (given, canonical) => {
    expect(canonicalQuantity(given)).toBe(canonical);
  });
});

describe("compareQuantities", () => {
  it.each([
    ["1", "1000m", 0],
    ["1", "2", -1],
    ["1Gi", "1G", 1],
    ["x", "1", undefined],
  ])("compares %s with %s", (a, b, order) => {
    expect(compareQuantityTexts(a, b)).toBe(order);
  });
});
