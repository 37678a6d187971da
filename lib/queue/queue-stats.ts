import { GetQueueAttributesCommand } from "@aws-sdk/client-sqs";
import { isRecord } from "@tmc/kube/json-record.ts";
import { errorOfSqs, nameOfQueue, type QueueUrls, type SqsClient } from "./sqs-client.ts";

/** How much is in a queue; SQS counts by sampling, and says of no message how old it is. */
export type QueueStats = Readonly<{
  queue: keyof QueueUrls;
  name: string;
  /** Messages that whoever asks gets. */
  visible: number;
  /** Messages that are being worked on. */
  inFlight: number;
  /** Messages that wait for their time. */
  delayed: number;
}>;

/** The queues as far as they are known. */
export type KnownQueues = Readonly<{ work: string; delay?: string | undefined; deadLetters?: string | undefined }>;

/** Reads how much is in a queue. */
export async function readQueueStats(sqs: SqsClient, queue: keyof QueueUrls, url: string): Promise<QueueStats> {
  const attributes = await attributesOf(sqs, url);
  const count = (name: string): number => Number(attributes[name] ?? 0);
  return {
    queue,
    name: nameOfQueue(url),
    visible: count("ApproximateNumberOfMessages"),
    inFlight: count("ApproximateNumberOfMessagesNotVisible"),
    delayed: count("ApproximateNumberOfMessagesDelayed"),
  };
}

/**
 * Finds the queues that belong to a work queue, where they were not named: its dead letters by what it says itself, its
 * delay queue by the name that goes with its own, if there is such a queue.
 */
export async function findQueues(sqs: SqsClient, given: KnownQueues): Promise<KnownQueues> {
  const { work } = given;
  return {
    work,
    deadLetters: given.deadLetters ?? (await findDeadLetters(sqs, work)),
    delay: given.delay ?? (await delayOf(sqs, work)),
  };
}

/** Finds the dead letters of a work queue; undefined when it keeps none. */
export async function findDeadLetters(sqs: SqsClient, work: string): Promise<string | undefined> {
  return deadLettersOf(work, (await attributesOf(sqs, work)).RedrivePolicy);
}

async function delayOf(sqs: SqsClient, work: string): Promise<string | undefined> {
  if (!work.endsWith("work.fifo")) return undefined;
  const url = work.replace(/work\.fifo$/, "delay");
  try {
    await attributesOf(sqs, url);
    return url;
  } catch (error) {
    if (error instanceof Error && error.cause instanceof Error && isMissing(error.cause)) return undefined;
    throw error;
  }
}

/** A redrive policy names its queue by an ARN; it is in the same account and region, as SQS demands. */
function deadLettersOf(work: string, policy: string | undefined): string | undefined {
  const parsed: unknown = policy === undefined ? undefined : JSON.parse(policy);
  const arn = isRecord(parsed) ? parsed.deadLetterTargetArn : undefined;
  if (typeof arn !== "string") return undefined;
  return `${work.slice(0, work.lastIndexOf("/") + 1)}${arn.slice(arn.lastIndexOf(":") + 1)}`;
}

async function attributesOf(sqs: SqsClient, url: string): Promise<Readonly<Record<string, string | undefined>>> {
  try {
    const { Attributes = {} } = await sqs.send(
      new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ["All"] }),
    );
    return Attributes;
  } catch (error) {
    throw errorOfSqs(`look at ${nameOfQueue(url)}`, error);
  }
}

function isMissing({ name }: Error): boolean {
  return name === "QueueDoesNotExist" || name === "AWS.SimpleQueueService.NonExistentQueue";
}
