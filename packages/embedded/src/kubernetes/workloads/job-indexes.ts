/** Reads a list of indexes as a job's status has it: "0,2-4". */
export function parseIndexes(text: string): number[] {
  if (text === "") return [];
  return text.split(",").flatMap((part) => {
    const [first = "", last = first] = part.split("-");
    return Array.from({ length: Number(last) - Number(first) + 1 }, (_, offset) => Number(first) + offset);
  });
}

/** Writes indexes, in order, the way a job's status has them. */
export function formatIndexes(indexes: readonly number[]): string {
  const ranges: [first: number, last: number][] = [];
  for (const index of indexes) {
    const open = ranges.at(-1);
    if (open !== undefined && open[1] === index - 1) open[1] = index;
    else ranges.push([index, index]);
  }
  return ranges
    .map(([first, last]) =>
      first === last ? `${first}` : last === first + 1 ? `${first},${last}` : `${first}-${last}`,
    )
    .join(",");
}
