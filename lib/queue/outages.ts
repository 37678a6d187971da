import type { Clock } from "@tmc/kube/clock.ts";

/** A queue that stopped to answer, or answers again. */
export type Outage = Readonly<
  { kind: "begun"; queue: string; error: unknown } | { kind: "ended"; queue: string; seconds: number }
>;

/** Knows whether a queue is away. */
export interface Outages {
  begin(error: unknown): void;
  end(): void;
}

/** Turns many failures in a row into one piece of news. */
export function createOutages({
  queue,
  clock,
  onOutage,
}: Readonly<{ queue: string; clock: Clock; onOutage: ((outage: Outage) => void) | undefined }>): Outages {
  let sinceMs: number | undefined;
  return {
    begin: (error) => {
      if (sinceMs !== undefined) return;
      sinceMs = clock.now();
      onOutage?.({ kind: "begun", queue, error });
    },
    end: () => {
      if (sinceMs === undefined) return;
      const seconds = (clock.now() - sinceMs) / 1000;
      sinceMs = undefined;
      onOutage?.({ kind: "ended", queue, seconds });
    },
  };
}
