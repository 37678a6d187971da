/** As many names as a message bears. */
const mostNames = 5;
/** As much as the record's messages have room for. */
const mostLength = 1024;

/** `east, west`; of many, the first ones and how many more there are. */
export function namesInWords(names: readonly string[]): string {
  const rest = names.length - mostNames;
  return names.slice(0, mostNames).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}

/** Keeps a cluster's own words short enough for a status. */
export function shortened(text: string): string {
  // Half of a character that takes two code units would not survive the wire.
  return text.length <= mostLength ? text : `${text.slice(0, mostLength - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
