/** Conditions that are bad news when they are true, beside those whose names end as below. */
const badNews: ReadonlySet<string> = new Set([
  "Blocked",
  "Conflict",
  "Conflicted",
  "Deleting",
  "Paused",
  "Reconciling",
  "Terminating",
  "Unavailable",
  "Unhealthy",
  "Unreachable",
  "Unschedulable",
  "NetworkUnavailable",
  "DisruptionTarget",
  "FailureTarget",
  "ScalingLimited",
]);
const badEndings = /(Pressure|Failed|Failure|Failing|Error|Errors|Exceeded|Degraded|Stalled|Suspended|Dangling)$/;
const negated = /^Not[A-Z]/;

/**
 * Tells whether a condition is bad news when it is true. Kubernetes has no rule for that, only habits; a condition that this
 * takes for the wrong kind is shown as better than it is on some clusters, and every cluster's own word is in the record.
 */
export function isBadNews(type: string): boolean {
  // A type may begin with the domain of whoever defined it.
  const name = type.slice(type.lastIndexOf("/") + 1);
  return badNews.has(name) || badEndings.test(name) || negated.test(name);
}
