import { describe, expect, it } from "vitest";
import type { WorkloadPlacement } from "../../../lib/api/workload-placement.ts";
import { LoadBook } from "../../../lib/placement/cluster-load.ts";
import { aPlacement } from "./builders.ts";

function placed(name: string, resourceVersion: string, ...selected: readonly string[]): WorkloadPlacement {
  return { ...aPlacement({}, { selected }), metadata: { name, resourceVersion } };
}
const loadWithout = (book: LoadBook, name = "nobody") => Object.fromEntries(book.without(name));

describe("the load", () => {
  it("counts every placement for each of its clusters, but not the one that asks", () => {
    const book = new LoadBook();
    book.update([placed("p", "1", "a", "b"), placed("q", "1", "a")]);
    expect(loadWithout(book)).toEqual({ a: 2, b: 1 });
    expect(loadWithout(book, "p")).toEqual({ a: 1, b: 0 });
    expect(loadWithout(book)).toEqual({ a: 2, b: 1 });
  });

  it("follows a placement that changes or goes", () => {
    const book = new LoadBook();
    book.update([placed("p", "1", "a"), placed("q", "1", "a")]);
    book.update([placed("p", "2", "b"), placed("q", "1", "a")]);
    expect(loadWithout(book)).toEqual({ a: 1, b: 1 });
    book.update([placed("r", "1", "c")]);
    expect(loadWithout(book)).toEqual({ c: 1 });
  });

  it("counts a decision until the list shows what became of it", () => {
    const book = new LoadBook();
    book.update([placed("p", "1")]);
    book.promise(placed("p", "1"), ["a"]);
    expect(loadWithout(book)).toEqual({ a: 1 });
    // Read anew, but not written yet.
    book.update([placed("p", "1")]);
    expect(loadWithout(book)).toEqual({ a: 1 });
    // Something else was written.
    book.update([placed("p", "2", "b")]);
    expect(loadWithout(book)).toEqual({ b: 1 });
    book.update([placed("p", "1", "c")]);
    expect(loadWithout(book)).toEqual({ c: 1 });
  });

  it("does not count a decision that was overtaken before it was made", () => {
    const book = new LoadBook();
    book.update([placed("p", "2", "b")]);
    book.promise(placed("p", "1"), ["a"]);
    expect(loadWithout(book)).toEqual({ b: 1 });
  });
});
