import { hash } from "node:crypto";

/** How many letters and digits 128 bits take. */
export const shortHashLength = 25;

/**
 * 128 bits of a SHA-256, in lower-case letters and digits: fit for a label and for a part of a name. So many bits leave
 * nothing to chance, and nothing to somebody who looks for a second text with the same hash.
 */
export function shortHash(text: string): string {
  const bits = BigInt(`0x${hash("sha256", text, "hex").slice(0, 32)}`);
  return bits.toString(36).padStart(shortHashLength, "0");
}
