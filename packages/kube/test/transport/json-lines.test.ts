import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createLineSplitter } from "../../src/transport/json-lines.ts";

/** Cuts a whole at the given places. */
function cutAt<T extends Uint8Array | string>(whole: T, cuts: readonly number[]): (Uint8Array | string)[] {
  const places = cuts.map((cut) => cut % (whole.length + 1)).toSorted((a, b) => a - b);
  return [...places, whole.length].map((end, index) => whole.slice(places[index - 1] ?? 0, end));
}

const lines = fc.array(
  fc.oneof(
    fc.string({ unit: "binary" }).map((text) => JSON.stringify({ text })),
    fc.string({ unit: "grapheme" }).map((text) => JSON.stringify({ text })),
  ),
);
const cuts = fc.array(fc.nat(), { maxLength: 40 });

describe("a line splitter", () => {
  test("returns the same lines for any chunks of their bytes, also in the middle of a character", () => {
    fc.assert(
      fc.property(lines, cuts, (expected, places) => {
        const splitter = createLineSplitter();
        const bytes = Buffer.from(expected.map((line) => `${line}\n`).join(""));
        const got = cutAt(bytes, places).flatMap((chunk) => splitter.push(chunk));
        expect(got).toEqual(expected);
      }),
    );
  });

  test("returns the same lines for any chunks of their text", () => {
    fc.assert(
      fc.property(lines, cuts, (expected, places) => {
        const splitter = createLineSplitter();
        const got = cutAt(expected.map((line) => `${line}\n`).join(""), places).flatMap((chunk) =>
          splitter.push(chunk),
        );
        expect(got).toEqual(expected);
      }),
    );
  });

  test("joins text and bytes into one line", () => {
    const splitter = createLineSplitter();
    expect(["a", Buffer.from("ü"), "b\nc"].flatMap((chunk) => splitter.push(chunk))).toEqual(["aüb"]);
  });

  test("omits empty lines, and keeps an incomplete line", () => {
    const splitter = createLineSplitter();
    expect(splitter.push("\n\r\n{}\n{")).toEqual(["{}"]);
    expect(splitter.push("}\n")).toEqual(["{}"]);
  });

  test("joins a very long line from many chunks", () => {
    const splitter = createLineSplitter();
    const chunk = Buffer.alloc(64 * 1024, "x");
    for (let index = 0; index < 256; index++) expect(splitter.push(chunk)).toEqual([]);
    expect(splitter.push(Buffer.from("\n"))[0]?.length).toBe(16 * 1024 * 1024);
  });

  test("rejects a line without an end before it takes all memory", () => {
    const splitter = createLineSplitter(100);
    splitter.push("x".repeat(90));
    expect(() => splitter.push("x".repeat(11))).toThrow("longer than 100 bytes");
  });
});
