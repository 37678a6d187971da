import { InvalidArgumentError, Option } from "commander";
import { durationForm, parseDurationSeconds } from "../model/duration.ts";

/** Whether to wait for what was asked, and for how many seconds. */
export type WaitFlags = Readonly<{ wait?: true; timeout: number }>;

/** The option that bounds a wait. */
export function timeoutOption(
  usual: Readonly<{ seconds: number; shown: string }> = { seconds: 60, shown: "60s" },
): Option {
  return new Option("--timeout <duration>", "how long to wait at most")
    .argParser((text: string) => {
      const seconds = parseDurationSeconds(text);
      if (seconds === undefined) throw new InvalidArgumentError(`write ${durationForm}.`);
      return seconds;
    })
    .default(usual.seconds, usual.shown);
}
