import { emfNamespace, emfServiceOf } from "../lib/lambda/emf-metrics.ts";
import type { MetricName } from "../lib/observe/catalogue.ts";
import { relayMetrics } from "../lib/relay/observe/cloudwatch-metrics.ts";
import { type FunctionName, functionNames, type QueueName, type StageNames } from "./names.ts";

/** A section of the runbook. */
export type RunbookAnchor =
  | "dead-letters"
  | "delay-dead-letters"
  | "heartbeat-dead-letters"
  | "work-late"
  | "delay-late"
  | "heartbeats-late"
  | "function-errors"
  | "function-throttles"
  | "planner-missed"
  | "resync-missed"
  | "resync-left"
  | "workspaces-unread"
  | "clusters-not-ready"
  | "recursion-dropped"
  | "relay-tasks"
  | "relay-blind"
  | "relay-dirty";

/** An alarm: its metric, its threshold, and the section of the runbook with the response. */
export type AlarmDefinition = Readonly<{
  /** Unique within the stage; the construct id and the suffix of the alarm name. */
  id: string;
  anchor: RunbookAnchor;
  /** What is wrong when the alarm fires, in one sentence. */
  description: string;
  namespace: string;
  metric: string;
  dimensions: Readonly<Record<string, string>>;
  statistic: "Sum" | "Minimum" | "Maximum" | "SampleCount";
  periodSeconds: number;
  comparison: "at least" | "more than" | "less than";
  threshold: number;
  /** Evaluated periods, and how many of them must breach the threshold. */
  periods: number;
  breachingPeriods: number;
  /** Whether missing data counts as a breach. */
  isMissingDataBreaching: boolean;
}>;

export type AlarmInput = Readonly<{
  names: StageNames;
  resyncMinutes: number;
  /** Desired number of relay tasks; 0 if the relay runs elsewhere. */
  relayTasks: number;
  /** Number of clusters that are not Ready at which an alarm fires. */
  notReadyClusters: number;
}>;

/** Functions whose messages can return to them, as retries do. */
const requeueingFunctions = ["reconcile", "forward", "probe", "resync"] as const satisfies readonly FunctionName[];

const minute = { periodSeconds: 60, isMissingDataBreaching: false };
const immediate = { ...minute, periods: 1, breachingPeriods: 1 };
const sustained = { ...minute, periods: 5, breachingPeriods: 3 };

/** All alarms of a stage. */
export function alarmsOf({
  names,
  resyncMinutes,
  relayTasks,
  notReadyClusters,
}: AlarmInput): readonly AlarmDefinition[] {
  return [
    ...queueAlarms(names),
    ...functionAlarms(names),
    ...scheduleAlarms(names, resyncMinutes),
    ...recursionAlarms(names),
    ...listAlarms(names, notReadyClusters),
    ...relayAlarms(names),
    ...(relayTasks === 0 ? [] : [relayTasksAlarm(names, relayTasks)]),
  ];
}

function queueAlarms({ queues }: StageNames): readonly AlarmDefinition[] {
  const queue = (name: QueueName) => ({ namespace: "AWS/SQS", dimensions: { QueueName: queues[name] } });
  const deadLetterAlarm = (
    id: "dead-letters" | "delay-dead-letters" | "heartbeat-dead-letters",
    name: QueueName,
    description: string,
  ): AlarmDefinition => ({
    id,
    anchor: id,
    description,
    ...queue(name),
    ...immediate,
    metric: "ApproximateNumberOfMessagesVisible",
    statistic: "Maximum",
    comparison: "at least",
    threshold: 1,
  });
  const ageAlarm = (
    id: "work-late" | "delay-late" | "heartbeats-late",
    name: QueueName,
    seconds: number,
    description: string,
  ): AlarmDefinition => ({
    id,
    anchor: id,
    description,
    ...queue(name),
    ...sustained,
    metric: "ApproximateAgeOfOldestMessage",
    statistic: "Maximum",
    comparison: "more than",
    threshold: seconds,
  });
  return [
    deadLetterAlarm("dead-letters", "deadLetters", "Keys were dead-lettered and wait for an operator."),
    deadLetterAlarm(
      "delay-dead-letters",
      "delayDeadLetters",
      "Messages could not be forwarded and wait for an operator.",
    ),
    deadLetterAlarm(
      "heartbeat-dead-letters",
      "heartbeatDeadLetters",
      "Probes of clusters ended without a result, twice in a row.",
    ),
    ageAlarm("work-late", "work", 120, "Keys have waited for a reconcile for more than two minutes."),
    // The longest delay of SQS is 900 seconds.
    ageAlarm("delay-late", "delay", 1_000, "Keys whose delay has expired are not forwarded."),
    // A heartbeat that is late by more than its interval is dropped.
    ageAlarm("heartbeats-late", "heartbeat", 90, "Probes do not keep up with the heartbeat planner."),
  ];
}

function functionAlarms(names: StageNames): readonly AlarmDefinition[] {
  const countAlarm = { ...sustained, statistic: "Sum", comparison: "at least", threshold: 1 } as const;
  return [
    ...functionNames.map(
      (name): AlarmDefinition => ({
        id: `errors-${name}`,
        anchor: "function-errors",
        description: `Invocations of ${name} end in errors or timeouts.`,
        ...lambda(names, name),
        ...countAlarm,
        metric: "Errors",
      }),
    ),
    ...functionNames.map(
      (name): AlarmDefinition => ({
        id: `throttles-${name}`,
        anchor: "function-throttles",
        description: `Invocations of ${name} are throttled by the concurrency limit.`,
        ...lambda(names, name),
        ...countAlarm,
        metric: "Throttles",
      }),
    ),
  ];
}

