/** The reasons of Events that are not about the sync of a workload: on which object, and what they mean. */
export const eventReasons: readonly Readonly<{ reason: string; regarding: string; meaning: string }>[] = [
  {
    reason: "HeartbeatFailed",
    regarding: "the ClusterRegistration",
    meaning:
      "The cluster became not Ready; the message starts with the reason. It is recorded again when the reason changes, or when the cluster was Ready in between.",
  },
  {
    reason: "CredentialsExpiring",
    regarding: "the ClusterRegistration",
    meaning:
      "The credentials expire soon; the message says how to renew them. It is recorded once, when the condition CredentialsCurrent becomes False.",
  },
  {
    reason: "WatchLimitExceeded",
    regarding: "the ClusterRegistration",
    meaning:
      "The cluster has more objects to watch than TMC keeps of it. It is recorded when the condition ObjectsWatched becomes False.",
  },
  {
    reason: "MassFailureSuspected",
    regarding: "the WorkloadPlacement",
    meaning:
      "Most clusters stopped responding at about the same time, so the placement is not evicted from its clusters. It is recorded once, when the condition EvictionsHeld becomes True.",
  },
  {
    reason: "InvalidAnnotation",
    regarding: "WorkloadPlacement",
    meaning: "A hint annotation names a cluster that is not registered. It is ignored.",
  },
  {
    reason: "ControllerError",
    regarding: "the object that was reconciled",
    meaning:
      "Its reconcile failed five times with an unexpected error and was dead-lettered; the message has the cause. The next change of the object, or the next resync, retries it. A process records this at most once in ten minutes per object.",
  },
  {
    reason: "ControllerStarted",
    regarding:
      "the LogicalCluster of each workspace in `--workspace`; the APIExport of `--api-export`; on a plain cluster the CustomResourceDefinition of registrations",
    meaning: "A `tmc controller` has started; the message has its version, the count says how often.",
  },
  {
    reason: "UpsyncConflict",
    regarding: "the workload with the same name",
    meaning: "An object of the same name was created on a cluster; it is not upsynced.",
  },
];
