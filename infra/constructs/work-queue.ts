import { Duration, RemovalPolicy } from "aws-cdk-lib";
import type { IGrantable } from "aws-cdk-lib/aws-iam";
import { DeduplicationScope, FifoThroughputLimit, Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import { defaultTenantEventsPerSecond } from "../../lib/queue/tenant-rate-limit.ts";
import { acknowledge } from "../checks.ts";

export interface WorkQueueProps {
  /** Name of the queue that reconcilers work from; a FIFO queue's has to end in `.fifo`. */
  readonly workName: string;
  /** Name of the queue for what has to wait. */
  readonly delayName: string;
  /** Name of the queue for what reconcilers gave up; ends in `.fifo`. */
  readonly deadLettersName: string;
  /** Name of the queue for what could not be forwarded. */
  readonly delayDeadLettersName: string;
  /**
   * Time-out of the functions that work from the queues; what they took comes back after six of them, as Lambda advises.
   * @default 20 seconds
   */
  readonly consumerTimeout?: Duration;
  /**
   * How often a message is handed out before it is set aside.
   * @default 5
   */
  readonly maxReceives?: number;
  /**
   * What becomes of dead letters when the stack goes; all else in the queues is found again by the next list of the relay.
   * @default RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE
   */
  readonly deadLettersRemoval?: RemovalPolicy;
  /**
   * How many keys of one tenant are queued in a second, where there can be several tenants; 0 for any number.
   * @default 100
   */
  readonly tenantEventsPerSecond?: number;
}

/**
 * The work queue in its three parts: FIFO for what is due (one message in flight per object), standard for what has to
 * wait (FIFO knows no delay per message), and for each of them a queue for what was given up.
 */
export class WorkQueue extends Construct {
  /** Keys that are due; the group of a message is its object. */
  readonly work: Queue;
  /** Keys that wait up to 15 minutes. */
  readonly delay: Queue;
  /** Keys that reconcilers gave up. */
  readonly deadLetters: Queue;
  /** Messages that could not be forwarded; apart, since the dead-letter queue of a standard queue must be standard. */
  readonly delayDeadLetters: Queue;
  readonly #tenantEventsPerSecond: number;

  constructor(scope: Construct, id: string, props: WorkQueueProps) {
    super(scope, id);
    this.#tenantEventsPerSecond = props.tenantEventsPerSecond ?? defaultTenantEventsPerSecond;
    const maxReceiveCount = props.maxReceives ?? 5;
    const visibilityTimeout = visibilityFor(props.consumerTimeout ?? Duration.seconds(20));
    // A first deploy that fails takes them with it: left behind empty, they would stand in the way of the second.
    const removalPolicy = props.deadLettersRemoval ?? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE;
    const sealed = { encryption: QueueEncryption.SQS_MANAGED, enforceSSL: true };
    // High throughput: both limits count per group, so that thousands of objects do not share one quota.
    const fifo = {
      ...sealed,
      fifo: true,
      contentBasedDeduplication: false,
      deduplicationScope: DeduplicationScope.MESSAGE_GROUP,
      fifoThroughputLimit: FifoThroughputLimit.PER_MESSAGE_GROUP_ID,
    };
    const longest = Duration.days(14);

    this.deadLetters = new Queue(this, "DeadLetters", {
      ...fifo,
      queueName: props.deadLettersName,
      retentionPeriod: longest,
      removalPolicy,
    });
    this.work = new Queue(this, "Work", {
      ...fifo,
      queueName: props.workName,
      visibilityTimeout,
      deadLetterQueue: { queue: this.deadLetters, maxReceiveCount },
    });
    this.delayDeadLetters = new Queue(this, "DelayDeadLetters", {
      ...sealed,
      queueName: props.delayDeadLettersName,
      retentionPeriod: longest,
      removalPolicy,
    });
    this.delay = new Queue(this, "Delay", {
      ...sealed,
      queueName: props.delayName,
      visibilityTimeout,
      deadLetterQueue: { queue: this.delayDeadLetters, maxReceiveCount },
    });

    for (const end of [this.deadLetters, this.delayDeadLetters]) {
      acknowledge(
        end,
        "Serverless-SQSRedrivePolicy",
        "it is the end of the way: people look at it, an alarm calls them",
      );
    }
  }

  /** What a function that works on keys is told of the queues. */
  get environment(): Readonly<Record<string, string>> {
    return {
      TMC_WORK_QUEUE_URL: this.work.queueUrl,
      TMC_DELAY_QUEUE_URL: this.delay.queueUrl,
      TMC_DEAD_LETTERS_URL: this.deadLetters.queueUrl,
      TMC_TENANT_EVENTS_PER_SECOND: String(this.#tenantEventsPerSecond),
    };
  }

  /** Lets a function that works on keys send more of them, put some off and give some up. */
  grantWork(grantee: IGrantable): void {
    for (const queue of [this.work, this.delay, this.deadLetters]) queue.grantSendMessages(grantee);
  }
}

/** Lambda may hand a message to a function several times over before it gives it back; six time-outs cover that. */
export const visibilityFor = (consumerTimeout: Duration): Duration => Duration.seconds(6 * consumerTimeout.toSeconds());