function scheduleAlarms(names: StageNames, resyncMinutes: number): readonly AlarmDefinition[] {
  // CloudWatch evaluates at most one day, or one week with periods of an hour.
  const resyncPeriodSeconds = 2 * resyncMinutes <= 24 * 60 ? 300 : 3_600;
  const resyncPeriods = Math.ceil((2 * 60 * resyncMinutes) / resyncPeriodSeconds);
  const missingInvocations = {
    metric: "Invocations",
    statistic: "Sum",
    comparison: "less than",
    threshold: 1,
    isMissingDataBreaching: true,
  } as const;
  return [
    {
      id: "planner-missed",
      anchor: "planner-missed",
      description: "The heartbeat planner has not run for three minutes.",
      ...lambda(names, "heartbeat"),
      ...missingInvocations,
      periodSeconds: 60,
      periods: 3,
      breachingPeriods: 3,
    },
    {
      id: "resync-missed",
      anchor: "resync-missed",
      description: "Two resyncs were missed.",
      ...lambda(names, "resync"),
      ...missingInvocations,
      periodSeconds: resyncPeriodSeconds,
      periods: resyncPeriods,
      breachingPeriods: resyncPeriods,
    },
    {
      id: "resync-left",
      anchor: "resync-left",
      // A resync that finished reports 0. One that was cut off, cannot list a workspace, or died, does not.
      description: "No resync within two intervals enqueued every key.",
      ...functionMetric(names, "tmc_resync_left"),
      statistic: "Minimum",
      comparison: "at least",
      threshold: 1,
      isMissingDataBreaching: true,
      periodSeconds: resyncPeriodSeconds,
      periods: resyncPeriods,
      breachingPeriods: resyncPeriods,
    },
  ];
}

/** Alarms on what the heartbeat planner lists every minute; `planner-missed` reports missing data. */
function listAlarms(names: StageNames, notReadyClusters: number): readonly AlarmDefinition[] {
  return [
    {
      id: "workspaces-unread",
      anchor: "workspaces-unread",
      description: "A workspace, or an endpoint of all tenants, cannot be listed; its clusters are not probed.",
      ...functionMetric(names, "tmc_unread_workspaces"),
      ...sustained,
      statistic: "Maximum",
      comparison: "at least",
      threshold: 1,
    },
    {
      id: "clusters-not-ready",
      anchor: "clusters-not-ready",
      description: "Clusters have not been Ready for ten minutes.",
      ...functionMetric(names, "tmc_clusters", { ready: "false" }),
      ...minute,
      statistic: "Maximum",
      comparison: "at least",
      threshold: notReadyClusters,
      // Longer than the restart of an API server, which needs no operator; workloads are evicted after five minutes by default.
      periods: 10,
      breachingPeriods: 10,
    },
  ];
}

function recursionAlarms(names: StageNames): readonly AlarmDefinition[] {
  return requeueingFunctions.map((name) => ({
    id: `recursion-dropped-${name}`,
    anchor: "recursion-dropped",
    description: `Lambda took retries of ${name} for a recursive loop and dropped them.`,
    ...lambda(names, name),
    ...immediate,
    metric: "RecursiveInvocationsDropped",
    statistic: "Sum",
    comparison: "at least",
    threshold: 1,
  }));
}

/** Alarms on the metrics that every relay reports once a minute, wherever it runs. */
function relayAlarms(names: StageNames): readonly AlarmDefinition[] {
  const relay = {
    namespace: relayMetrics.namespace,
    dimensions: { [relayMetrics.dimension]: names.stage },
    statistic: "Maximum",
    periodSeconds: 60,
    comparison: "more than",
    periods: 3,
    breachingPeriods: 3,
  } as const;
  return [
    {
      ...relay,
      id: "relay-blind",
      anchor: "relay-blind",
      description: "A relay does not see the changes upstream, or no relay reports.",
      metric: relayMetrics.blind,
      // A relay that starts lists everything first; a shorter loss of the upstream is made up by its watches.
      threshold: 120,
      isMissingDataBreaching: true,
    },
    {
      ...relay,
      id: "relay-dirty",
      anchor: "relay-dirty",
      description: "A relay keeps changes that the queue does not accept.",
      metric: relayMetrics.dirty,
      threshold: 60,
      isMissingDataBreaching: false,
    },
  ];
}

function relayTasksAlarm(names: StageNames, relayTasks: number): AlarmDefinition {
  return {
    id: "relay-tasks",
    anchor: "relay-tasks",
    description: "Fewer relay tasks run than desired.",
    namespace: "AWS/ECS",
    // Each task reports its CPU utilization once a minute, so the number of samples is the number of tasks.
    metric: "CPUUtilization",
    dimensions: { ClusterName: names.relay, ServiceName: names.relay },
    statistic: "SampleCount",
    periodSeconds: 60,
    comparison: "less than",
    threshold: relayTasks,
    periods: 5,
    breachingPeriods: 5,
    isMissingDataBreaching: true,
  };
}

function lambda({ functions }: StageNames, name: FunctionName) {
  return { namespace: "AWS/Lambda", dimensions: { FunctionName: functions[name] } };
}

/** A metric that functions write, with its labels. */
function functionMetric({ stage }: StageNames, metric: MetricName, labels: Readonly<Record<string, string>> = {}) {
  return { namespace: emfNamespace, metric, dimensions: { ...labels, service: emfServiceOf(stage) } };
}
