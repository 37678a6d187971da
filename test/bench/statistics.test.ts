import { describe, expect, test } from "vitest";
import { geometricMean, median, percentile } from "./statistics.ts";

describe("percentile", () => {
  const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
  test.each([
    { share: 0, value: 1 },
    { share: 0.5, value: 50 },
    { share: 0.99, value: 99 },
    { share: 1, value: 100 },
  ])("$share of one to a hundred lies at $value, in whatever order they come", ({ share, value }) => {
    expect(percentile(hundred, share)).toBe(value);
  });

  test("of a few samples the highest one is the 99th", () => {
    expect(percentile([3, 1, 2], 0.99)).toBe(3);
  });

  test("of nothing there is none", () => {
    expect(percentile([], 0.5)).toBeNaN();
  });
});

test("one run that was disturbed does not move the median", () => {
  expect(median([10, 11, 900])).toBe(11);
});

test("twice as fast and half as fast make one", () => {
  expect(geometricMean([2, 0.5])).toBeCloseTo(1);
});
