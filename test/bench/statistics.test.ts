import { describe, expect, test } from "vitest";
import { geometricMean, median, percentile } from "./statistics.ts";

describe("percentile", () => {
  const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
  test.each([
    { share: 0, value: 1 },
    { share: 0.5, value: 50 },
    { share: 0.99, value: 99 },
    { share: 1, value: 100 },
  ])("percentile $share of 1 to 100 is $value, in any order of the samples", ({ share, value }) => {
    expect(percentile(hundred, share)).toBe(value);
  });

  test("the 99th percentile of a few samples is the highest one", () => {
    expect(percentile([3, 1, 2], 0.99)).toBe(3);
  });

  test("the percentile of no samples is NaN", () => {
    expect(percentile([], 0.5)).toBeNaN();
  });
});

test("an outlier does not change the median", () => {
  expect(median([10, 11, 900])).toBe(11);
});

test("the geometric mean of 2 and 0.5 is 1", () => {
  expect(geometricMean([2, 0.5])).toBeCloseTo(1);
});
