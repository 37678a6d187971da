import type { WatchEvent, WatchOptions } from "../client.ts";
import { createDeadline } from "../deadline.ts";
import { ApiError, errorOfInvalidResponse, errorOfStatus, statusOf } from "../errors.ts";
import { isRecord } from "../json.ts";
import { type Call, defaultTimeoutMs, failureOf, formatCall, openStream, type Session } from "./exchange.ts";
import { createLineSplitter } from "./json-lines.ts";

/** A watch counts as dead this long after `timeoutSeconds`, when the server should have ended it. */
const graceMs = 30_000;

/**
 * Runs one watch request as an async iterator.
 *
 * It reads the next chunk when the caller asks for the next event, so a slow caller slows the server down and fills no
 * memory. An incomplete last line is dropped: the stream was cut, and the resumed watch gets the event again.
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
    // A connection whose other side disappeared cannot be distinguished from a quiet one, except by time.
    deadline.rearm(timeoutSeconds === undefined ? undefined : timeoutSeconds * 1000 + graceMs);
    const splitter = createLineSplitter(session.limits?.bodyBytes);
    const lease = session.limits === undefined ? undefined : session.inFlight?.open();
    try {
      for await (const chunk of response.chunks()) {
        for (const line of splitter.push(chunk)) {
          const event = parseEvent<T>(formatCall(session, call), line);
          if (event !== undefined) yield event;
        }
        // Half an event would keep its memory as long as the server likes, so it does not wait: the watch is resumed.
        if (lease?.tryTake(splitter.pendingBytes) === false) {
          const message = `${formatCall(session, call)}: other answers take the memory of the tenant`;
          throw new ApiError("unreachable", message, { network: "reset" });
        }
      }
    } finally {
      lease?.end();
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
    throw errorOfInvalidResponse(what, 200, "watch event is not json");
  }
  if (!isRecord(event) || !isRecord(event.object)) throw errorOfInvalidResponse(what, 200, "watch event has no object");
  const { type, object } = event;
  switch (type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
      // The object is returned as the caller's type without validation: only the schema could validate it.
      return { type, object: object as T };
    case "BOOKMARK": {
      const version = isRecord(object.metadata) ? object.metadata.resourceVersion : undefined;
      return typeof version === "string" ? { type, resourceVersion: version } : undefined;
    }
    case "ERROR":
      throw errorOfStatus(what, statusOf({ kind: "Status", ...object }) ?? { message: "error of an unknown form" });
    default:
      return undefined; // an event type that this client does not know
  }
}
