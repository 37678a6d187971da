import { describe, expect, test } from "vitest";
import { nextTime, parseSchedule, scheduleError } from "../../../src/kubernetes/workloads/cron-schedule.ts";

describe("the next time of a cron schedule", () => {
  test.each([
    ["* * * * *", "2026-03-02T12:00:00Z", "2026-03-02T12:01:00Z"],
    ["* * * * *", "2026-03-02T12:00:59Z", "2026-03-02T12:01:00Z"],
    ["*/15 * * * *", "2026-03-02T12:07:00Z", "2026-03-02T12:15:00Z"],
    ["5/20 * * * *", "2026-03-02T12:07:00Z", "2026-03-02T12:25:00Z"],
    ["0 3 * * *", "2026-03-02T12:00:00Z", "2026-03-03T03:00:00Z"],
    ["30 8-17/3 * * *", "2026-03-02T12:00:00Z", "2026-03-02T14:30:00Z"],
    ["0 0 1 * *", "2026-03-02T12:00:00Z", "2026-04-01T00:00:00Z"],
    ["0 0 * * 0", "2026-03-02T12:00:00Z", "2026-03-08T00:00:00Z"],
    ["0 0 * * 7", "2026-03-02T12:00:00Z", "2026-03-08T00:00:00Z"],
    ["0 0 * * mon-fri", "2026-03-06T12:00:00Z", "2026-03-09T00:00:00Z"],
    ["0 0 13 * fri", "2026-03-02T12:00:00Z", "2026-03-06T00:00:00Z"],
    ["0 0 29 2 *", "2026-03-02T12:00:00Z", "2028-02-29T00:00:00Z"],
    ["@hourly", "2026-03-02T12:00:00Z", "2026-03-02T13:00:00Z"],
    ["@yearly", "2026-03-02T12:00:00Z", "2027-01-01T00:00:00Z"],
  ])("%s after %s is %s", (schedule, after, expected) => {
    expect(nextTime(parseSchedule(schedule), Date.parse(after))).toBe(Date.parse(expected));
  });
  test("is undefined for a date that does not exist", () => {
    expect(nextTime(parseSchedule("0 0 30 2 *"), 0)).toBeUndefined();
  });
});

test.each(["", "* * * *", "60 * * * *", "* 24 * * *", "*/0 * * * *", "x * * * *", "5-1 * * * *", "* * 0 * *"])(
  "an invalid cron schedule is rejected: %j",
  (schedule) => {
    expect(scheduleError(schedule)).toEqual(expect.any(String));
  },
);
