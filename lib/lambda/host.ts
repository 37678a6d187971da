import { type Clock, systemClock } from "@tmc/kube/clock.ts";

/** What a function has of the machine it runs on; a test gives a small object. */
export type Host = Readonly<{
  variables: Readonly<Record<string, string | undefined>>;
  version: string;
  clock: Clock;
  random: () => number;
  /** Takes one line of the log, its end included. */
  write: (line: string) => void;
  /** Since the process began. */
  uptimeMs: () => number;
}>;

/** The machine itself. Lines go straight to standard output: the console of the runtime would wrap each in another. */
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
 * How long AWS's clients wait in a function. Two tries fit into an invocation: a connection that died while the process was
 * frozen answers nobody, and the SDK would wait for it longer than the function lives.
 */
export const requestHandler = { connectionTimeout: 2_000, requestTimeout: 5_000, throwOnRequestTimeout: true } as const;
