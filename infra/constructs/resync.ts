import { Duration } from "aws-cdk-lib";
import { SqsEventSource } from "aws-cdk-lib/aws-lambda-event-sources";
import { Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import { resyncRunSeconds } from "../../lib/lambda/messages.ts";
import { acknowledge } from "../checks.ts";
import { ControllerFunction, type FunctionSetup } from "./controller-function.ts";
import { FixedRateSchedule } from "./fixed-rate-schedule.ts";
import type { HubAccess } from "./hub-access.ts";
import { visibilityTimeoutFor, type WorkQueue } from "./work-queue.ts";

export interface ResyncProps {
  readonly setup: FunctionSetup;
  readonly functionName: string;
  readonly scheduleName: string;
  /** Name of the queue with the place at which an unfinished resync continues. */
  readonly queueName: string;
  readonly queue: WorkQueue;
  readonly hub: HubAccess;
  /**
   * Whole minutes between two resyncs.
   * @default 30
   */
  readonly minutes?: number;
  /**
   * Whether workloads are resynced too.
   * @default true
   */
  readonly sync?: boolean;
}

/** Time for the last calls of an invocation that has worked for `resyncRunSeconds`. */
const lastCallsSeconds = 60;

/** Enqueues every key periodically, which repairs missed changes. An invocation that runs out of time continues in the next one, through a queue. */
export class Resync extends Construct {
  readonly resync: ControllerFunction;
  readonly continuations: Queue;

  constructor(scope: Construct, id: string, props: ResyncProps) {
    super(scope, id);
    const minutes = props.minutes ?? 30;
    const timeout = Duration.seconds(resyncRunSeconds + lastCallsSeconds);
    this.continuations = new Queue(this, "Continuations", {
      queueName: props.queueName,
      // An unfinished resync ends when the next one starts. The message must outlive one invocation that dies with it.
      retentionPeriod: Duration.minutes(Math.max(minutes, 15)),
      visibilityTimeout: visibilityTimeoutFor(timeout),
      encryption: QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
    });
    const reason = "a continuation has no value once the next resync starts; an alarm reports unfinished resyncs";
    acknowledge(this.continuations, "AwsSolutions-SQS3", reason);
    acknowledge(this.continuations, "Serverless-SQSRedrivePolicy", reason);
    this.resync = new ControllerFunction(this, "Resync", {
      setup: props.setup,
      bundle: "resync",
      functionName: props.functionName,
      description: "Sends every key to the delay queue",
      invokedBy: "schedule",
      environment: {
        ...props.hub.environment,
        TMC_DELAY_QUEUE_URL: props.queue.delay.queueUrl,
        TMC_RESYNC_QUEUE_URL: this.continuations.queueUrl,
        TMC_RESYNC_SECONDS: String(60 * minutes),
        TMC_SYNC: String(props.sync ?? true),
      },
      retryAttempts: 2, // the next resync is half an hour away
      timeout,
      // A full vCPU has 1,769 MB; signing and sending of 100,000 calls is CPU time.
      memorySize: 1_769,
      // It sends to its own queue as often as a resync takes invocations.
      allowRecursion: true,
    });
    // Two is the minimum; a chain of continuations uses one.
    this.resync.function.addEventSource(new SqsEventSource(this.continuations, { batchSize: 1, maxConcurrency: 2 }));
    acknowledge(this.resync.function, "Serverless-LambdaEventSourceMappingDestination", reason);
    this.continuations.grantSendMessages(this.resync.role);
    props.hub.grantReadKubeconfig(this.resync.role);
    props.queue.delay.grantSendMessages(this.resync.role);
    new FixedRateSchedule(this, "Round", {
      scheduleName: props.scheduleName,
      description: "Starts a resync of all objects",
      minutes,
      target: this.resync.function,
    });
  }
}
