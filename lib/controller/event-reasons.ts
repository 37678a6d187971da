/** What people are told by Events about other things than workloads, where each is found, and what it means. */
const eventReasons: readonly Readonly<{ reason: string; about: string; meaning: string }>[] = [
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

/** The part of the reasons page that is about Events. */
export function eventReasonsSection(): string {
  return [
    "",
    "## What is told by Events",
    "",
    "What happens to workloads is on [a page of its own](workloads.md#what-a-record-says-besides). Besides, there are these Events:",
    "",
    "| Reason | Beside | Meaning |",
    "| --- | --- | --- |",
    ...eventReasons.map(({ reason, about, meaning }) => `| \`${reason}\` | ${about} | ${meaning} |`),
    "",
    "The same words about the same object are one Event that counts. Those about objects without a namespace are in `default`:",
    "`kubectl get events -n default`, or at the end of `kubectl describe cr east`. A heartbeat that went well is none, nor is the start",
    "of a function, which happens all day, and tenants of an export do not hear that their provider's controller has started. Where TMC may not",
    "write Events (a tenant need not accept that claim) nothing else is different.",
    "",
  ].join("\n");
}
