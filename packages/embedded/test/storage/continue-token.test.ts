import { expect, it } from "vitest";
import { formatContinueToken, parseContinueToken } from "../../src/storage/continue-token.ts";

it("a continue token is the same after formatting and parsing, with and without a version", () => {
  for (const token of [
    { revision: 257, after: "default/p2" },
    { revision: undefined, after: "p2" },
  ]) {
    expect(parseContinueToken(formatContinueToken(token))).toEqual(token);
  }
});

it("a continue token has the form of a real server's", () => {
  expect(formatContinueToken({ revision: 257, after: "p2" })).toBe(
    "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MjU3LCJzdGFydCI6Ii9wMlx1MDAwMCJ9",
  );
});

it("an invalid continue token is rejected", () => {
  const encoded = (token: object) => Buffer.from(JSON.stringify(token)).toString("base64url");
  for (const text of [
    "%",
    "abc",
    encoded({}),
    encoded({ v: "meta.k8s.io/v1", rv: 0 }),
    encoded({ v: "meta.k8s.io/v1", rv: 1 }),
  ]) {
    expect(() => parseContinueToken(text)).toThrow(/^invalid continue token: /);
  }
});
