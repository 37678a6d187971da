import { type Clock, systemClock } from "@tmc/kube/clock.ts";
import { formatKey, type WorkKey } from "../model/key.ts";
import { createSqsQueue } from "./sqs.ts";
import type { QueueUrls, SqsClient } from "./sqs-client.ts";
import { deleteMessages, type Fetched, fetchMessages, giveBack } from "./sqs-fetch.ts";
import { type Attempts, parseBody } from "./work-message.ts";

/** A message that was given up. */
export type DeadLetter = Readonly<{
  messageId: string;
  /** Missing when the message cannot be read. */
  key: WorkKey | undefined;
  /** The error and its causes, in one line. */
  cause: string;
  /** When it was given up. */
  atMs: number;
  /** Failures that were counted before. */
  attempts: Attempts;
  /** How often it has been handed out, by looks at this list too. */
  receives: number;
}>;

/** How far a redrive has come. */
export type Redriven = Readonly<{
  /** Keys that were sent again. */
  sent: number;
  /** Messages that were looked at and stay: they cannot be read, or are of another key. */
  left: number;
}>;

/** What was given up, to be looked at and sent again. */
export interface DeadLetters {
  /** Shows what is there, up to a limit, and takes nothing away; answers whether that was all. */
  list(options?: Readonly<{ limit?: number }>): Promise<Readonly<{ letters: readonly DeadLetter[]; isAll: boolean }>>;
  /** Sends again everything that can be read, or one key only. Each is sent before it is deleted here. */
  redrive(
    options?: Readonly<{ key?: WorkKey | undefined; onProgress?: (redriven: Redriven) => void }>,
  ): Promise<Redriven>;
}

export type DeadLettersOptions = Readonly<{
  sqs: SqsClient;
  urls: Pick<QueueUrls, "work" | "deadLetters">;
  clock?: Clock;
  random?: () => number;
  /** How long to wait for more; only then SQS has asked all its parts, and none can be believed. @default 1 */
  waitSeconds?: number;
}>;

/** How long a look keeps messages from others; they are given back at its end. */
const lookSeconds = 30;

const defaultLimit = 100;

/** SQS itself moved it here: nobody was left who could have said why. */
const diedCause =
  "handed out too often without an answer: whoever worked on it died, ran out of time or could not send on";

/** Creates a view on the dead letters. */
export function createDeadLetters(options: DeadLettersOptions): DeadLetters {
  const { sqs, urls, clock = systemClock, waitSeconds = 1 } = options;
  const queue = createSqsQueue({ ...options, urls: { ...urls, delay: "" } }); // nothing is sent for later

  /**
   * Goes through the queue once. What `visit` does not take is held until the end, so that it does not come twice, and
   * then given back; when it does come twice, the round has taken longer than that, and is over.
   */
  const goThrough = async (visit: (messages: readonly Fetched[]) => Promise<Visit>): Promise<void> => {
    const held = new Map<string, Fetched>();
    try {
      for (;;) {
        const fetched = await fetchMessages(sqs, urls.deadLetters, { waitSeconds, visibilitySeconds: lookSeconds });
        const fresh = fetched.filter(({ messageId }) => !held.has(messageId));
        for (const message of fetched) held.set(message.messageId, message);
        if (fresh.length === 0) return;
        const { taken, goOn } = await visit(fresh);
        for (const { messageId } of taken) held.delete(messageId);
        if (!goOn) return;
      }
    } finally {
      await giveBack(sqs, urls.deadLetters, [...held.values()], () => 0);
    }
  };

  return {
    list: async ({ limit = defaultLimit } = {}) => {
      const letters: DeadLetter[] = [];
      await goThrough(async (messages) => {
        letters.push(...messages.map(letterOf));
        return { taken: [], goOn: letters.length <= limit };
      });
      const byAge = letters.toSorted((one, other) => one.atMs - other.atMs);
      return { letters: byAge.slice(0, limit), isAll: letters.length <= limit };
    },
    redrive: async ({ key, onProgress } = {}) => {
      const startedMs = clock.now();
      const wanted = key === undefined ? undefined : formatKey(key);
      const sent = new Set<string>();
      let left = 0;
      await goThrough(async (messages) => {
        const readable = messages.flatMap((message) => {
          const { key: found } = letterOf(message);
          // One that failed again after it was sent is news, and no part of this round.
          const isNews = found !== undefined && sent.has(formatKey(found)) && message.sentMs > startedMs;
          if (found === undefined || isNews || (wanted !== undefined && formatKey(found) !== wanted)) return [];
          return [{ message, found }];
        });
        const unsent = readable.map(({ found }) => found).filter((found) => !sent.has(formatKey(found)));
        await queue.send(unsent.map((found) => ({ key: found, reason: "on-demand" })));
        const taken = readable.map(({ message }) => message);
        await deleteMessages(sqs, urls.deadLetters, taken);
        for (const found of unsent) sent.add(formatKey(found));
        left += messages.length - taken.length;
        onProgress?.({ sent: sent.size, left });
        return { taken, goOn: true };
      });
      return { sent: sent.size, left };
    },
  };
}

type Visit = Readonly<{ taken: readonly Fetched[]; goOn: boolean }>;

function letterOf({ messageId, body, cause, sentMs, receives }: Fetched): DeadLetter {
  const common = { messageId, cause: cause ?? diedCause, atMs: sentMs, receives };
  try {
    const { key, attempts = {} } = parseBody(body);
    return { ...common, key, attempts };
  } catch {
    return { ...common, key: undefined, attempts: {} };
  }
}
