/** The earliest of times as objects carry them; what is no time is passed over. */
export function earliestOf(times: readonly (string | undefined)[]): string | undefined {
  return timesOf(times).at(0);
}

/** The latest of times as objects carry them; what is no time is passed over. */
export function latestOf(times: readonly (string | undefined)[]): string | undefined {
  return timesOf(times).at(-1);
}

/** Whether one time is before another; false where either is no time. */
export function isBefore(one: string, other: string): boolean {
  return Date.parse(one) < Date.parse(other);
}

function timesOf(times: readonly (string | undefined)[]): readonly string[] {
  return times
    .filter((time): time is string => time !== undefined && !Number.isNaN(Date.parse(time)))
    .toSorted((one, other) => Date.parse(one) - Date.parse(other) || (one < other ? -1 : 1));
}
