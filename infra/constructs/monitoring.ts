import { Duration } from "aws-cdk-lib";
import {
  Alarm,
  AlarmStatusWidget,
  ComparisonOperator,
  Dashboard,
  GraphWidget,
  type IMetric,
  type IWidget,
  MathExpression,
  Metric,
  TextWidget,
  TreatMissingData,
} from "aws-cdk-lib/aws-cloudwatch";
import { SnsAction } from "aws-cdk-lib/aws-cloudwatch-actions";
import type { ITopic } from "aws-cdk-lib/aws-sns";
import { Construct } from "constructs";
import { relayMetrics } from "../../lib/relay/observe/cloudwatch-metrics.ts";
import { type AlarmDefinition, type AlarmInput, alarmsOf } from "../alarms.ts";
import { type FunctionName, functionNames, type QueueName, type StageNames } from "../names.ts";

export interface MonitoringProps {
  readonly names: StageNames;
  /** @default 30 */
  readonly resyncMinutes?: number;
  /**
   * Desired number of relay tasks; 0 if the relay runs elsewhere.
   * @default 2
   */
  readonly relayTasks?: number;
  /**
   * Number of clusters that are not Ready at which an alarm fires.
   * @default 1
   */
  readonly notReadyClusters?: number;
  /**
   * Topics that are notified of alarms.
   * @default none, alarms are only shown
   */
  readonly topics?: readonly ITopic[];
}

const comparisons = {
  "at least": ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
  "more than": ComparisonOperator.GREATER_THAN_THRESHOLD,
  "less than": ComparisonOperator.LESS_THAN_THRESHOLD,
} as const;

/** The alarms, each with a link to its section of the runbook, and a dashboard. */
export class Monitoring extends Construct {
  readonly alarms: readonly Alarm[];
  readonly dashboard: Dashboard;

  constructor(scope: Construct, id: string, props: MonitoringProps) {
    super(scope, id);
    const { names, topics = [], resyncMinutes = 30, relayTasks = 2, notReadyClusters = 1 } = props;
    const facts: AlarmInput = { names, resyncMinutes, relayTasks, notReadyClusters };
    this.alarms = alarmsOf(facts).map((definition) => this.#alarm(names, definition));
    for (const alarm of this.alarms) {
      for (const topic of topics) {
        alarm.addAlarmAction(new SnsAction(topic));
        alarm.addOkAction(new SnsAction(topic));
      }
    }
    this.dashboard = new Dashboard(this, "Dashboard", {
      dashboardName: names.dashboard,
      defaultInterval: Duration.hours(3),
      widgets: [
        [new TextWidget({ markdown: `# TMC ${names.stage}\nSee docs/runbook.md`, width: 24, height: 2 })],
        [new AlarmStatusWidget({ title: "Alarms", alarms: [...this.alarms], width: 24, height: 5 })],
        controllerRow(names),
        ...queueRows(names),
        ...functionRows(names),
        relayMetricsRow(names),
        ...(relayTasks === 0 ? [] : [relayRow(names)]),
      ],
    });
  }

  #alarm(names: StageNames, definition: AlarmDefinition): Alarm {
    return new Alarm(this, definition.id, {
      alarmName: `tmc-${names.stage}-${definition.id}`,
      alarmDescription: `${definition.description} See docs/runbook.md#${definition.anchor}`,
      metric: new Metric({
        namespace: definition.namespace,
        metricName: definition.metric,
        dimensionsMap: { ...definition.dimensions },
        statistic: definition.statistic,
        period: Duration.seconds(definition.periodSeconds),
      }),
      comparisonOperator: comparisons[definition.comparison],
      threshold: definition.threshold,
      evaluationPeriods: definition.periods,
      datapointsToAlarm: definition.breachingPeriods,
      treatMissingData: definition.isMissingDataBreaching ? TreatMissingData.BREACHING : TreatMissingData.NOT_BREACHING,
    });
  }
}

const minute = Duration.minutes(1);

const graph = (title: string, left: readonly IMetric[]): IWidget =>
  new GraphWidget({ title, left: [...left], width: 8, height: 6 });

