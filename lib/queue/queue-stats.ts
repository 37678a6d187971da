import { GetQueueAttributesCommand } from "@aws-sdk/client-sqs";
import { isRecord } from "@tmc/kube/json.ts";
import { type QueueUrls, queueName, type SqsClient, sqsError } from "./sqs-client.ts";

/** Message counts of a queue. SQS samples them, and has no ages per message. */
export type QueueStats = Readonly<{
  queue: keyof QueueUrls;
  name: string;
  /** Messages that can be received. */
  visible: number;
  /** Messages that were received and not yet deleted. */
  inFlight: number;
  /** Messages whose delay has not expired. */
  delayed: number;
}>;

export type KnownQueues = Readonly<{ work: string; delay?: string | undefined; deadLetters?: string | undefined }>;

export async function readQueueStats(sqs: SqsClient, queue: keyof QueueUrls, url: string): Promise<QueueStats> {
  const attributes = await readAttributes(sqs, url);
  const count = (name: string): number => Number(attributes[name] ?? 0);
  return {
    queue,
    name: queueName(url),
    visible: count("ApproximateNumberOfMessages"),
    inFlight: count("ApproximateNumberOfMessagesNotVisible"),
    delayed: count("ApproximateNumberOfMessagesDelayed"),
  };
}

/**
 * Finds the queues of a work queue that were not given: the dead-letter queue from its redrive policy, the delay queue by
 * the naming convention, if that queue exists.
 */
export async function findQueues(sqs: SqsClient, known: KnownQueues): Promise<KnownQueues> {
  const { work } = known;
  return {
    work,
    deadLetters: known.deadLetters ?? (await findDeadLetters(sqs, work)),
    delay: known.delay ?? (await findDelayQueue(sqs, work)),
  };
}

/** Finds the dead-letter queue of a work queue; undefined if it has none. */
export async function findDeadLetters(sqs: SqsClient, work: string): Promise<string | undefined> {
  return deadLettersUrl(work, (await readAttributes(sqs, work)).RedrivePolicy);
}

async function findDelayQueue(sqs: SqsClient, work: string): Promise<string | undefined> {
  if (!work.endsWith("work.fifo")) return undefined;
  const url = work.replace(/work\.fifo$/, "delay");
  try {
    await readAttributes(sqs, url);
    return url;
  } catch (error) {
    if (error instanceof Error && error.cause instanceof Error && isQueueMissing(error.cause)) return undefined;
    throw error;
  }
}

/** The redrive policy has an ARN. SQS requires the same account and region, so the URL differs only in the name. */
function deadLettersUrl(work: string, policy: string | undefined): string | undefined {
  const parsed: unknown = policy === undefined ? undefined : JSON.parse(policy);
  const arn = isRecord(parsed) ? parsed.deadLetterTargetArn : undefined;
  if (typeof arn !== "string") return undefined;
  return `${work.slice(0, work.lastIndexOf("/") + 1)}${arn.slice(arn.lastIndexOf(":") + 1)}`;
}

async function readAttributes(sqs: SqsClient, url: string): Promise<Readonly<Record<string, string | undefined>>> {
  try {
    const { Attributes = {} } = await sqs.send(
      new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ["All"] }),
    );
    return Attributes;
  } catch (error) {
    throw sqsError(`read attributes of ${queueName(url)}`, error);
  }
}

function isQueueMissing({ name }: Error): boolean {
  return name === "QueueDoesNotExist" || name === "AWS.SimpleQueueService.NonExistentQueue";
}
