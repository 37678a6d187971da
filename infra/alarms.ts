import { dirtyMetric } from "../lib/relay/dirty-keys-log.ts";
import { type FunctionName, functionNames, type QueueName, type StageNames } from "./names.ts";

/** A section of the runbook. */
export type RunbookAnchor =
  | "dead-letters"
  | "delay-dead-letters"
  | "work-late"
  | "delay-late"
  | "heartbeats-late"
  | "function-errors"
  | "function-throttles"
  | "planner-missed"
  | "resync-missed"
  | "recursion-dropped"
  | "relay-tasks"
  | "relay-dirty";

/** One alarm: what is measured, from when on it is wrong, and where the runbook says what to do. */
export type AlarmDefinition = Readonly<{
  /** Unique within the stage; the construct's id and the end of the alarm's name. */
  id: string;
  anchor: RunbookAnchor;
  /** What is wrong when it goes off, in a sentence. */
  says: string;
  namespace: string;
  metric: string;
  dimensions: Readonly<Record<string, string>>;
  statistic: "Sum" | "Maximum" | "SampleCount";
  periodSeconds: number;
  comparison: "at least" | "more than" | "less than";
  threshold: number;
  /** How many periods are looked at, and how many of them have to be wrong. */
  periods: number;
  wrongPeriods: number;
  /** Whether no data at all is wrong too. */
  silenceIsWrong: boolean;
}>;

export type AlarmFacts = Readonly<{
  names: StageNames;
  resyncMinutes: number;
  /** How many relay tasks there should be; 0 when the relay runs elsewhere. */
  relayTasks: number;
}>;

/** Functions whose messages may come back to them. */
const looping = ["reconcile", "forward", "probe"] as const satisfies readonly FunctionName[];

/** Every alarm of a stage. */
export function alarmsOf({ names, resyncMinutes, relayTasks }: AlarmFacts): readonly AlarmDefinition[] {
  const queue = (name: QueueName) => ({ namespace: "AWS/SQS", dimensions: { QueueName: names.queues[name] } });
  const lambda = (name: FunctionName) => ({
    namespace: "AWS/Lambda",
    dimensions: { FunctionName: names.functions[name] },
  });
  const minute = { periodSeconds: 60, silenceIsWrong: false };
  const atOnce = { ...minute, periods: 1, wrongPeriods: 1 };
  const lasting = { ...minute, periods: 5, wrongPeriods: 3 };

  const setAside = (id: "dead-letters" | "delay-dead-letters", name: QueueName, says: string): AlarmDefinition => ({
    id,
    anchor: id,
    says,
    ...queue(name),
    ...atOnce,
    metric: "ApproximateNumberOfMessagesVisible",
    statistic: "Maximum",
    comparison: "at least",
    threshold: 1,
  });
  const late = (
    id: "work-late" | "delay-late" | "heartbeats-late",
    name: QueueName,
    seconds: number,
    says: string,
  ): AlarmDefinition => ({
    id,
    anchor: id,
    says,
    ...queue(name),
    ...lasting,
    metric: "ApproximateAgeOfOldestMessage",
    statistic: "Maximum",
    comparison: "more than",
    threshold: seconds,
  });
  // CloudWatch looks back by a day at most, or by a week where periods are hours.
  const resyncPeriodSeconds = 2 * resyncMinutes <= 24 * 60 ? 300 : 3_600;
  const resyncPeriods = Math.ceil((2 * 60 * resyncMinutes) / resyncPeriodSeconds);

  return [
    setAside("dead-letters", "deadLetters", "Keys were given up and wait for a person."),
    setAside("delay-dead-letters", "delayDeadLetters", "Messages could not be forwarded and wait for a person."),
    late("work-late", "work", 120, "Keys wait for more than two minutes to be reconciled."),
    // 900 seconds is the longest that a message is delayed on purpose.
    late("delay-late", "delay", 1_000, "Keys whose time has come are not forwarded."),
    // After 120 seconds they are dropped.
    late("heartbeats-late", "heartbeat", 90, "Probes do not keep up with the planner."),
    ...functionNames.map(
      (name): AlarmDefinition => ({
        id: `errors-${name}`,
        anchor: "function-errors",
        says: `Runs of ${name} end in errors or time-outs.`,
        ...lambda(name),
        ...lasting,
        metric: "Errors",
        statistic: "Sum",
        comparison: "at least",
        threshold: 1,
      }),
    ),
    ...functionNames.map(
      (name): AlarmDefinition => ({
        id: `throttles-${name}`,
        anchor: "function-throttles",
        says: `Runs of ${name} are refused for want of concurrency.`,
        ...lambda(name),
        ...lasting,
        metric: "Throttles",
        statistic: "Sum",
        comparison: "at least",
        threshold: 1,
      }),
    ),
    {
      id: "planner-missed",
      anchor: "planner-missed",
      says: "No probes have been planned for three minutes.",
      ...lambda("heartbeat"),
      metric: "Invocations",
      statistic: "Sum",
      periodSeconds: 60,
      comparison: "less than",
      threshold: 1,
      periods: 3,
      wrongPeriods: 3,
      silenceIsWrong: true,
    },
    {
      id: "resync-missed",
      anchor: "resync-missed",
      says: "Two rounds of looking at everything anew were missed.",
      ...lambda("resync"),
      metric: "Invocations",
      statistic: "Sum",
      periodSeconds: resyncPeriodSeconds,
      comparison: "less than",
      threshold: 1,
      periods: resyncPeriods,
      wrongPeriods: resyncPeriods,
      silenceIsWrong: true,
    },
    ...looping.map(
      (name): AlarmDefinition => ({
        id: `recursion-dropped-${name}`,
        anchor: "recursion-dropped",
        says: `Lambda took retries of ${name} for a loop and dropped them.`,
        ...lambda(name),
        ...atOnce,
        metric: "RecursiveInvocationsDropped",
        statistic: "Sum",
        comparison: "at least",
        threshold: 1,
      }),
    ),
    ...(relayTasks === 0 ? [] : relayAlarms(names, relayTasks)),
  ];
}

function relayAlarms(names: StageNames, relayTasks: number): readonly AlarmDefinition[] {
  return [
    {
      id: "relay-tasks",
      anchor: "relay-tasks",
      says: "Fewer relays run than should.",
      namespace: "AWS/ECS",
      // Each task reports its use of the processor once a minute: so many samples, so many tasks.
      metric: "CPUUtilization",
      dimensions: { ClusterName: names.relay, ServiceName: names.relay },
      statistic: "SampleCount",
      periodSeconds: 60,
      comparison: "less than",
      threshold: relayTasks,
      periods: 5,
      wrongPeriods: 5,
      silenceIsWrong: true,
    },
    {
      id: "relay-dirty",
      anchor: "relay-dirty",
      says: "A relay holds changes that the queue does not take.",
      namespace: dirtyMetric.namespace,
      metric: dirtyMetric.name,
      dimensions: { [dirtyMetric.dimension]: names.stage },
      statistic: "Maximum",
      periodSeconds: 60,
      comparison: "more than",
      threshold: 60,
      periods: 3,
      wrongPeriods: 3,
      silenceIsWrong: false,
    },
  ];
}
