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
