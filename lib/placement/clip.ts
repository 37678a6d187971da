/** Keeps a text short enough for a status. */
export function clip(text: string, length = 200): string {
  // Half of a character that takes two code units would not survive the wire.
  return text.length <= length ? text : `${text.slice(0, length - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
