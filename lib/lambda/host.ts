import { type Clock, systemClock } from "@tmc/kube/clock.ts";
import type { ReconcilersSettings } from "../engine/reconcilers.ts";
import type { Work } from "../model/work-item.ts";
import type { SyncSettings } from "../sync/settings.ts";

/** Settings of a runtime that no operator can change. */
export type RuntimeOverrides = Readonly<{
  settings?: Partial<ReconcilersSettings> | undefined;
  sync?: Partial<Omit<SyncSettings, "hubId">> | undefined;
  /** Wraps the work on each key. */
  wrapWork?: ((work: Work) => Work) | undefined;
}>;

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
  /** For tests, which cannot wait for the longest times of a deployment, and attribute requests to keys. @default none */
  overrides?: RuntimeOverrides | undefined;
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
