import type { SQSClient } from "@aws-sdk/client-sqs";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { SqsClient } from "../../queue/sqs-client.ts";
import { type CliIo, UsageError } from "../cli-io.ts";

/** The options that select the SQS queues. */
export type QueueOptions = Readonly<{
  queueUrl?: string | undefined;
  delayQueueUrl?: string | undefined;
  deadLettersUrl?: string | undefined;
}>;

/** Creates the --queue-url option. */
export function queueUrlOption(description: string): Option {
  return new Option("--queue-url <url>", description).argParser(parseQueueUrl);
}

/** Adds the options that select queues; the delay queue and the dead letters are found through the work queue when they are not set. */
export function withQueueOptions(command: Command, others: readonly ("delay" | "dead-letters")[]): Command {
  command.addOption(queueUrlOption("URL of the work queue (default: $TMC_WORK_QUEUE_URL)").helpGroup("Queue options:"));
  if (others.includes("delay")) {
    command.addOption(
      new Option("--delay-queue-url <url>", "URL of the delay queue (default: the delay queue of the same stage)")
        .argParser(parseQueueUrl)
        .helpGroup("Queue options:"),
    );
  }
  if (others.includes("dead-letters")) {
    command.addOption(
      new Option(
        "--dead-letters-url <url>",
        "URL of the dead-letter queue (default: the one in the redrive policy of the work queue)",
      )
        .argParser(parseQueueUrl)
        .helpGroup("Queue options:"),
    );
  }
  return command;
}

/** Returns the URL of the work queue from the options or the environment. */
export function workQueueUrl(io: CliIo, { queueUrl }: QueueOptions): string {
  const url = queueUrl ?? io.env.TMC_WORK_QUEUE_URL;
  if (url === undefined || url === "") throw new UsageError("--queue-url is required: the URL of the work queue");
  return url;
}

/** Runs a function with an SQS client for the queue's region, and closes its connections afterwards. */
export async function withSqs<T>(io: CliIo, queueUrl: string, work: (sqs: SqsClient) => Promise<T>): Promise<T> {
  const sqs = await openSqs(io, queueUrl);
  try {
    return await work(sqs);
  } finally {
    sqs.destroy();
  }
}

/** Creates an SQS client for the queue's region. */
export async function openSqs(io: CliIo, queueUrl: string): Promise<SqsClient & Pick<SQSClient, "destroy">> {
  // Imported on demand, because loading the AWS SDK would slow the start of every other command.
  const { SQSClient } = await import("@aws-sdk/client-sqs");
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey, AWS_SESSION_TOKEN } = io.env;
  const hasCredentials = accessKeyId !== undefined && secretAccessKey !== undefined;
  const endpoint = io.env.AWS_ENDPOINT_URL_SQS ?? io.env.AWS_ENDPOINT_URL;
  const token = AWS_SESSION_TOKEN === undefined ? {} : { sessionToken: AWS_SESSION_TOKEN };
  return new SQSClient({
    region: regionOf(queueUrl) ?? io.env.AWS_REGION ?? io.env.AWS_DEFAULT_REGION ?? "us-east-1",
    ...(endpoint === undefined ? {} : { endpoint }),
    // Without explicit credentials the SDK uses its default chain: profiles, roles, instance metadata.
    ...(hasCredentials ? { credentials: { accessKeyId, secretAccessKey, ...token } } : {}),
  });
}

/** Returns the AWS region in a queue URL; undefined for the URL of an emulator. */
export function regionOf(queueUrl: string): string | undefined {
  return /^https?:\/\/(?:sqs\.)?([a-z]{2}(?:-[a-z]+)+-\d)\./.exec(queueUrl)?.[1];
}

/** Validates the URL of a queue. */
export function parseQueueUrl(text: string): string {
  if (!URL.canParse(text) || !/^https?:\/\/[^/]+\/.+/.test(text)) {
    throw new InvalidArgumentError(
      "expected a URL such as https://sqs.eu-west-1.amazonaws.com/123456789012/tmc-work.fifo.",
    );
  }
  return text;
}
