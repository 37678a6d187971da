/** What a copy's own status says about why it is in its state, in one word each. */
export const healthReasons = {
  NotCurrent: "The cluster has it, and its own controllers have not taken up the last change.",
  NotReady: "The cluster has it, and it is not ready.",
  RollingOut: "Not all replicas are those of the last change, or old ones are still there.",
  RolloutPaused: "Not all replicas are those of the last change, and the workload says to pause.",
  RolloutStuck: "The rollout has made no progress within its deadline; the message has the cluster's words.",
  PodsRefused: "The cluster cannot make its pods; the message has the cluster's words.",
  Starting: "A job that has not started.",
  Running: "A job that runs; that is as good as ready.",
  Complete: "A job that has come to its end.",
  Suspended: "A job or a schedule that is suspended; ready when the workload says so, not when only the cluster does.",
  GaveUp: "The cluster's own controllers have given it up; the message has their words.",
  WaitingForAddress: "The cluster has given it no address yet.",
  WaitingForConsumer: "A claim without a volume that nobody provides yet: it may wait for the first pod that uses it.",
} as const;
export type HealthReason = keyof typeof healthReasons;
