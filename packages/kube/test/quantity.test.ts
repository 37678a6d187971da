import { describe, expect, test } from "vitest";
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  isQuantity,
  multiplyQuantity,
  parseQuantity,
  quantityToNumber,
  subtractQuantities,
} from "../src/quantity.ts";

describe("formatQuantity writes the canonical form", () => {
  test.each([
    ["0", "0"],
    ["100m", "100m"],
    ["0.1", "100m"],
    ["1000m", "1"],
    ["1500m", "1500m"],
    [4, "4"],
    ["1.5", "1500m"],
    [".5", "500m"],
    ["5.", "5"],
    ["1024", "1024"],
    ["1Ki", "1Ki"],
    ["1024Mi", "1Gi"],
    ["1.5Gi", "1536Mi"],
    ["0.5Ki", "512"],
    ["1000k", "1M"],
    ["12E", "12E"],
    ["1e3", "1e3"],
    ["1E3", "1e3"],
    ["5e8", "500e6"],
    ["-100m", "-100m"],
    ["+2", "2"],
    ["1u", "1u"],
    ["0.1n", "1n"],
    ["128974848", "128974848"],
    ["129e6", "129e6"],
    ["123Mi", "123Mi"],
  ])("%s is %s", (text, expected) => {
    expect(formatQuantity(parseQuantity(text))).toBe(expected);
  });
});

describe("parseQuantity rejects an invalid quantity", () => {
  test.each(["", "m", "1.2.3", "1 Gi", "1Gib", "1mm", "abc", "--1", "1e"])("%j", (text) => {
    expect(() => parseQuantity(text)).toThrow(/quantit/);
    expect(isQuantity(text)).toBe(false);
  });
  test("more than 40 characters", () => {
    expect(isQuantity(`0.${"1".repeat(38)}`)).toBe(true);
    expect(() => parseQuantity("9".repeat(41))).toThrow("quantities must be no longer than 40 characters");
    expect(isQuantity("9".repeat(6_000_000))).toBe(false);
  });
  test("an amount above 1e30", () => {
    expect(isQuantity("1e30")).toBe(true);
    expect(() => parseQuantity("1e31")).toThrow("quantities must be no larger than 1e30");
    expect(() => parseQuantity("-1e99")).toThrow("quantities must be no larger than 1e30");
  });
  test("a value of another type is not a quantity", () => {
    expect(isQuantity({ cpu: 1 })).toBe(false);
    expect(isQuantity("1Gi")).toBe(true);
  });
});

describe("compareQuantities compares amounts independent of the format", () => {
  test.each([
    ["1", "1000m", 0],
    ["1Gi", "1G", 1],
    ["100m", "0.2", -1],
    ["-1", "0", -1],
  ] as const)("%s against %s is %i", (a, b, expected) => {
    expect(compareQuantities(parseQuantity(a), parseQuantity(b))).toBe(expected);
  });
});

describe("sums have the format of the first quantity", () => {
  test.each([
    [["100m", "1"], "1100m"],
    [["0", "1Gi", "512Mi"], "1536Mi"],
    [["1Gi", "1G"], "2073741824"],
    [[], "0"],
  ] as const)("%j is %s", (parts, expected) => {
    expect(formatQuantity(addQuantities(...parts.map((part) => parseQuantity(part))))).toBe(expected);
  });
  test("a difference of quantities may be negative", () => {
    expect(formatQuantity(subtractQuantities(parseQuantity("1"), parseQuantity("1500m")))).toBe("-500m");
  });
  test("a multiple of a quantity is exact", () => {
    expect(formatQuantity(multiplyQuantity(parseQuantity("100m"), 30))).toBe("3");
  });
  test("a quantity as a number keeps its fraction", () => {
    expect(quantityToNumber(parseQuantity("1500m"))).toBe(1.5);
  });
});
