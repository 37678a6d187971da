import type { WatchEvent, WatchOptions } from "./client.ts";
import { createDeadline } from "./deadline.ts";
import { errorOfStatus, errorOfStrangeAnswer, statusOf } from "./errors.ts";
import { type Call, defaultTimeoutMs, failureOf, formatCall, openStream, type Session } from "./exchange.ts";
import { createLineSplitter } from "./json-lines.ts";
import { isRecord } from "./json-record.ts";

/** How long after the end that the server promised a watch is taken for dead. */
const graceMs = 30_000;

/**
 * Runs one watch request as an async iterator.
 *
 * The next chunk is asked for when the caller asks for the next event, so a slow caller slows the server and fills no
 * memory. Half a line at the end is dropped: the stream was cut, and the event comes again to whoever resumes.
 */
export async function* watchOnce<T>(
  session: Session,
  call: Call,
  { timeoutSeconds, onOpen }: Pick<WatchOptions, "timeoutSeconds" | "onOpen"> = {},
): AsyncGenerator<WatchEvent<T>, void, undefined> {
  const deadline = createDeadline(session.clock, {
    signal: call.signal,
    timeoutMs: call.timeoutMs ?? defaultTimeoutMs,
  });
  try {
    const response = await openStream(session, call, deadline);
    onOpen?.();
    // A connection whose other side vanished without a word looks like a quiet one; only the time tells.
    deadline.rearm(timeoutSeconds === undefined ? undefined : timeoutSeconds * 1000 + graceMs);
    const splitter = createLineSplitter();
    try {
      for await (const chunk of response.chunks()) {
        for (const line of splitter.push(chunk)) {
          const event = parseEvent<T>(formatCall(session, call), line);
          if (event !== undefined) yield event;
        }
      }
    } finally {
      response.cancel();
    }
  } catch (error) {
    throw failureOf(session, call, deadline, error);
  } finally {
    deadline.end();
  }
}

function parseEvent<T>(what: string, line: string): WatchEvent<T> | undefined {
  let event: unknown;
  try {
    event = JSON.parse(line);
  } catch {
    throw errorOfStrangeAnswer(what, 200, "watch event is not json");
  }
  if (!isRecord(event) || !isRecord(event.object)) throw errorOfStrangeAnswer(what, 200, "watch event has no object");
  const { type, object } = event;
  switch (type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
      // What a server sends as JSON is taken for the type the caller names: only the schema could say more.
      return { type, object: object as T };
    case "BOOKMARK": {
      const version = isRecord(object.metadata) ? object.metadata.resourceVersion : undefined;
      return typeof version === "string" ? { type, resourceVersion: version } : undefined;
    }
    case "ERROR":
      throw errorOfStatus(what, statusOf({ kind: "Status", ...object }) ?? { message: "error of an unknown form" });
    default:
      return undefined; // a kind of event that is newer than this client
  }
}
