import { expect, test } from "vitest";
import { cacheExcess } from "../../src/informer/cache-limit.ts";

const limits = { cachedObjects: 10, cachedBytes: 2 * 1024 * 1024 };

test.each([
  { size: { objects: 10, bytes: 2 * 1024 * 1024 }, excess: undefined },
  { size: { objects: 11, bytes: 0 }, excess: "the cluster has more than 10 objects to watch" },
  { size: { objects: 1, bytes: 2 * 1024 * 1024 + 1 }, excess: "the objects to watch take more than 2 MB" },
])("informers that keep $size.objects objects and $size.bytes bytes exceed: $excess", ({ size, excess }) => {
  expect(cacheExcess(size, limits)).toBe(excess);
});
