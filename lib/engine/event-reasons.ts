/** What people are told by Events about other things than workloads, where each is found, and what it means. */
export const eventReasons: readonly Readonly<{ reason: string; about: string; meaning: string }>[] = [
  {
    reason: "HeartbeatFailed",
    about: "the ClusterRegistration",
    meaning:
      "The cluster has turned not Ready; the message begins with the reason. It is told again when the reason is another, or when the cluster has been Ready in between.",
  },
  {
    reason: "ControllerError",
    about: "the object that was worked on",
    meaning:
      "The work on it failed five times in a way that nobody foresaw and was set aside; the message has the cause. The next change of the object or the next resync tries it anew. One process tells it of an object once in ten minutes at most.",
  },
  {
    reason: "ControllerStarted",
    about:
      "the LogicalCluster of each workspace in `--workspace`; the APIExport of `--api-export`; on a plain cluster the CustomResourceDefinition of registrations",
    meaning: "A `tmc controller` has started; the message has its version, the count how often.",
  },
  {
    reason: "UpsyncConflict",
    about: "the workload that has the name",
    meaning: "An object of that name was born on a cluster, and is not made known.",
  },
];
