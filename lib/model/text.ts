import { hash } from "node:crypto";

/** Shortens a text for a status. */
export function clip(text: string, length = 200): string {
  // A lone surrogate at the end is not valid UTF-8 and is removed.
  return text.length <= length ? text : `${text.slice(0, length - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}

/** How many names a message lists. */
const maxNames = 5;
/** The maximum length of a condition's message; also that of the messages in our schemas. */
const maxMessageLength = 1024;

/** `east, west`; of a long list the first names and the number of the others. */
export function formatNames(names: readonly string[]): string {
  const rest = names.length - maxNames;
  return names.slice(0, maxNames).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}

/** `east,west` for a column of `kubectl get`, which prints a list as JSON; of a long list the first names, `a,b + 3 more`. */
export function summarizeNames(names: readonly string[]): string {
  const rest = names.length - maxNames;
  return names.slice(0, maxNames).join(",") + (rest > 0 ? ` + ${rest} more` : "");
}

/** Shortens a message for a condition or a sync record. */
export function clipMessage(text: string): string {
  return clip(text, maxMessageLength);
}

/** The known word that is closest to a misspelled one, if at most a third of its letters differ. */
export function closestMatch(word: string, known: readonly string[]): string | undefined {
  let nearest: Readonly<{ word: string; distance: number }> | undefined;
  for (const each of known) {
    const distance = editDistance(word.toLowerCase(), each.toLowerCase());
    if (distance > Math.max(1, Math.floor(each.length / 3))) continue;
    if (nearest === undefined || distance < nearest.distance) nearest = { word: each, distance };
  }
  return nearest?.word;
}

/** Levenshtein distance. */
function editDistance(one: string, other: string): number {
  let previous = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (let row = 1; row <= one.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const substitution = (previous[column - 1] ?? 0) + (one[row - 1] === other[column - 1] ? 0 : 1);
      current.push(Math.min(substitution, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[other.length] ?? 0;
}

/** The length of 128 bits in base 36. */
export const shortHashLength = 25;

/**
 * Returns 128 bits of a SHA-256 in lower-case letters and digits, valid in a label and in an object name. 128 bits are
 * enough against accidental collisions and against an attacker who searches for a second text with the same hash.
 */
export function shortHash(text: string): string {
  const bits = BigInt(`0x${hash("sha256", text, "hex").slice(0, 32)}`);
  return bits.toString(36).padStart(shortHashLength, "0");
}
