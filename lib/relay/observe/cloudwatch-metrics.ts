/** The CloudWatch metric that the relay writes and that an alarm reads. */
export const dirtyMetric = { namespace: "TMC", name: "relay_oldest_dirty_seconds", dimension: "stage" } as const;

/**
 * Formats a log line that CloudWatch turns into a metric (embedded metric format). In ECS no Prometheus scrapes `/metrics`.
 *
 * @param oldestSeconds the age of the oldest key that waits for the queue
 */
export function formatDirtyKeysLine({
  stage,
  atMs,
  oldestSeconds,
}: Readonly<{ stage: string; atMs: number; oldestSeconds: number }>): string {
  const { namespace, name, dimension } = dirtyMetric;
  return JSON.stringify({
    _aws: {
      Timestamp: atMs,
      CloudWatchMetrics: [
        { Namespace: namespace, Dimensions: [[dimension]], Metrics: [{ Name: name, Unit: "Seconds" }] },
      ],
    },
    [dimension]: stage,
    [name]: Math.round(oldestSeconds * 1000) / 1000,
  });
}
