import { expect, it } from "vitest";
import { allSettledOrThrow } from "../../../lib/model/concurrency.ts";

it("allSettledOrThrow throws only after all promises are settled", async () => {
  const slow = Promise.withResolvers<string>();
  let isSettled = false;
  const all = allSettledOrThrow([Promise.reject(new Error("the first one")), slow.promise]).catch((error: unknown) => {
    isSettled = true;
    return error;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(isSettled).toBe(false);
  slow.resolve("done");
  expect(await all).toMatchObject({ message: "the first one" });
});

it("allSettledOrThrow returns all results in their order", async () => {
  expect(await allSettledOrThrow([Promise.resolve(1), "two"])).toEqual([1, "two"]);
});
