import { type Clock, systemClock } from "@tmc/kube/clock.ts";

/** The environment that a function runs in; tests pass their own. */
export type Host = Readonly<{
  variables: Readonly<Record<string, string | undefined>>;
  version: string;
  clock: Clock;
  random: () => number;
  /** Writes one log line, including its line break. */
  write: (line: string) => void;
  /** Time since the start of the process. */
  uptimeMs: () => number;
}>;

/** The real process. Lines go directly to standard output: Lambda's console would wrap each line in another. */
export function machineHost(version: string): Host {
  return {
    variables: process.env,
    version,
    clock: systemClock,
    random: Math.random,
    write: (line) => {
      process.stdout.write(line);
    },
    uptimeMs: () => performance.now(),
  };
}

/**
 * Timeouts of the AWS clients in a function. Two attempts fit into an invocation: a connection that broke while the process was
 * frozen never responds, and by default the SDK would wait longer than the function's timeout.
 */
export const requestHandler = { connectionTimeout: 2_000, requestTimeout: 5_000, throwOnRequestTimeout: true } as const;
