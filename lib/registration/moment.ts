/** The milliseconds of a time as objects carry it; undefined when it is missing or no time. */
export function momentOf(text: string | undefined): number | undefined {
  const moment = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(moment) ? undefined : moment;
}

/** A time as objects carry it, in whole seconds. */
export function formatMoment(ms: number): string {
  return new Date(Math.floor(ms / 1000) * 1000).toISOString().replace(".000Z", "Z");
}
