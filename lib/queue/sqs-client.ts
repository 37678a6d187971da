import type { SQSClient } from "@aws-sdk/client-sqs";
import { ControllerError } from "@tmc/kube/fault.ts";

/** The part of an SQS client that is used here. */
export type SqsClient = Pick<SQSClient, "send">;

/** Where the three queues are. */
export type QueueUrls = Readonly<{
  /** FIFO: one line per key. */
  work: string;
  /** Standard: the only sort that holds single messages back. */
  delay: string;
  /** FIFO: what was given up. */
  deadLetters: string;
}>;

const throttlingNames = /throttl|toomanyrequests|overlimit|limitexceeded/i;

/**
 * Makes a failure of SQS one of ours.
 *
 * Its fault is always one that may pass, a missing right too: a key must not be dropped as settled because its next message could
 * not be sent. SQS's own words name accounts and roles; they stay with the cause.
 */
export function errorOfSqs(what: string, error: unknown): ControllerError {
  const name = error instanceof Error ? error.name : "unknown failure";
  const why = name === "Error" || name === "TypeError" ? codeOf(error) : withWords(name);
  return new ControllerError(faultOfSqs(name), `sqs: ${what}: ${why}`, { cause: error });
}

/** What people can do something about, in words; any other name says enough to look it up. */
const words: ReadonlyMap<string, string> = new Map([
  [
    "CredentialsProviderError",
    "no AWS credentials were found: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
  ],
  ["QueueDoesNotExist", "there is no such queue in this account and region"],
  ["AccessDenied", "AWS refuses access to the queue"],
]);

function withWords(name: string): string {
  const said = words.get(name);
  return said === undefined ? name : `${said} (${name})`;
}

/** The fault of a refusal by its name, be it of a call or of one entry of a batch. */
export function faultOfSqs(name: string): "throttled" | "unreachable" {
  return throttlingNames.test(name) ? "throttled" : "unreachable";
}

/** A queue's name, without the account before it. */
export function nameOfQueue(url: string): string {
  return url.slice(url.lastIndexOf("/") + 1);
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "no answer";
}
