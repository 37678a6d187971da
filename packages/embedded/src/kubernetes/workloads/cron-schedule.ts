/** The minutes, hours, days and months of a parsed schedule. */
export type CronSchedule = Readonly<{
  minutes: ReadonlySet<number>;
  hours: ReadonlySet<number>;
  days: ReadonlySet<number>;
  months: ReadonlySet<number>;
  weekdays: ReadonlySet<number>;
  /** Cron's rule: if both day fields are restricted, one of them must match. */
  eitherDay: boolean;
}>;

const monthNames = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const dayNames = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const macros: Readonly<Record<string, string>> = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
};

/** Parses a schedule of five fields (lists, ranges, steps, names) or an `@` macro; throws if it is invalid. */
export function parseSchedule(text: string): CronSchedule {
  const fields = (macros[text.trim()] ?? text).trim().split(/\s+/);
  if (fields.length !== 5) throw new Error(`expected exactly 5 fields, found ${fields.length}: [${text}]`);
  const [minute = "", hour = "", day = "", month = "", weekday = ""] = fields;
  const weekdays = parseField(weekday, 0, 7, dayNames);
  return {
    minutes: parseField(minute, 0, 59),
    hours: parseField(hour, 0, 23),
    days: parseField(day, 1, 31),
    months: parseField(month, 1, 12, monthNames, 1),
    weekdays: new Set([...weekdays].map((each) => each % 7)),
    eitherDay: !/^[*?]/.test(day) && !/^[*?]/.test(weekday),
  };
}

/** Returns the parse error of a schedule, or undefined if it is valid. */
export function scheduleError(text: string): string | undefined {
  try {
    parseSchedule(text);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** The first scheduled time after `afterMs`, in UTC; undefined if there is none within five years. */
export function nextTime(schedule: CronSchedule, afterMs: number): number | undefined {
  const minuteMs = 60_000;
  const hourMs = 3_600_000;
  const dayMs = 86_400_000;
  let at = (Math.floor(afterMs / minuteMs) + 1) * minuteMs;
  const limit = at + 5 * 366 * dayMs;
  while (at < limit) {
    const date = new Date(at);
    if (!matchesDay(schedule, date)) at = (Math.floor(at / dayMs) + 1) * dayMs;
    else if (!schedule.hours.has(date.getUTCHours())) at = (Math.floor(at / hourMs) + 1) * hourMs;
    else if (!schedule.minutes.has(date.getUTCMinutes())) at += minuteMs;
    else return at;
  }
  return undefined;
}

function matchesDay({ days, months, weekdays, eitherDay }: CronSchedule, date: Date): boolean {
  if (!months.has(date.getUTCMonth() + 1)) return false;
  const byDay = days.has(date.getUTCDate());
  const byWeekday = weekdays.has(date.getUTCDay());
  return eitherDay ? byDay || byWeekday : byDay && byWeekday;
}

function parseField(field: string, low: number, high: number, names: readonly string[] = [], offset = 0): Set<number> {
  const values = new Set<number>();
  for (const part of field.split(",")) {
    const [range = "", step] = part.split("/");
    const [first, last] = parseRange(range, low, high, names, offset, step !== undefined);
    const by = step === undefined ? 1 : Number(step);
    const inOrder = first >= low && last <= high && first <= last && Number.isInteger(by) && by > 0;
    if (!inOrder) throw new Error(`failed to parse cron field "${field}"`);
    for (let value = first; value <= last; value += by) values.add(value);
  }
  return values;
}

function parseRange(
  range: string,
  low: number,
  high: number,
  names: readonly string[],
  offset: number,
  stepped: boolean,
): [number, number] {
  if (range === "*" || range === "?") return [low, high];
  const number = (text: string): number => {
    const name = names.indexOf(text.toLowerCase());
    if (name >= 0) return name + offset;
    return /^[0-9]+$/.test(text) ? Number(text) : Number.NaN;
  };
  const [from = "", to] = range.split("-");
  const first = number(from);
  if (to !== undefined) return [first, number(to)];
  return [first, stepped ? high : first];
}
