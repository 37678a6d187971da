import { createBackoff } from "../backoff.ts";
import type { Clock } from "../clock.ts";
import { createDeadline, type Deadline, delay, unlessAborted } from "../deadline.ts";
import {
  ApiError,
  errorOfLimit,
  errorOfNetwork,
  errorOfResponse,
  isReset,
  oneLine,
  type TextResponse,
} from "../errors.ts";
import { ControllerError } from "../fault.ts";
import type { ByteBudget } from "./byte-budget.ts";
import type { Endpoint, Transport, TransportRequest, TransportResponse } from "./transport.ts";
import { estimateHeapBytes, type ResponseLimits } from "./transport-limits.ts";

/** kcp takes about two seconds for the first write of a type; a call may also wait for a Retry-After within this time. */
export const defaultTimeoutMs = 10_000;

/** The number of tries of a throttled call, if its time-out allows. */
const mostThrottledTries = 4;
/** Several keep-alive connections may have become stale at once. */
const mostResetTries = 3;
/** Spreads clients that all received the same Retry-After. */
const retryJitterMs = 250;
/** The transport's limit exceeds the call's deadline by this much; it only protects against a lost signal. */
const transportGraceMs = 1_000;
/** If a stream turns out to be an error, no more than this is read. */
const longestErrorBytes = 64 * 1024;

/** Shared by all calls of a client. */
export type Session = Readonly<{
  /** The name of the server in messages: `kcp`, `cluster east`. */
  name: string;
  endpoint: Endpoint;
  transport: Transport;
  userAgent: string;
  clock: Clock;
  random: () => number;
  /** Undefined for a server that is trusted. */
  limits?: ResponseLimits | undefined;
  /** Shared by all sessions of a tenant. It applies only with `limits`. @default unlimited */
  inFlight?: ByteBudget | undefined;
}>;

export type Call = Readonly<{
  method: TransportRequest["method"];
  /** From the root of the server, with its query. */
  path: string;
  /** The verb and the object, for messages. */
  what: string;
  accept: string;
  contentType?: string | undefined;
  body?: string | undefined;
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
  /** Whether the answer is a page of a list, which may be larger than others. */
  isPage?: boolean | undefined;
}>;

/**
 * Sends a call and reads the complete response, with any status.
 *
 * A read whose connection was cut is sent again at once, because keep-alive connections become stale. A write is not: the
 * server may have acted on it.
 */
export async function exchange(session: Session, call: Call): Promise<TextResponse> {
  const deadline = createDeadline(session.clock, {
    signal: call.signal,
    timeoutMs: call.timeoutMs ?? defaultTimeoutMs,
  });
  try {
    return await exchangeWithin(session, call, deadline);
  } finally {
    deadline.end();
  }
}

/**
 * Sends a call and returns the response of a success; any other response is thrown as an `ApiError`.
 *
 * Throttled calls, including writes, are sent again after the time that the server asked for, because the server has not
 * acted on them. All tries together take no longer than the call's time-out.
 */
export async function succeed(session: Session, call: Call): Promise<TextResponse> {
  const { clock, random } = session;
  const timeoutMs = call.timeoutMs ?? defaultTimeoutMs;
  const endsAt = clock.monotonicMs() + timeoutMs;
  const deadline = createDeadline(clock, { signal: call.signal, timeoutMs });
  const backoff = createBackoff({ shortestMs: 100, longestMs: 2_000, random });
  try {
    for (let tries = 1; ; tries++) {
      const response = await exchangeWithin(session, call, deadline);
      if (response.status >= 200 && response.status <= 299) return response;

      const error = errorOfResponse(formatCall(session, call), response, clock.now());
      if (error.status !== 429 || tries >= mostThrottledTries) throw error;
      const askedMs = error.retryAfterSeconds === undefined ? backoff.nextMs() : error.retryAfterSeconds * 1000;
      const waitMs = Math.round(askedMs + random() * retryJitterMs);
      if (clock.monotonicMs() + waitMs >= endsAt) throw error;
      if (!(await delay(clock, waitMs, deadline.signal))) throw failureOf(session, call, deadline, error);
    }
  } finally {
    deadline.end();
  }
}

/** Opens a stream; a status other than 200 is thrown as an `ApiError`. There are no retries. */
export async function openStream(session: Session, call: Call, deadline: Deadline): Promise<TransportResponse> {
  try {
    const response = await sendOnce(session, call, deadline, true);
    if (response.status === 200) return response;
    const answer = { status: response.status, headers: response.headers, text: await readStart(response) };
    throw errorOfResponse(formatCall(session, call), answer, session.clock.now());
  } catch (error) {
    throw failureOf(session, call, deadline, error);
  }
}

