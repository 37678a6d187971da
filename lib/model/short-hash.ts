import { hash } from "node:crypto";

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
