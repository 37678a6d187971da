import { type Clock, systemClock } from "@tmc/kube/clock.ts";
import { formatKey, type WorkKey } from "../model/key.ts";
import { createSqsQueue } from "./sqs.ts";
import type { QueueUrls, SqsClient } from "./sqs-client.ts";
import { deleteMessages, type ReceivedMessage, receiveMessages, releaseMessages } from "./sqs-receive.ts";
import { type Attempts, parseBody } from "./work-message.ts";

/** A message of the dead-letter queue. */
export type DeadLetter = Readonly<{
  messageId: string;
  /** Undefined if the message cannot be parsed. */
  key: WorkKey | undefined;
  /** The error and its causes, in one line. */
  cause: string;
  atMs: number;
  /** Failures before it was dead-lettered. */
  attempts: Attempts;
  /** How often it has been received; listing counts too. */
  receives: number;
}>;

export type RedriveProgress = Readonly<{
  /** Keys that were sent to the work queue. */
  sent: number;
  /** Messages that stay: they cannot be parsed, or have another key. */
  remaining: number;
}>;

/** Lists and redrives the dead letters of a work queue. */
export interface DeadLetters {
  /** Lists dead letters up to a limit, and whether these are all. Removes nothing. */
  list(
    options?: Readonly<{ limit?: number }>,
  ): Promise<Readonly<{ letters: readonly DeadLetter[]; isComplete: boolean }>>;
  /** Redrives every parsable message, or one key. Each is sent before it is deleted. */
  redrive(
    options?: Readonly<{ key?: WorkKey | undefined; onProgress?: (redriven: RedriveProgress) => void }>,
  ): Promise<RedriveProgress>;
}

export type DeadLettersOptions = Readonly<{
  sqs: SqsClient;
  urls: Pick<QueueUrls, "work" | "deadLetters">;
  clock?: Clock;
  random?: () => number;
  /** Long-poll time. With it SQS asks all its servers, so that an empty answer means an empty queue. @default 1 */
  waitSeconds?: number;
}>;

/** How long a scan hides messages from other readers; it releases them at its end. */
const scanVisibilitySeconds = 30;

const defaultLimit = 100;

/** SQS itself moved the message, so no consumer recorded a cause. */
const unacknowledgedCause =
  "received too often without being acknowledged: the consumer crashed, timed out or could not send the next message";

export function createDeadLetters(options: DeadLettersOptions): DeadLetters {
  const { sqs, urls, clock = systemClock, waitSeconds = 1 } = options;
  const queue = createSqsQueue({ ...options, urls: { ...urls, delay: "" } }); // sends nothing with a delay

  /**
   * Reads the queue once. Messages that `visit` does not process stay invisible until the end, so that they are not received
   * twice, and are then released. If one is received twice anyway, the scan took longer than the visibility time and ends.
   */
  const scan = async (visit: (messages: readonly ReceivedMessage[]) => Promise<ScanStep>): Promise<void> => {
    const unprocessed = new Map<string, ReceivedMessage>();
    try {
      for (;;) {
        const received = await receiveMessages(sqs, urls.deadLetters, {
          waitSeconds,
          visibilitySeconds: scanVisibilitySeconds,
        });
        const unseen = received.filter(({ messageId }) => !unprocessed.has(messageId));
        for (const message of received) unprocessed.set(message.messageId, message);
        if (unseen.length === 0) return;
        const { processed, shouldContinue } = await visit(unseen);
        for (const { messageId } of processed) unprocessed.delete(messageId);
        if (!shouldContinue) return;
      }
    } finally {
      await releaseMessages(sqs, urls.deadLetters, [...unprocessed.values()], () => 0);
    }
  };

  return {
    list: async ({ limit = defaultLimit } = {}) => {
      const letters: DeadLetter[] = [];
      await scan(async (messages) => {
        letters.push(...messages.map(parseDeadLetter));
        return { processed: [], shouldContinue: letters.length <= limit };
      });
      const byAge = letters.toSorted((one, other) => one.atMs - other.atMs);
      return { letters: byAge.slice(0, limit), isComplete: letters.length <= limit };
    },
    redrive: async ({ key, onProgress } = {}) => {
      const startedMs = clock.now();
      const onlyKey = key === undefined ? undefined : formatKey(key);
      const sent = new Set<string>();
      let remaining = 0;
      await scan(async (messages) => {
        const readable = messages.flatMap((message) => {
          const { key: found } = parseDeadLetter(message);
          // A key that failed again after it was redriven is not part of this redrive.
          const hasFailedAgain = found !== undefined && sent.has(formatKey(found)) && message.sentMs > startedMs;
          if (found === undefined || hasFailedAgain || (onlyKey !== undefined && formatKey(found) !== onlyKey))
            return [];
          return [{ message, found }];
        });
        const unsent = readable.map(({ found }) => found).filter((found) => !sent.has(formatKey(found)));
        await queue.send(unsent.map((found) => ({ key: found, reason: "on-demand" })));
        const processed = readable.map(({ message }) => message);
        await deleteMessages(sqs, urls.deadLetters, processed);
        for (const found of unsent) sent.add(formatKey(found));
        remaining += messages.length - processed.length;
        onProgress?.({ sent: sent.size, remaining });
        return { processed, shouldContinue: true };
      });
      return { sent: sent.size, remaining };
    },
  };
}

type ScanStep = Readonly<{ processed: readonly ReceivedMessage[]; shouldContinue: boolean }>;

function parseDeadLetter({ messageId, body, cause, sentMs, receives }: ReceivedMessage): DeadLetter {
  const common = { messageId, cause: cause ?? unacknowledgedCause, atMs: sentMs, receives };
  try {
    const { key, attempts = {} } = parseBody(body);
    return { ...common, key, attempts };
  } catch {
    return { ...common, key: undefined, attempts: {} };
  }
}
