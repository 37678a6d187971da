import { Duration } from "aws-cdk-lib";
import { SqsEventSource } from "aws-cdk-lib/aws-lambda-event-sources";
import { Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import { acknowledge } from "../checks.ts";
import type { ClusterAccess } from "./cluster-access.ts";
import { assertReservedConcurrency } from "./concurrency.ts";
import { ControllerFunction, defaultTimeout, type FunctionSetup } from "./controller-function.ts";
import { FixedRateSchedule } from "./fixed-rate-schedule.ts";
import type { HubAccess } from "./hub-access.ts";
import { visibilityTimeoutFor, type WorkQueue } from "./work-queue.ts";

export interface HeartbeatPipelineProps {
  readonly setup: FunctionSetup;
  /** Name of the function that plans the probes. */
  readonly plannerName: string;
  /** Name of the function that probes the clusters. */
  readonly probeName: string;
  readonly queueName: string;
  readonly deadLettersName: string;
  readonly scheduleName: string;
  /** Receives the keys that a probe enqueues. */
  readonly queue: WorkQueue;
  readonly hub: HubAccess;
  readonly clusters: ClusterAccess;
  /**
   * Concurrent messages, with up to 50 clusters each, 2 to 1,000.
   * @default 10
   */
  readonly maxConcurrency?: number;
  /**
   * Reserved concurrency of the probe function; at least `maxConcurrency`.
   * @default none
   */
  readonly reservedConcurrency?: number;
}

/** The planner spreads the messages of a run over less than a minute. */
const maxDelaySeconds = 60;
/** Receives of a heartbeat before it is dead-lettered: a probe that is later than a minute or two has no value. */
const heartbeatReceives = 2;

/** Probes every registered cluster: once a minute the planner sends the clusters that are due to a queue, and probes consume it. */
export class HeartbeatPipeline extends Construct {
  readonly heartbeats: Queue;
  readonly deadLetters: Queue;
  readonly planner: ControllerFunction;
  readonly probe: ControllerFunction;

  constructor(scope: Construct, id: string, props: HeartbeatPipelineProps) {
    super(scope, id);
    const { setup, queue, hub, clusters, maxConcurrency = 10, reservedConcurrency } = props;
    assertReservedConcurrency(props.probeName, maxConcurrency, reservedConcurrency);

    const encrypted = { encryption: QueueEncryption.SQS_MANAGED, enforceSSL: true };
    const visibilityTimeout = visibilityTimeoutFor(setup.timeout ?? defaultTimeout);
    // A dead heartbeat names the clusters that were probed when the function died. It is not redriven: the next one is planned already.
    this.deadLetters = new Queue(this, "DeadLetters", {
      ...encrypted,
      queueName: props.deadLettersName,
      retentionPeriod: Duration.days(1),
    });
    acknowledge(
      this.deadLetters,
      "Serverless-SQSRedrivePolicy",
      "it is a dead-letter queue itself: an alarm notifies operators, who inspect it",
    );
    this.heartbeats = new Queue(this, "Heartbeats", {
      ...encrypted,
      queueName: props.queueName,
      visibilityTimeout,
      // The retention counts from the send, so the message must outlive its delay and its receives to be dead-lettered.
      retentionPeriod: Duration.seconds(
        60 * Math.ceil((maxDelaySeconds + heartbeatReceives * visibilityTimeout.toSeconds() + 30) / 60),
      ),
      deadLetterQueue: { queue: this.deadLetters, maxReceiveCount: heartbeatReceives },
    });

    this.planner = new ControllerFunction(this, "Planner", {
      setup,
      bundle: "heartbeat",
      functionName: props.plannerName,
      description: "Plans the probes of clusters",
      invokedBy: "schedule",
      environment: {
        ...hub.environment,
        TMC_HEARTBEAT_SECONDS: String(clusters.heartbeatSeconds),
        TMC_HEARTBEAT_QUEUE_URL: this.heartbeats.queueUrl,
      },
      retryAttempts: 0, // the next invocation is a minute away
    });
    hub.grantReadKubeconfig(this.planner.role);
    this.heartbeats.grantSendMessages(this.planner.role);
    new FixedRateSchedule(this, "Minute", {
      scheduleName: props.scheduleName,
      description: "Starts the heartbeat planner",
      minutes: 1,
      target: this.planner.function,
    });

    this.probe = new ControllerFunction(this, "Probe", {
      setup,
      bundle: "probe",
      functionName: props.probeName,
      description: "Probes clusters, up to 50 per message",
      invokedBy: "queue",
      environment: {
        ...hub.environment,
        ...clusters.environment,
        ...queue.environment,
      },
      allowRecursion: true,
      ...(reservedConcurrency === undefined ? {} : { reservedConcurrency }),
    });
    this.probe.function.addEventSource(new SqsEventSource(this.heartbeats, { batchSize: 1, maxConcurrency }));
    queue.grantWork(this.probe.role);
    hub.grantReadKubeconfig(this.probe.role);
    clusters.grantCredentials(this.probe.role);
  }
}
