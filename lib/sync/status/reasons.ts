/** What a copy's own status says about why it is in its state, in one word each. */
export const healthReasons = {
  LatestGenerationNotObserved: "The cluster has it, and its own controllers have not taken up the last change.",
  NotReady: "The cluster has it, and it is not ready.",
  RollingOut: "Not all replicas are those of the last change, or old ones are still there.",
  RolloutPaused: "Not all replicas are those of the last change, and the workload says to pause.",
  ProgressDeadlineExceeded:
    "The rollout has made no progress within its deadline; the message has the cluster's words.",
  PodsRejected: "The cluster cannot make its pods; the message has the cluster's words.",
  Starting: "A job that has not started.",
  Running: "A job that runs; that is as good as ready.",
  Complete: "A job that has come to its end.",
  Suspended: "A job or a schedule that is suspended; ready when the workload says so, not when only the cluster does.",
  Failed: "The cluster's own controllers have given it up; the message has their words.",
  WaitingForAddress: "The cluster has given it no address yet.",
  WaitingForConsumer: "A claim without a volume that nobody provides yet: it may wait for the first pod that uses it.",
} as const;
export type HealthReason = keyof typeof healthReasons;

/** Why a copy is in its state, in one word each; docs/reasons.md explains them. */
export const copyReasons = {
  Applying: "It is being written.",
  ReferenceMissing: "Something that the workload refers to is not in its namespace.",
  TypeNotServed: "The cluster does not serve the type; it heals when it does.",
  InstallingType: "The cluster has been given the definition of the type, and does not serve it yet.",
  ForeignType: "The cluster has a definition of the type that is not TMC's and does not serve what is needed.",
  Rejected: "The cluster refuses the object; the message has its words.",
  OverrideFailed: "An override of the placement cannot be applied.",
  ForeignObject: "The cluster has an object of that name that is not TMC's; see the placement's adoption.",
  Drifted: "Somebody changed it on the cluster, and the placement says to leave it so.",
  ClusterNotReady: "The cluster is not heard from: its copy counts for nothing and nothing is written.",
  ClusterUnregistered: "The cluster's registration has gone; its copy was left where it is.",
  NotReady: "The cluster has it, and it is not ready.",
  LatestGenerationNotObserved: "The cluster has it, and its own controllers have not taken up the last change.",
  WaitingForReplacement: "It is to go when the workload runs everywhere it should.",
  LastCopy: "It is kept, because nothing fits any better and no cluster would be left with one.",
  DeletionsHeld: "Many copies would leave at once; somebody has to confirm that.",
  WorkloadVanished:
    "The workload is not in its workspace, and nobody saw it being deleted; somebody has to confirm that.",
  Terminating: "The cluster is removing it.",
  SyncDisabled: "The workload's owner has switched sync off.",
  SelectorInvalid: "The selector of its placement makes no sense; everything stays as it is until that is put right.",
  SyncPaused: "The workload's owner has paused sync.",
} as const;
export type CopyReason = keyof typeof copyReasons;
