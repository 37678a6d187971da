/** Where the pinned emulator is not like AWS, and what is done about it here; nothing of this is known to `infra`. */
export type Gap = Readonly<{ what: string; instead: string }>;

/** Corrections that the launcher makes before the emulator starts, by their names there. */
export const corrected: Readonly<Record<string, Gap>> = {
  "fifo-concurrency": {
    what: "the mapping of a FIFO queue works on one batch at a time, whatever its maximum concurrency",
    instead: "the launcher gives it the concurrency of the template; groups are kept apart by the queue",
  },
  "recursive-loop": {
    what: "CloudFormation drops a function's RecursiveLoop",
    instead: "the launcher hands it on to the function",
  },
  "batch-rights": {
    what: "sending, deleting and hiding in batches asks for rights that AWS does not know (sqs:SendMessageBatch)",
    instead: "the launcher has them asked for as single calls, as AWS documents it",
  },
};

/** Differences between template and live resource that are the emulator's; one that is gone has to go from here too. */
export const differences: readonly Readonly<{ type: string; path: string; why: string }>[] = [
  ...["CpuArchitecture", "OperatingSystemFamily"].map((field) => ({
    type: "AWS::ECS::TaskDefinition",
    path: `RuntimePlatform.${field}`,
    why: "task definitions are kept without their platform",
  })),
];

/** What is not enforced or not there at all, and where else it is held. */
export const elsewhere: readonly Gap[] = [
  {
    what: "a task of ECS counts as running though nothing runs",
    instead: "the relay is a local process with the environment and the rights of the live task definition",
  },
  {
    what: "the role of a task cannot be assumed by anybody here",
    instead: "the relay works as a user who has been given the live policies of that role",
  },
  {
    what: "memory, freezing between runs, arm64 and the poller's own right to receive are not enforced",
    instead: "test/infra asserts them on the templates",
  },
  {
    what: "there are no metrics of SQS and Lambda, and embedded metrics are not taken out of logs",
    instead: "the gate counts calls and runs; alarms are compared with the template only",
  },
  {
    what: "a function that still runs while its stack is destroyed has its log made anew, without the right to do so",
    instead: "a test that checks for leftovers waits first until everything has ended",
  },
  {
    what: "a schedule's first call comes up to ten seconds after its time",
    instead: "waits allow for it",
  },
];
