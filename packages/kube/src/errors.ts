import { ControllerError, type Fault } from "./fault.ts";
import { faultOfStatus, type NetworkFailure, ruleOfNetworkCode } from "./fault-tables.ts";
import { isRecord } from "./json.ts";
import type { Status } from "./kube-object.ts";

/** Conditions and log lines quote at most this much of a server's message. */
const maxMessageLength = 400;

export type ApiErrorDetails = Readonly<{
  status?: number | undefined;
  reason?: string | undefined;
  body?: Status | undefined;
  retryAfterSeconds?: number | undefined;
  network?: NetworkFailure | undefined;
}>;

/** A failed call to an API server: the fault to act on, and the message of the server or the network. */
export class ApiError extends ControllerError {
  /** The HTTP status; undefined without a response. */
  readonly status: number | undefined;
  /** The Status's reason, such as `AlreadyExists`. */
  readonly reason: string | undefined;
  readonly body: Status | undefined;
  readonly retryAfterSeconds: number | undefined;
  /** The kind of network failure, if no API server answered. */
  readonly network: NetworkFailure | undefined;

  constructor(fault: Fault, message: string, details: ApiErrorDetails = {}, options?: ErrorOptions) {
    super(fault, message, options);
    this.status = details.status;
    this.reason = details.reason;
    this.body = details.body;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.network = details.network;
  }
}

/** A complete HTTP response with its body as text. */
export type TextResponse = Readonly<{
  status: number;
  headers: Readonly<Record<string, string | undefined>>;
  text: string;
}>;

/** Makes a text safe for a message: one line, no bearer token, limited length. */
export function oneLine(text: string, limit = maxMessageLength): string {
  const line = text
    .slice(0, limit * 4)
    .replace(/\bBearer\s+[\w.~+/=-]+/gi, "Bearer …")
    .replace(/\beyJ[\w-]+\.[\w-]+\.[\w-]*/g, "…")
    .replace(/\s+/g, " ")
    .trim();
  return line.length > limit ? `${line.slice(0, limit - 1)}…` : line;
}

/** Reads a Status from parsed JSON; undefined if it is not one. */
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
    return undefined; // an incomplete body adds nothing to the status code
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

function messageOf({ status, headers, text }: TextResponse, body: Status | undefined): string {
  if (body?.message) return oneLine(body.message);
  if (body?.reason) return body.reason;
  const type = headers["content-type"] ?? "";
  const readable = type.startsWith("text/plain") || type.startsWith("application/json");
  const line = readable ? oneLine(text, 200) : "";
  if (line !== "") return line;
  // Loaded only here: an import of node:http costs every process memory and startup time.
  return process.getBuiltinModule("node:http").STATUS_CODES[status]?.toLowerCase() ?? "unknown status";
}

/** Turns a failed HTTP response into its error. `what` names the server and the call. */
export function errorOfResponse(what: string, response: TextResponse, nowMs: number): ApiError {
  const { status, headers } = response;
  if (status < 400) {
    const why = status >= 300 ? "redirects are not followed" : "not an answer of an api server";
    return new ApiError("unreachable", `${what}: ${status} ${why}`, { status, network: "not-an-api-server" });
  }
  const body = parseStatus(response.text);
  const reason = body?.reason;
  return new ApiError(faultOfStatus(status, reason), `${what}: ${status} ${messageOf(response, body)}`, {
    status,
    reason,
    body,
    retryAfterSeconds: parseRetryAfter(headers["retry-after"], nowMs) ?? retryAfterOf(body),
  });
}

/** Turns the Status of a watch's ERROR event into its error. */
export function errorOfStatus(what: string, body: Status): ApiError {
  const { code, reason, message } = body;
  const text = oneLine(message || reason || "error without a message");
  return new ApiError(faultOfStatus(code, reason), `${what}: ${code ?? "error"} ${text}`, {
    status: code,
    reason,
    body,
    retryAfterSeconds: retryAfterOf(body),
  });
}

/** The error for a 2xx response that no API server would send. */
export function errorOfInvalidResponse(what: string, status: number, why: string): ApiError {
  return new ApiError("unreachable", `${what}: ${status} ${oneLine(why)}`, { status, network: "not-an-api-server" });
}

/** The error for an answer that exceeds a limit of the client. */
export function errorOfLimit(what: string, why: string): ApiError {
  return new ApiError("unreachable", `${what}: ${why}`, { network: "limit-exceeded" });
}

/** Returns whether a server answered with more than the client accepts. */
export function isLimitExceeded(error: unknown): error is ApiError {
  return error instanceof ApiError && error.network === "limit-exceeded";
}

/** The codes of an error and of its causes, nearest first. */
function* codesOf(error: unknown): Generator<string> {
  let current = error;
  // Chains of causes are short; the bound protects against a cycle.
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

/** Turns the error of a transport into an `ApiError`. An error without a known code keeps its own message. */
export function errorOfNetwork(what: string, error: unknown): ApiError {
  const rule = ruleOf(error);
  if (rule !== undefined) {
    return new ApiError(rule.fault, `${what}: ${rule.message}`, { network: rule.failure }, { cause: error });
  }
  const text = error instanceof Error ? oneLine(error.message) : "unknown failure";
  return new ApiError("unreachable", `${what}: ${text}`, {}, { cause: error });
}

/** Returns whether the connection was cut during a request. The server may or may not have acted on it. */
export function isReset(error: unknown): boolean {
  return ruleOf(error)?.failure === "reset";
}

/** The fault of any error: its own, that of its cause, or that of a network error's code. */
export function faultOf(error: unknown): Fault | undefined {
  let current = error;
  for (let depth = 0; depth < 8 && current instanceof Error; depth++) {
    if (current instanceof ControllerError) return current.fault;
    current = current.cause;
  }
  return ruleOf(error)?.fault;
}
