import { compareStrings } from "@tmc/kube/compare.ts";
/** The milliseconds of a time as objects carry it; undefined when it is missing or no time. */
export function parseTimestamp(text: string | undefined): number | undefined {
  const moment = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(moment) ? undefined : moment;
}

/** A time as objects carry it, in whole seconds. */
export function formatTimestamp(ms: number): string {
  return new Date(Math.floor(ms / 1000) * 1000).toISOString().replace(".000Z", "Z");
}

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
    .toSorted((one, other) => Date.parse(one) - Date.parse(other) || compareStrings(one, other));
}
