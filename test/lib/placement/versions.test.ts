import { expect, it } from "vitest";
import { compareVersionNumbers, parseVersion } from "../../../lib/placement/versions.ts";

const cases: readonly (readonly [string, string, number])[] = [
  ["1.31", "1.31.0", 0],
  ["v1.31.2", "1.31.2", 0],
  ["1.9", "1.10", -1],
  ["12.4", "12.3.9", 1],
  ["2", "10", -1],
  ["1.31.0-rc.1", "1.31.0", -1],
  ["1.31.2-gke.1000", "1.31.2", 0],
  ["1.31.2-eks-abc", "1.31.3", -1],
  ["1.31.2+k3s1", "1.31.2", 0],
];

it.each(cases)("compares version %s with %s numerically", (one, other, order) => {
  const [a, b] = [parseVersion(one), parseVersion(other)];
  if (a === undefined || b === undefined) throw new Error("both texts must be versions");
  expect(Math.sign(compareVersionNumbers(a, b))).toBe(order);
  expect(Math.sign(compareVersionNumbers(b, a))).toBe(0 - order);
});

it.each(["new", "", "1.x", "v", "1..2"])("does not parse %j as a version", (text) => {
  expect(parseVersion(text)).toBeUndefined();
});
