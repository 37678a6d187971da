/** Keeps a text short enough for a status. */
export function clip(text: string, length = 200): string {
  // Half of a character that takes two code units would not survive the wire.
  return text.length <= length ? text : `${text.slice(0, length - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}

/** As many names as a message bears. */
const mostNames = 5;
/** As much as the record's messages have room for. */
const mostLength = 1024;

/** `east, west`; of many, the first ones and how many more there are. */
export function formatNames(names: readonly string[]): string {
  const rest = names.length - mostNames;
  return names.slice(0, mostNames).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}

/** Keeps a cluster's own words short enough for a status. */
export function clipMessage(text: string): string {
  // Half of a character that takes two code units would not survive the wire.
  return text.length <= mostLength ? text : `${text.slice(0, mostLength - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}

/** The word of a list that somebody may have meant: the nearest one, if no more than a third of its letters differ. */
export function closestMatch(word: string, known: readonly string[]): string | undefined {
  let nearest: Readonly<{ word: string; distance: number }> | undefined;
  for (const each of known) {
    const distance = editDistance(word.toLowerCase(), each.toLowerCase());
    if (distance > Math.max(1, Math.floor(each.length / 3))) continue;
    if (nearest === undefined || distance < nearest.distance) nearest = { word: each, distance };
  }
  return nearest?.word;
}

/** How many letters have to be put in, taken out or exchanged to get from one word to the other. */
function editDistance(one: string, other: string): number {
  let above = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let row = 1; row <= one.length; row += 1) {
    const line = [row];
    for (let at = 1; at <= other.length; at += 1) {
      const change = (above[at - 1] ?? 0) + (one[row - 1] === other[at - 1] ? 0 : 1);
      line.push(Math.min(change, (above[at] ?? 0) + 1, (line[at - 1] ?? 0) + 1));
    }
    above = line;
  }
  return above[other.length] ?? 0;
}
