/** The word of a list that somebody may have meant: the nearest one, if no more than a third of its letters differ. */
export function similarWord(word: string, known: readonly string[]): string | undefined {
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
