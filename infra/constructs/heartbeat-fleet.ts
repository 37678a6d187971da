import { Duration } from "aws-cdk-lib";
import { SqsEventSource } from "aws-cdk-lib/aws-lambda-event-sources";
import { Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import { acknowledge } from "../checks.ts";
import type { ClusterAccess } from "./cluster-access.ts";
import { checkReserved } from "./concurrency.ts";
import { ControllerFunction, defaultTimeout, type FunctionSetup } from "./controller-function.ts";
import { Every } from "./every.ts";
import type { HubAccess } from "./hub-access.ts";
import { visibilityFor, type WorkQueue } from "./work-queue.ts";

export interface HeartbeatFleetProps {
  readonly setup: FunctionSetup;
  /** Name of the function that finds the clusters that are due. */
  readonly plannerName: string;
  /** Name of the function that probes them. */
  readonly probeName: string;
  readonly queueName: string;
  readonly scheduleName: string;
  /** Where a probe sends keys that have to be looked at. */
  readonly queue: WorkQueue;
  readonly hub: HubAccess;
  readonly clusters: ClusterAccess;
  /**
   * Messages, of up to 50 clusters each, that are probed at once, 2 to 1,000.
   * @default 10
   */
  readonly maxConcurrency?: number;
  /**
   * Concurrent runs that are set aside for probes; at least `maxConcurrency`.
   * @default none
   */
  readonly reservedConcurrency?: number;
}

/** Probes every registered cluster: once a minute a planner finds those that are due, and probes work through them in batches. */
export class HeartbeatFleet extends Construct {
  readonly heartbeats: Queue;
  readonly planner: ControllerFunction;
  readonly probe: ControllerFunction;

  constructor(scope: Construct, id: string, props: HeartbeatFleetProps) {
    super(scope, id);
    const { setup, queue, hub, clusters, maxConcurrency = 10, reservedConcurrency } = props;
    checkReserved(props.probeName, maxConcurrency, reservedConcurrency);

    // A heartbeat lives for two rounds and never outlives the visibility of the first try: a late one helps nobody.
    this.heartbeats = new Queue(this, "Heartbeats", {
      queueName: props.queueName,
      retentionPeriod: Duration.seconds(120),
      visibilityTimeout: visibilityFor(setup.timeout ?? defaultTimeout),
      encryption: QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
    });
    const late =
      "a heartbeat that failed is worth nothing once the next one is planned, a minute later; an alarm tells of late ones";
    acknowledge(this.heartbeats, "AwsSolutions-SQS3", late);
    acknowledge(this.heartbeats, "Serverless-SQSRedrivePolicy", late);

    this.planner = new ControllerFunction(this, "Planner", {
      setup,
      bundle: "heartbeat",
      functionName: props.plannerName,
      description: "Finds the clusters that are due for a probe",
      calledBy: "schedule",
      environment: {
        ...hub.environment,
        TMC_HEARTBEAT_SECONDS: String(clusters.heartbeatSeconds),
        TMC_HEARTBEAT_QUEUE_URL: this.heartbeats.queueUrl,
      },
      retryAttempts: 0, // the next minute comes by itself
    });
    hub.grantOpen(this.planner.role);
    this.heartbeats.grantSendMessages(this.planner.role);
    new Every(this, "Minute", {
      scheduleName: props.scheduleName,
      description: "Has clusters that are due probed",
      minutes: 1,
      target: this.planner.function,
    });

    this.probe = new ControllerFunction(this, "Probe", {
      setup,
      bundle: "probe",
      functionName: props.probeName,
      description: "Probes clusters, up to 50 per message",
      calledBy: "queue",
      environment: {
        ...hub.environment,
        ...clusters.environment,
        ...queue.environment,
      },
      loops: true,
      ...(reservedConcurrency === undefined ? {} : { reservedConcurrency }),
    });
    this.probe.function.addEventSource(new SqsEventSource(this.heartbeats, { batchSize: 1, maxConcurrency }));
    queue.grantWork(this.probe.role);
    hub.grantOpen(this.probe.role);
    clusters.grantCredentials(this.probe.role);
  }
}
