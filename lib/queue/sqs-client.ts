import type { SQSClient } from "@aws-sdk/client-sqs";
import { ControllerError } from "@tmc/kube/fault.ts";

/** The part of the SQS client that TMC uses. */
export type SqsClient = Pick<SQSClient, "send">;

export type QueueUrls = Readonly<{
  /** FIFO, one message group per key. */
  work: string;
  /** Standard: FIFO queues cannot delay single messages. */
  delay: string;
  /** FIFO. */
  deadLetters: string;
}>;

const throttlingNames = /throttl|toomanyrequests|overlimit|limitexceeded/i;

/**
 * Converts an error of SQS into a ControllerError.
 *
 * The fault is always transient, even for a missing permission: a key must not be dropped because its next message could not
 * be sent. The original message can name accounts and roles; it is kept as the cause only.
 */
export function sqsError(operation: string, error: unknown): ControllerError {
  const name = error instanceof Error ? error.name : "unknown failure";
  const reason = name === "Error" || name === "TypeError" ? errorCode(error) : explain(name);
  return new ControllerError(sqsFault(name), `sqs: ${operation}: ${reason}`, { cause: error });
}

/** Explanations of errors that the operator can fix, by error name. */
const explanations: ReadonlyMap<string, string> = new Map([
  [
    "CredentialsProviderError",
    "no AWS credentials found: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
  ],
  ["QueueDoesNotExist", "no such queue in this account and region"],
  ["AccessDenied", "access to the queue denied"],
]);

function explain(name: string): string {
  const explanation = explanations.get(name);
  return explanation === undefined ? name : `${explanation} (${name})`;
}

/** The fault for an error name, of a call or of one entry of a batch. */
export function sqsFault(name: string): "throttled" | "unreachable" {
  return throttlingNames.test(name) ? "throttled" : "unreachable";
}

/** The name of a queue, from its URL. */
export function queueName(url: string): string {
  return url.slice(url.lastIndexOf("/") + 1);
}

function errorCode(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "no response";
}
