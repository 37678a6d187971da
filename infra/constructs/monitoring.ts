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
import { type AlarmDefinition, type AlarmFacts, alarmsOf } from "../alarms.ts";
import { type FunctionName, functionNames, type QueueName, type StageNames } from "../names.ts";

export interface MonitoringProps {
  /** Names of what is watched. */
  readonly names: StageNames;
  /** @default 30 */
  readonly resyncMinutes?: number;
  /**
   * How many relay tasks there should be; 0 when the relay runs elsewhere.
   * @default 2
   */
  readonly relayTasks?: number;
  /**
   * Who is told of alarms.
   * @default nobody, they are only shown
   */
  readonly topic?: ITopic;
}

const comparisons = {
  "at least": ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
  "more than": ComparisonOperator.GREATER_THAN_THRESHOLD,
  "less than": ComparisonOperator.LESS_THAN_THRESHOLD,
} as const;

/** Alarms that each name their section of the runbook, and a dashboard to look at them with. */
export class Monitoring extends Construct {
  readonly alarms: readonly Alarm[];
  readonly dashboard: Dashboard;

  constructor(scope: Construct, id: string, props: MonitoringProps) {
    super(scope, id);
    const { names, topic, resyncMinutes = 30, relayTasks = 2 } = props;
    const facts: AlarmFacts = { names, resyncMinutes, relayTasks };
    this.alarms = alarmsOf(facts).map((definition) => this.#alarm(names, definition));
    for (const alarm of this.alarms) {
      if (topic === undefined) continue;
      alarm.addAlarmAction(new SnsAction(topic));
      alarm.addOkAction(new SnsAction(topic));
    }
    this.dashboard = new Dashboard(this, "Dashboard", {
      dashboardName: names.dashboard,
      defaultInterval: Duration.hours(3),
      widgets: [
        [new TextWidget({ markdown: `# TMC ${names.stage}\nWhat to do: docs/runbook.md`, width: 24, height: 2 })],
        [new AlarmStatusWidget({ title: "Alarms", alarms: [...this.alarms], width: 24, height: 5 })],
        controllerRow(names),
        ...queueRows(names),
        ...functionRows(names),
        ...(relayTasks === 0 ? [] : [relayRow(names)]),
      ],
    });
  }

  #alarm(names: StageNames, definition: AlarmDefinition): Alarm {
    return new Alarm(this, definition.id, {
      alarmName: `tmc-${names.stage}-${definition.id}`,
      alarmDescription: `${definition.says} See docs/runbook.md#${definition.anchor}`,
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
      datapointsToAlarm: definition.wrongPeriods,
      treatMissingData: definition.silenceIsWrong ? TreatMissingData.BREACHING : TreatMissingData.NOT_BREACHING,
    });
  }
}

const minute = Duration.minutes(1);

const graph = (title: string, left: readonly IMetric[]): IWidget =>
  new GraphWidget({ title, left: [...left], width: 8, height: 6 });

/** What the functions say of themselves; under their names, however many outcomes and kinds there come to be. */
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
      graph("Messages that wait", [
        of("work", "ApproximateNumberOfMessagesVisible", "work"),
        of("delay", "ApproximateNumberOfMessagesDelayed", "delayed"),
        of("heartbeat", "ApproximateNumberOfMessagesVisible", "heartbeats"),
      ]),
      graph("Age of the oldest, seconds", [
        of("work", "ApproximateAgeOfOldestMessage", "work"),
        of("delay", "ApproximateAgeOfOldestMessage", "delay"),
        of("heartbeat", "ApproximateAgeOfOldestMessage", "heartbeats"),
      ]),
      graph("Set aside", [
        of("deadLetters", "ApproximateNumberOfMessagesVisible", "dead letters"),
        of("delayDeadLetters", "ApproximateNumberOfMessagesVisible", "not forwarded"),
      ]),
    ],
  ];
}

function functionRows({ functions }: StageNames): IWidget[][] {
  const each = (metricName: string, statistic: string): Metric[] =>
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
      graph("Runs", each("Invocations", "Sum")),
      graph("Errors", each("Errors", "Sum")),
      graph("Throttles", each("Throttles", "Sum")),
    ],
    [
      graph("Duration p50, ms", each("Duration", "p50")),
      graph("Duration p99, ms", each("Duration", "p99")),
      graph("At once", each("ConcurrentExecutions", "Maximum")),
    ],
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
    graph("Relays that run", [of("CPUUtilization", "SampleCount")]),
    graph("Relays: processor, %", [of("CPUUtilization", "Maximum")]),
    graph("Relays: memory, %", [of("MemoryUtilization", "Maximum")]),
  ];
}
