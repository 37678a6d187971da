import { InvalidArgumentError, Option } from "commander";
import { durationForm, parseDurationSeconds } from "../controller/duration.ts";

/** Whether to wait for what was asked, and for how many seconds. */
export type WaitFlags = Readonly<{ wait?: true; timeout: number }>;

/** The option that bounds a wait. */
export function timeoutOption(): Option {
  return new Option("--timeout <duration>", "how long to wait at most")
    .argParser((text: string) => {
      const seconds = parseDurationSeconds(text);
      if (seconds === undefined) throw new InvalidArgumentError(`write ${durationForm}.`);
      return seconds;
    })
    .default(60, "60s");
}
