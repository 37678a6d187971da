/** The CloudWatch metrics that the relay writes and that alarms read. */
export const relayMetrics = {
  namespace: "TMC",
  dimension: "stage",
  /** Age of the oldest key that waits for the queue. */
  dirty: "relay_oldest_dirty_seconds",
  /** How long the relay has not seen every change upstream. */
  blind: "relay_blind_seconds",
} as const;

export type RelayMetricValues = Readonly<{ stage: string; atMs: number; dirtySeconds: number; blindSeconds: number }>;

/** The values by metric name, rounded to milliseconds. */
export function relayMetricValues({
  dirtySeconds,
  blindSeconds,
}: Pick<RelayMetricValues, "dirtySeconds" | "blindSeconds">): Readonly<Record<string, number>> {
  const rounded = (seconds: number): number => Math.round(seconds * 1000) / 1000;
  return { [relayMetrics.dirty]: rounded(dirtySeconds), [relayMetrics.blind]: rounded(blindSeconds) };
}

/** Formats a log line that CloudWatch turns into metrics (embedded metric format). In ECS no Prometheus scrapes `/metrics`. */
export function formatRelayMetrics(values: RelayMetricValues): string {
  const { namespace, dimension } = relayMetrics;
  const byName = relayMetricValues(values);
  const Metrics = Object.keys(byName).map((Name) => ({ Name, Unit: "Seconds" }));
  return JSON.stringify({
    _aws: {
      Timestamp: values.atMs,
      CloudWatchMetrics: [{ Namespace: namespace, Dimensions: [[dimension]], Metrics }],
    },
    [dimension]: values.stage,
    ...byName,
  });
}
