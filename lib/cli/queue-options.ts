import type { SQSClient } from "@aws-sdk/client-sqs";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { SqsClient } from "../queue/sqs-client.ts";
import { type CliIo, UsageError } from "./cli-io.ts";

/** Which queues a command works with. */
export type QueueOptions = Readonly<{
  queueUrl?: string | undefined;
  delayQueueUrl?: string | undefined;
  deadLettersUrl?: string | undefined;
}>;

/** The option that names the work queue. */
export function queueUrlOption(description: string): Option {
  return new Option("--queue-url <url>", description).argParser(parseQueueUrl);
}

/** Adds the options that name queues; those that go with the work queue are found when they are not named. */
export function withQueueOptions(command: Command, others: readonly ("delay" | "dead-letters")[]): Command {
  command.addOption(queueUrlOption("the URL of the work queue (otherwise $TMC_WORK_QUEUE_URL)").helpGroup("Which:"));
  if (others.includes("delay")) {
    command.addOption(
      new Option("--delay-queue-url <url>", "the URL of the delay queue (otherwise the one of the same stage)")
        .argParser(parseQueueUrl)
        .helpGroup("Which:"),
    );
  }
  if (others.includes("dead-letters")) {
    command.addOption(
      new Option("--dead-letters-url <url>", "the URL of the dead letters (otherwise what the work queue says)")
        .argParser(parseQueueUrl)
        .helpGroup("Which:"),
    );
  }
  return command;
}

/** The work queue that was named, by the option or by the environment. */
export function workQueueOf(io: CliIo, { queueUrl }: QueueOptions): string {
  const url = queueUrl ?? io.env.TMC_WORK_QUEUE_URL;
  if (url === undefined || url === "") throw new UsageError("--queue-url is missing: the URL of the work queue");
  return url;
}

/** Does something with a client for the queue's region, and ends its connections after it. */
export async function withSqs<T>(io: CliIo, queueUrl: string, work: (sqs: SqsClient) => Promise<T>): Promise<T> {
  const sqs = await openSqs(io, queueUrl);
  try {
    return await work(sqs);
  } finally {
    sqs.destroy();
  }
}

/** Opens a client for the queue's region. */
export async function openSqs(io: CliIo, queueUrl: string): Promise<SqsClient & Pick<SQSClient, "destroy">> {
  // Only now: AWS's client would make every other command slow to start.
  const { SQSClient } = await import("@aws-sdk/client-sqs");
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey, AWS_SESSION_TOKEN } = io.env;
  const isGiven = accessKeyId !== undefined && secretAccessKey !== undefined;
  const endpoint = io.env.AWS_ENDPOINT_URL_SQS ?? io.env.AWS_ENDPOINT_URL;
  const token = AWS_SESSION_TOKEN === undefined ? {} : { sessionToken: AWS_SESSION_TOKEN };
  return new SQSClient({
    region: regionOf(queueUrl) ?? io.env.AWS_REGION ?? io.env.AWS_DEFAULT_REGION ?? "us-east-1",
    ...(endpoint === undefined ? {} : { endpoint }),
    // Otherwise AWS's own way: profiles, roles, the machine's.
    ...(isGiven ? { credentials: { accessKeyId, secretAccessKey, ...token } } : {}),
  });
}

/** The region that a queue's URL names; emulators' name none. */
export function regionOf(queueUrl: string): string | undefined {
  return /^https?:\/\/(?:sqs\.)?([a-z]{2}(?:-[a-z]+)+-\d)\./.exec(queueUrl)?.[1];
}

/** Checks the URL of a queue. */
export function parseQueueUrl(text: string): string {
  if (!URL.canParse(text) || !/^https?:\/\/[^/]+\/.+/.test(text)) {
    throw new InvalidArgumentError("write a URL like https://sqs.eu-west-1.amazonaws.com/123456789012/tmc-work.fifo.");
  }
  return text;
}
