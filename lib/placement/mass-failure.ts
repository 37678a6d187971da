import type { ClusterFacts } from "./observed.ts";

/** When TMC suspects itself instead of the clusters. */
export type MassFailureSettings = Readonly<{
  /** At least this many clusters must have stopped responding. Two of two, or of three, often share a cause of their own. */
  minClusters: number;
  /** More than this share of the clusters that responded before must have stopped. 100 turns the rule off. */
  percent: number;
  /**
   * Within this time. A probe fails three times before a cluster loses Ready, at most a minute apart, so all clusters that TMC
   * loses at one moment lose Ready within about three minutes.
   */
  windowSeconds: number;
  /**
   * A cluster that responds again counts for this long as one that stopped: the probes of the others, at most a minute apart and
   * twice before Ready, may only just be due.
   */
  recoverySeconds: number;
}>;

export const defaultMassFailureSettings: MassFailureSettings = {
  minClusters: 3,
  percent: 50,
  windowSeconds: 300,
  recoverySeconds: 180,
};

/** A period in which suspiciously many clusters lost Ready, from the first to the last of them. */
export type MassFailure = Readonly<{ fromMs: number; toMs: number }>;

/** While evictions are held, a placement is decided again this often: the recovery of a cluster that it cannot use ends it too. */
export const massFailureRecheckSeconds = 60;

type ReadinessFacts = Pick<
  ClusterFacts,
  "deleting" | "ready" | "hasBeenReady" | "failureConfirmed" | "notReadySinceMs" | "readySinceMs"
>;

/**
 * Finds the periods in which most of the clusters stopped responding at about the same time. Then it is more likely that TMC
 * lost its network or its credentials than that all these clusters failed, and evictions would move everything at once.
 *
 * It reads stored facts only, so every process, and a process that has just started, comes to the same result. The period
 * ends when enough clusters respond again. Clusters that were never Ready, that are being deleted, or whose failure a user has
 * confirmed, do not count.
 */
export function massFailuresIn(
  clusters: readonly ReadinessFacts[],
  nowMs: number,
  { minClusters, percent, windowSeconds, recoverySeconds }: MassFailureSettings,
): readonly MassFailure[] {
  const counted = clusters.filter(countsForMassFailure);
  const failedMs = counted
    .flatMap(({ ready, notReadySinceMs }) => (ready === "True" ? [] : (notReadySinceMs ?? [])))
    .toSorted((one, other) => one - other);
  const recoveredMs = counted.flatMap(({ readySinceMs }) =>
    readySinceMs !== undefined && Math.abs(nowMs - readySinceMs) < recoverySeconds * 1000 ? [readySinceMs] : [],
  );
  const failures: { fromMs: number; toMs: number }[] = [];
  let end = 0;
  for (const [start, fromMs] of failedMs.entries()) {
    while (end < failedMs.length && (failedMs[end] ?? 0) <= fromMs + windowSeconds * 1000) end += 1;
    // A cluster that was Ready when the first one failed has not recovered from this failure: it may be new.
    const stopped = end - start + recoveredMs.filter((readyMs) => readyMs >= fromMs).length;
    // Clusters that had failed before did not respond anyway.
    const respondedBefore = counted.length - start;
    if (stopped < minClusters || stopped * 100 <= respondedBefore * percent) continue;
    const toMs = failedMs[end - 1] ?? fromMs;
    const last = failures.at(-1);
    if (last !== undefined && fromMs <= last.toMs) last.toMs = toMs;
    else failures.push({ fromMs, toMs });
  }
  return failures;
}

/**
 * Finds mass failures among the clusters of several tenants. More than the given share of the tenants must have lost clusters
 * too: a tenant with many clusters of its own must not hold the evictions of others.
 */
export function massFailuresOfTenants(
  tenants: readonly (readonly ReadinessFacts[])[],
  nowMs: number,
  settings: MassFailureSettings,
): readonly MassFailure[] {
  const withClusters = tenants.filter((clusters) => clusters.some(countsForMassFailure));
  return massFailuresIn(withClusters.flat(), nowMs, settings).filter((failure) => {
    const hit = withClusters.filter((clusters) => clusters.some((each) => isPartOfMassFailure(each, [failure])));
    return hit.length * 100 > withClusters.length * settings.percent;
  });
}

/** Whether a cluster lost Ready in one of the periods, so that workloads are not evicted from it. */
export function isPartOfMassFailure(cluster: ReadinessFacts, failures: readonly MassFailure[]): boolean {
  const { ready, notReadySinceMs: sinceMs } = cluster;
  if (failures.length === 0 || ready === "True" || sinceMs === undefined || !countsForMassFailure(cluster))
    return false;
  return failures.some(({ fromMs, toMs }) => sinceMs >= fromMs && sinceMs <= toMs);
}

/** Whether the cluster can be part of a mass failure: it was Ready once, and nobody wants it to go. */
export function countsForMassFailure({ deleting, hasBeenReady, failureConfirmed }: ReadinessFacts): boolean {
  return hasBeenReady && !deleting && !failureConfirmed;
}
