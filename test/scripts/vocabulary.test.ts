import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { findReplacedWords, usesInText } from "../../scripts/vocabulary.ts";

describe("the vocabulary of the project", () => {
  it("has no replaced word in product code and documentation", () => {
    const { files, uses } = findReplacedWords(fileURLToPath(new URL("../..", import.meta.url)));
    expect(files).toBeGreaterThan(500);
    expect(uses).toEqual([]);
  });

  it.each([
    ["finds a word in a sentence", "The relay tells the queue.", ["tell"]],
    ["finds a part of an identifier", "const looksAgain = isBornHere;", ["look", "born"]],
    ["finds an irregular form", "It was told and woken.", ["tell", "wake"]],
    ["finds two words", "setAside(key)", ["set aside"]],
    ["accepts longer words that contain a replaced word", "lookup, planes, website, intelligible", []],
  ])("%s", (_, text, words) => {
    expect(usesInText(text).map(({ word }) => word)).toEqual(words);
  });
});
