import { expect, test } from "vitest";
import { heldExcess } from "../../src/informer/held-limit.ts";

const limits = { heldObjects: 10, heldBytes: 2 * 1024 * 1024 };

test.each([
  { held: { objects: 10, bytes: 2 * 1024 * 1024 }, excess: undefined },
  { held: { objects: 11, bytes: 0 }, excess: "the cluster has more than 10 objects to watch" },
  { held: { objects: 1, bytes: 2 * 1024 * 1024 + 1 }, excess: "the objects to watch take more than 2 MB" },
])("informers that keep $held.objects objects and $held.bytes bytes exceed: $excess", ({ held, excess }) => {
  expect(heldExcess(held, limits)).toBe(excess);
});
