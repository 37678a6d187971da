import { expect, it } from "vitest";
import { allSettledOrThrow } from "../../../lib/model/concurrency.ts";

it("fails only when nothing is under way any more", async () => {
  const slow = Promise.withResolvers<string>();
  let isOver = false;
  const all = allSettledOrThrow([Promise.reject(new Error("the first one")), slow.promise]).catch((error: unknown) => {
    isOver = true;
    return error;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(isOver).toBe(false);
  slow.resolve("done");
  expect(await all).toMatchObject({ message: "the first one" });
});

it("gives what all of them give, in their order", async () => {
  expect(await allSettledOrThrow([Promise.resolve(1), "two"])).toEqual([1, "two"]);
});
