import type { Removal } from "./rule.ts";

/** How often a text occurs in another. */
export function occurrences(source: string, text: string): number {
  return text === "" ? 0 : source.split(text).length - 1;
}

/** The source without a rule; fails when it is not to be found in exactly one place. */
export function takeOut(source: string, { file, text, without }: Removal): string {
  const count = occurrences(source, text);
  if (count !== 1) throw new Error(`${file}: ${JSON.stringify(text)} occurs ${count} times, not once`);
  // A function, because a text may hold what `replace` takes for a pattern.
  return source.replace(text, () => without);
}
