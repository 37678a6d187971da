/** A span of time in the words of kubectl: the one or two largest units that matter. */
export function formatSpan(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return withRest(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return withRest(hours, "h", minutes % 60, "m");
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (days < 8) return withRest(days, "d", hours % 24, "h");
  return days < 730 ? `${days}d` : withRest(Math.floor(days / 365), "y", days % 365, "d");
}

/** How long ago a moment was, such as `5m`; undefined when it is no moment. */
export function ageOf(moment: string | undefined, nowMs: number): string | undefined {
  const ms = moment === undefined ? Number.NaN : Date.parse(moment);
  return Number.isNaN(ms) ? undefined : formatSpan(nowMs - ms);
}

function withRest(whole: number, unit: string, rest: number, restUnit: string): string {
  return rest === 0 ? `${whole}${unit}` : `${whole}${unit}${rest}${restUnit}`;
}
