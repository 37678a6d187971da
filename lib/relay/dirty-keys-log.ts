/** Where CloudWatch keeps what the relay says about itself; alarms look there. */
export const dirtyMetric = { namespace: "TMC", name: "relay_oldest_dirty_seconds", dimension: "stage" } as const;

/**
 * A line of the log that CloudWatch takes as a metric (its embedded format): in a task nobody comes to read `/metrics`.
 *
 * @param oldestSeconds how long the key that waits longest for the queue has waited
 */
export function formatDirtyLine({
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
