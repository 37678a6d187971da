/** Why a copy is in its state, by the copy's own status. */
export const healthReasons = {
  LatestGenerationNotObserved: "The cluster has the copy; its controllers have not observed the latest generation.",
  NotReady: "The cluster has the copy, which is not ready.",
  RollingOut: "Not all replicas are updated, or old replicas still exist.",
  RolloutPaused: "Not all replicas are updated, and the workload pauses its rollout.",
  ProgressDeadlineExceeded: "The rollout made no progress within its deadline. The message is the cluster's.",
  PodsRejected: "The cluster cannot create the pods. The message is the cluster's.",
  Starting: "A Job that has not started.",
  Running: "A Job that runs, which counts as ready.",
  Complete: "A Job that has completed.",
  Suspended: "A suspended Job or CronJob. It is ready if the workload suspends it, and not if only the cluster does.",
  Failed: "The cluster's controllers report a final failure. The message is the cluster's.",
  WaitingForAddress: "The cluster has not assigned an address yet.",
  WaitingForConsumer:
    "A claim without a volume that nothing provisions yet: it may wait for the first pod that uses it.",
} as const;
export type HealthReason = keyof typeof healthReasons;

/** Why a copy is in its state; docs/reasons.md explains them. */
export const copyReasons = {
  Applying: "The copy is being written.",
  ReferenceMissing: "An object that the workload references does not exist in its namespace.",
  TypeNotServed: "The cluster does not serve the type. The copy is written once it does.",
  InstallingType: "The definition of the type was applied, and the cluster does not serve it yet.",
  ForeignType: "The cluster has a definition of the type that is not TMC's and does not serve the needed version.",
  Rejected: "The cluster rejects the object. The message is the cluster's.",
  OverrideFailed: "An override of the placement cannot be applied.",
  ForeignObject: "The cluster has an object of that name that is not TMC's; see `adoption` of the placement.",
  Drifted: "The copy was changed on the cluster, and the placement tolerates that.",
  ClusterNotReady: "The cluster is not Ready: its copy does not count and nothing is written.",
  ClusterUnregistered: "The registration of the cluster is gone; the copy was left unchanged.",
  NotReady: "The cluster has the copy, which is not ready.",
  LatestGenerationNotObserved: "The cluster has the copy; its controllers have not observed the latest generation.",
  WaitingForReplacement: "The copy is evicted once the workload is ready on all of its target clusters.",
  LastCopy: "No cluster matches the placement; the copy is kept, so that the workload keeps running.",
  VolumeNotMovable:
    "The placement selects other clusters, but the data of the workload's PersistentVolumeClaims is on this one; see `volumes` of the placement.",
  DeletionsHeld: "Many copies would be deleted at once; a user has to confirm that.",
  WorkloadVanished:
    "The workload does not exist upstream, and its deletion was not observed; a user has to confirm it.",
  Terminating: "The cluster is deleting the copy.",
  SyncDisabled: "The annotation `tmc.kcp.io/sync` of the workload disables sync.",
  SelectorInvalid: "The selector of the placement is invalid; all copies stay unchanged until it is corrected.",
  SyncPaused: "The annotation `tmc.kcp.io/sync` of the workload pauses sync.",
  HubRunsWorkloads:
    "The plain cluster that serves as the hub runs workloads of this type itself; nothing is written until its workload controllers are off (docs/plain-hub.md).",
} as const;
export type CopyReason = keyof typeof copyReasons;