/** Metrics of the functions. A search finds all combinations of labels, including future ones. */
function controllerRow({ stage }: StageNames): IWidget[] {
  const found = (metric: string, statistic: string, ...labels: readonly string[]): IMetric =>
    new MathExpression({
      expression: `SEARCH('{TMC,${[...labels, "service"].join(",")}} service="tmc-${stage}" MetricName="${metric}"', '${statistic}')`,
      label: "",
      period: minute,
    });
  return [
    graph("Reconciles", [found("tmc_reconcile_total", "Sum", "kind", "outcome")]),
    graph("Reconcile p99, seconds", [found("tmc_reconcile_duration_seconds", "p99", "kind", "outcome")]),
    graph("Probes", [found("tmc_probe_total", "Sum", "outcome")]),
    graph("Clusters by readiness", [found("tmc_clusters", "Maximum", "ready")]),
    graph("Resync: lists left", [found("tmc_resync_left", "Maximum")]),
    graph("Workspaces that cannot be listed", [found("tmc_unread_workspaces", "Maximum")]),
  ];
}

function queueRows({ queues }: StageNames): IWidget[][] {
  const of = (name: QueueName, metricName: string, label: string): Metric =>
    new Metric({
      namespace: "AWS/SQS",
      metricName,
      dimensionsMap: { QueueName: queues[name] },
      statistic: "Maximum",
      period: minute,
      label,
    });
  return [
    [
      graph("Waiting messages", [
        of("work", "ApproximateNumberOfMessagesVisible", "work"),
        of("delay", "ApproximateNumberOfMessagesDelayed", "delayed"),
        of("heartbeat", "ApproximateNumberOfMessagesVisible", "heartbeats"),
      ]),
      graph("Age of oldest message, seconds", [
        of("work", "ApproximateAgeOfOldestMessage", "work"),
        of("delay", "ApproximateAgeOfOldestMessage", "delay"),
        of("heartbeat", "ApproximateAgeOfOldestMessage", "heartbeats"),
      ]),
      graph("Dead letters", [
        of("deadLetters", "ApproximateNumberOfMessagesVisible", "work"),
        of("heartbeatDeadLetters", "ApproximateNumberOfMessagesVisible", "heartbeats"),
        of("delayDeadLetters", "ApproximateNumberOfMessagesVisible", "delay"),
      ]),
    ],
  ];
}

function functionRows({ functions }: StageNames): IWidget[][] {
  const perFunction = (metricName: string, statistic: string): Metric[] =>
    functionNames.map(
      (name: FunctionName) =>
        new Metric({
          namespace: "AWS/Lambda",
          metricName,
          dimensionsMap: { FunctionName: functions[name] },
          statistic,
          period: minute,
          label: name,
        }),
    );
  return [
    [
      graph("Invocations", perFunction("Invocations", "Sum")),
      graph("Errors", perFunction("Errors", "Sum")),
      graph("Throttles", perFunction("Throttles", "Sum")),
    ],
    [
      graph("Duration p50, ms", perFunction("Duration", "p50")),
      graph("Duration p99, ms", perFunction("Duration", "p99")),
      graph("Concurrent invocations", perFunction("ConcurrentExecutions", "Maximum")),
    ],
  ];
}

/** Metrics that the relay itself writes, wherever it runs. */
function relayMetricsRow({ stage }: StageNames): IWidget[] {
  const { namespace, dimension, blind, dirty } = relayMetrics;
  const of = (metricName: string): Metric =>
    new Metric({ namespace, metricName, dimensionsMap: { [dimension]: stage }, statistic: "Maximum", period: minute });
  return [
    graph("Relay: seconds without a view of the upstream", [of(blind)]),
    graph("Relay: oldest unsent key, seconds", [of(dirty)]),
  ];
}

function relayRow({ relay }: StageNames): IWidget[] {
  const of = (metricName: string, statistic: string): Metric =>
    new Metric({
      namespace: "AWS/ECS",
      metricName,
      dimensionsMap: { ClusterName: relay, ServiceName: relay },
      statistic,
      period: minute,
    });
  return [
    graph("Relay: running tasks", [of("CPUUtilization", "SampleCount")]),
    graph("Relay: CPU, %", [of("CPUUtilization", "Maximum")]),
    graph("Relay: memory, %", [of("MemoryUtilization", "Maximum")]),
  ];
}
