import { Duration, RemovalPolicy } from "aws-cdk-lib";
import type { IGrantable } from "aws-cdk-lib/aws-iam";
import { DeduplicationScope, FifoThroughputLimit, Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import { maxSqsReceives } from "../../lib/queue/retry-policy.ts";
import { defaultTenantEventsPerSecond } from "../../lib/queue/tenant-rate-limit.ts";
import { acknowledge } from "../checks.ts";

export interface WorkQueueProps {
  /** Name of the work queue, a FIFO queue; must end in `.fifo`. */
  readonly workName: string;
  /** Name of the delay queue. */
  readonly delayName: string;
  /** Name of the work queue's dead-letter queue; must end in `.fifo`. */
  readonly deadLettersName: string;
  /** Name of the delay queue's dead-letter queue. */
  readonly delayDeadLettersName: string;
  /**
   * Timeout of the functions that consume the queues. The visibility timeout is ten seconds longer.
   * @default 20 seconds
   */
  readonly consumerTimeout?: Duration;
  /**
   * How often a message is received before SQS dead-letters it. Functions dead-letter failing keys themselves, much earlier.
   * @default 1000, the maximum: a receive whose invocation is throttled counts too
   */
  readonly maxReceives?: number;
  /**
   * Removal policy of the dead-letter queues. The content of the other queues is restored by the next list of the relay.
   * @default RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE
   */
  readonly deadLettersRemoval?: RemovalPolicy;
  /**
   * Keys of one tenant that are enqueued per second, if there can be several tenants; 0 for no limit.
   * @default 100
   */
  readonly tenantEventsPerSecond?: number;
}

/**
 * The queues of TMC: a FIFO queue for keys that are due (one message in flight per object), a standard queue for delayed keys
 * (FIFO queues have no delay per message), and a dead-letter queue for each.
 */
export class WorkQueue extends Construct {
  /** Keys that are due; one message group per object. */
  readonly work: Queue;
  /** Delayed keys, up to 15 minutes. */
  readonly delay: Queue;
  readonly deadLetters: Queue;
  /** Separate, because the dead-letter queue of a standard queue must be a standard queue. */
  readonly delayDeadLetters: Queue;
  readonly #tenantEventsPerSecond: number;

  constructor(scope: Construct, id: string, props: WorkQueueProps) {
    super(scope, id);
    this.#tenantEventsPerSecond = props.tenantEventsPerSecond ?? defaultTenantEventsPerSecond;
    const maxReceiveCount = props.maxReceives ?? maxSqsReceives;
    const visibilityTimeout = visibilityTimeoutFor(props.consumerTimeout ?? Duration.seconds(20));
    // A failed first deployment deletes them: empty leftovers would make the second one fail.
    const removalPolicy = props.deadLettersRemoval ?? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE;
    const encrypted = { encryption: QueueEncryption.SQS_MANAGED, enforceSSL: true };
    // High throughput: limits apply per message group, so that thousands of objects do not share one quota.
    const fifo = {
      ...encrypted,
      fifo: true,
      contentBasedDeduplication: false,
      deduplicationScope: DeduplicationScope.MESSAGE_GROUP,
      fifoThroughputLimit: FifoThroughputLimit.PER_MESSAGE_GROUP_ID,
    };
    const maxRetention = Duration.days(14);

    this.deadLetters = new Queue(this, "DeadLetters", {
      ...fifo,
      queueName: props.deadLettersName,
      retentionPeriod: maxRetention,
      removalPolicy,
    });
    this.work = new Queue(this, "Work", {
      ...fifo,
      queueName: props.workName,
      visibilityTimeout,
      deadLetterQueue: { queue: this.deadLetters, maxReceiveCount },
    });
    this.delayDeadLetters = new Queue(this, "DelayDeadLetters", {
      ...encrypted,
      queueName: props.delayDeadLettersName,
      retentionPeriod: maxRetention,
      removalPolicy,
    });
    this.delay = new Queue(this, "Delay", {
      ...encrypted,
      queueName: props.delayName,
      visibilityTimeout,
      deadLetterQueue: { queue: this.delayDeadLetters, maxReceiveCount },
    });

    for (const queue of [this.deadLetters, this.delayDeadLetters]) {
      acknowledge(
        queue,
        "Serverless-SQSRedrivePolicy",
        "it is a dead-letter queue itself: an alarm notifies operators, who inspect it",
      );
    }
  }

  /** Environment of a function that reconciles keys. */
  get environment(): Readonly<Record<string, string>> {
    return {
      TMC_WORK_QUEUE_URL: this.work.queueUrl,
      TMC_DELAY_QUEUE_URL: this.delay.queueUrl,
      TMC_DEAD_LETTERS_URL: this.deadLetters.queueUrl,
      TMC_TENANT_EVENTS_PER_SECOND: String(this.#tenantEventsPerSecond),
    };
  }

  /** Allows a function that reconciles keys to enqueue, delay and dead-letter them. */
  grantWork(grantee: IGrantable): void {
    for (const queue of [this.work, this.delay, this.deadLetters]) queue.grantSendMessages(grantee);
  }
}

/**
 * The timeout of the consumer and ten seconds, for the time between the receive and the invocation.
 *
 * Lambda recommends six times the timeout, because a throttled batch is delivered again after the visibility timeout and counts
 * as received. Here receives do not dead-letter a key (`maxReceives`). A key whose function died, and every newer change of that
 * key, waits for the visibility timeout, so it is short.
 */
export const visibilityTimeoutFor = (consumerTimeout: Duration): Duration =>
  Duration.seconds(consumerTimeout.toSeconds() + 10);
