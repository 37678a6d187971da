import { compareStrings } from "@tmc/kube/compare.ts";

/** Parses a Kubernetes timestamp to milliseconds; undefined if it is missing or invalid. */
export function parseTimestamp(text: string | undefined): number | undefined {
  const ms = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}

/** Formats a Kubernetes timestamp, rounded down to whole seconds. */
export function formatTimestamp(ms: number): string {
  return new Date(Math.floor(ms / 1000) * 1000).toISOString().replace(".000Z", "Z");
}

/**
 * The clocks of controllers and servers may differ by this much. A stored time further in the future comes from a clock that was
 * wrong, or was set back since: no interval may be measured from it.
 */
export const maxClockSkewMs = 5 * 60_000;

/** The earliest of several timestamps; invalid ones are ignored. */
export function earliestOf(times: readonly (string | undefined)[]): string | undefined {
  return sortedTimes(times).at(0);
}

/** The latest of several timestamps; invalid ones are ignored. */
export function latestOf(times: readonly (string | undefined)[]): string | undefined {
  return sortedTimes(times).at(-1);
}

/** Whether one timestamp is before another; false if either is invalid. */
export function isBefore(one: string, other: string): boolean {
  return Date.parse(one) < Date.parse(other);
}

function sortedTimes(times: readonly (string | undefined)[]): readonly string[] {
  return times
    .filter((time): time is string => time !== undefined && !Number.isNaN(Date.parse(time)))
    .toSorted((one, other) => Date.parse(one) - Date.parse(other) || compareStrings(one, other));
}

/** Describes the format in error messages. */
export const durationForm = "a duration like 30s, 5m or 1h30m";

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** Parses a duration in the format of Go and Kubernetes (`30s`, `1h30m`, `1.5h`, `500ms`); undefined for other texts. */
export function parseDurationSeconds(text: string): number | undefined {
  if (!/^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$/.test(text)) return undefined;
  let totalMs = 0;
  for (const [, amount = "", unit = ""] of text.matchAll(/([0-9.]+)(ms|s|m|h)/g)) {
    totalMs += Number(amount) * (unitMs[unit] ?? Number.NaN);
  }
  return Number.isFinite(totalMs) ? totalMs / 1000 : undefined;
}
