import { ControllerError, type Fault } from "./fault.ts";
import { faultOfStatus, type NetworkTrouble, ruleOfNetworkCode } from "./fault-tables.ts";
import { isRecord } from "./json-record.ts";
import type { Status } from "./kube-object.ts";

/** As much of a server's words as a condition or a log line can bear. */
const longestWords = 400;

export type ApiErrorDetails = Readonly<{
  status?: number | undefined;
  reason?: string | undefined;
  body?: Status | undefined;
  retryAfterSeconds?: number | undefined;
  network?: NetworkTrouble | undefined;
}>;

/** A call to an API server that failed: the fault to act on, and what the server or the network said. */
export class ApiError extends ControllerError {
  /** The HTTP status; missing when nothing was answered. */
  readonly status: number | undefined;
  /** The Status's reason, such as `AlreadyExists`. */
  readonly reason: string | undefined;
  readonly body: Status | undefined;
  readonly retryAfterSeconds: number | undefined;
  /** What went wrong on the way, when no API server answered. */
  readonly network: NetworkTrouble | undefined;

  constructor(fault: Fault, message: string, details: ApiErrorDetails = {}, options?: ErrorOptions) {
    super(fault, message, options);
    this.status = details.status;
    this.reason = details.reason;
    this.body = details.body;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.network = details.network;
  }
}

/** An HTTP answer, read whole. */
export type Answer = Readonly<{
  status: number;
  headers: Readonly<Record<string, string | undefined>>;
  text: string;
}>;

/** Makes any text fit for a message: one line, no bearer token, not too long. */
export function oneLine(text: string, limit = longestWords): string {
  const line = text
    .slice(0, limit * 4)
    .replace(/\bBearer\s+[\w.~+/=-]+/gi, "Bearer …")
    .replace(/\beyJ[\w-]+\.[\w-]+\.[\w-]*/g, "…")
    .replace(/\s+/g, " ")
    .trim();
  return line.length > limit ? `${line.slice(0, limit - 1)}…` : line;
}

/** Reads a Status from parsed JSON; nothing when it is something else. */
export function statusOf(value: unknown): Status | undefined {
  if (!isRecord(value) || value.kind !== "Status") return undefined;
  const { message, reason, code } = value;
  const fitting =
    (message === undefined || typeof message === "string") &&
    (reason === undefined || typeof reason === "string") &&
    (code === undefined || typeof code === "number") &&
    (value.details === undefined || value.details === null || isRecord(value.details));
  return fitting ? (value as Status) : undefined;
}

function parseStatus(text: string): Status | undefined {
  if (!text.trimStart().startsWith("{")) return undefined;
  try {
    return statusOf(JSON.parse(text));
  } catch {
    return undefined; // half a body tells nothing more than its code does
  }
}

function parseRetryAfter(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\s*\d+\s*$/.test(header)) return Number(header);
  const atMs = Date.parse(header);
  return Number.isNaN(atMs) ? undefined : Math.max(0, Math.ceil((atMs - nowMs) / 1000));
}

function retryAfterOf(status: Status | undefined): number | undefined {
  const seconds = status?.details?.retryAfterSeconds;
  return typeof seconds === "number" && Number.isFinite(seconds) && seconds > 0 ? seconds : undefined;
}

function wordsOf({ status, headers, text }: Answer, body: Status | undefined): string {
  if (body?.message) return oneLine(body.message);
  if (body?.reason) return body.reason;
  const type = headers["content-type"] ?? "";
  const readable = type.startsWith("text/plain") || type.startsWith("application/json");
  const said = readable ? oneLine(text, 200) : "";
  if (said !== "") return said;
  // Asked for only when it is needed: importing node:http costs every process its memory and start.
  return process.getBuiltinModule("node:http").STATUS_CODES[status]?.toLowerCase() ?? "unknown status";
}

/** Turns an HTTP answer that is a failure into its error. `what` says what was asked of whom. */
export function errorOfAnswer(what: string, answer: Answer, nowMs: number): ApiError {
  const { status, headers } = answer;
  if (status < 400) {
    const why = status >= 300 ? "redirects are not followed" : "not an answer of an api server";
    return new ApiError("unreachable", `${what}: ${status} ${why}`, { status, network: "not-an-api-server" });
  }
  const body = parseStatus(answer.text);
  const reason = body?.reason;
  return new ApiError(faultOfStatus(status, reason), `${what}: ${status} ${wordsOf(answer, body)}`, {
    status,
    reason,
    body,
    retryAfterSeconds: parseRetryAfter(headers["retry-after"], nowMs) ?? retryAfterOf(body),
  });
}

/** Turns the Status of a watch's ERROR event into its error. */
export function errorOfStatus(what: string, body: Status): ApiError {
  const { code, reason, message } = body;
  const words = oneLine(message || reason || "error without a message");
  return new ApiError(faultOfStatus(code, reason), `${what}: ${code ?? "error"} ${words}`, {
    status: code,
    reason,
    body,
    retryAfterSeconds: retryAfterOf(body),
  });
}

/** Says that a 2xx answer is not what an API server gives. */
export function errorOfStrangeAnswer(what: string, status: number, why: string): ApiError {
  return new ApiError("unreachable", `${what}: ${status} ${oneLine(why)}`, { status, network: "not-an-api-server" });
}

/** The codes of an error and of what caused it, nearest first. */
function* codesOf(error: unknown): Generator<string> {
  let current = error;
  // A chain of causes is short; the bound guards against one that is a circle.
  for (let depth = 0; depth < 8 && typeof current === "object" && current !== null; depth++) {
    if ("code" in current && typeof current.code === "string") yield current.code;
    if ("errors" in current && Array.isArray(current.errors)) yield* codesOf(current.errors[0]);
    current = "cause" in current ? current.cause : undefined;
  }
}

function ruleOf(error: unknown) {
  for (const code of codesOf(error)) {
    const rule = ruleOfNetworkCode(code);
    if (rule !== undefined) return rule;
  }
  return undefined;
}

/** Turns what a transport threw into its error. A failure without a known code is named by its own message. */
export function errorOfNetwork(what: string, error: unknown): ApiError {
  const rule = ruleOf(error);
  if (rule !== undefined) {
    return new ApiError(rule.fault, `${what}: ${rule.words}`, { network: rule.trouble }, { cause: error });
  }
  const words = error instanceof Error ? oneLine(error.message) : "unknown failure";
  return new ApiError("unreachable", `${what}: ${words}`, {}, { cause: error });
}

/** Tells whether a connection was cut while a request was on its way: nobody knows if the server acted on it. */
export function isReset(error: unknown): boolean {
  return ruleOf(error)?.trouble === "reset";
}

/** Finds the fault of any error: its own, that of its cause, or that of a network error's code. */
export function faultOf(error: unknown): Fault | undefined {
  let current = error;
  for (let depth = 0; depth < 8 && current instanceof Error; depth++) {
    if (current instanceof ControllerError) return current.fault;
    current = current.cause;
  }
  return ruleOf(error)?.fault;
}