/**
 * Turns an error during a call into the one that the caller gets: the reason of the caller's own abort unchanged, an
 * `ApiError` otherwise.
 */
export function failureOf(session: Session, call: Call, deadline: Deadline, error: unknown): unknown {
  if (call.signal?.aborted) return call.signal.reason;
  if (deadline.expired) {
    const why = error instanceof BudgetUsedUp ? "other answers take the memory of the tenant" : "no answer in time";
    const message = `${formatCall(session, call)}: ${why}`;
    return new ApiError("unreachable", message, { network: "timeout" }, { cause: error });
  }
  return error instanceof ControllerError ? error : errorOfNetwork(formatCall(session, call), error);
}

/** How messages name a call: server, verb, object. */
export function formatCall(session: Session, call: Call): string {
  return `${session.name}: ${call.what}`;
}

async function exchangeWithin(session: Session, call: Call, deadline: Deadline): Promise<TextResponse> {
  for (let tries = 1; ; tries++) {
    try {
      const response = await sendOnce(session, call, deadline, false);
      return {
        status: response.status,
        headers: response.headers,
        text: await readBody(session, call, response, deadline),
      };
    } catch (error) {
      const again = call.method === "GET" && tries < mostResetTries && isReset(error) && !deadline.signal.aborted;
      if (!again) throw failureOf(session, call, deadline, error);
    }
  }
}

/** A response was not read in time, because other responses used up the budget. */
class BudgetUsedUp extends Error {}

async function readBody(
  session: Session,
  call: Call,
  response: TransportResponse,
  { signal }: Deadline,
): Promise<string> {
  const { limits } = session;
  if (limits === undefined) return response.text();
  const maxBytes = call.isPage === true ? limits.pageBytes : limits.bodyBytes;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const lease = session.inFlight?.open();
  try {
    for await (const chunk of response.chunks()) {
      const part = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
      bytes += part.length;
      // Leaving the loop closes the connection.
      if (bytes > maxBytes) {
        throw errorOfLimit(formatCall(session, call), `answer is larger than ${formatMebibytes(maxBytes)}`);
      }
      await lease?.take(bytes, signal)?.catch((error: unknown) => {
        throw new BudgetUsedUp("the budget is used up", { cause: error });
      });
      chunks.push(part);
    }
    const text = Buffer.concat(chunks, bytes).toString("utf8");
    if (estimateHeapBytes(text) > limits.heapBytes) {
      const why = `answer would take more than ${formatMebibytes(limits.heapBytes)} of memory`;
      throw errorOfLimit(formatCall(session, call), why);
    }
    return text;
  } finally {
    lease?.end();
  }
}

/** `8 MB` */
export function formatMebibytes(bytes: number): string {
  return `${Math.round(bytes / 1024 / 1024)} MB`;
}

async function sendOnce(
  session: Session,
  call: Call,
  { signal }: Deadline,
  stream: boolean,
): Promise<TransportResponse> {
  signal.throwIfAborted();
  const { impersonate } = session.endpoint;
  const headers: Record<string, string> = { accept: call.accept, "user-agent": session.userAgent };
  if (call.contentType !== undefined) headers["content-type"] = call.contentType;
  if (session.endpoint.token !== undefined) headers.authorization = `Bearer ${await freshToken(session, call, signal)}`;
  if (impersonate !== undefined) headers["impersonate-user"] = impersonate.user;
  return session.transport.send({
    method: call.method,
    path: call.path,
    headers,
    repeatedHeaders: impersonate?.groups === undefined ? undefined : { "impersonate-group": impersonate.groups },
    body: call.body,
    stream,
    signal,
    // Later than the deadline, so that the error does not depend on which of two timers fires first.
    timeoutMs: (call.timeoutMs ?? defaultTimeoutMs) + transportGraceMs,
  });
}

async function freshToken(session: Session, call: Call, signal: AbortSignal): Promise<string> {
  const what = formatCall(session, call);
  let token: string | undefined;
  try {
    token = (await unlessAborted(session.endpoint.token?.() ?? Promise.resolve(""), signal)).trim();
  } catch (error) {
    if (signal.aborted || error instanceof ControllerError) throw error;
    const why = error instanceof Error ? oneLine(error.message) : "unknown failure";
    throw new ApiError("unauthorized", `${what}: no token: ${why}`, {}, { cause: error });
  }
  // A control character would end the header. The message must not contain the token.
  if (!/^[\x21-\x7e]+$/.test(token)) throw new ApiError("unauthorized", `${what}: token is empty or not plain text`);
  return token;
}

async function readStart(response: TransportResponse): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response.chunks()) {
    chunks.push(Buffer.from(chunk));
    bytes += chunk.length;
    if (bytes >= longestErrorBytes) break;
  }
  return Buffer.concat(chunks).toString("utf8");
}
