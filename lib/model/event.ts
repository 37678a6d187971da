/** The content of a Kubernetes Event about an object. */
export type ObjectEvent = Readonly<{
  type: "Normal" | "Warning";
  /** PascalCase; documented in docs/reasons.md and docs/workloads.md. */
  reason: string;
  /** Stable text without times or counters, so that repeated Events are counted as one. */
  message: string;
}>;

/** Reasons of Events of registered clusters that are also counted in a metric. */
export const clusterWarningReasons = ["CredentialsExpiring", "WatchLimitExceeded"] as const;
