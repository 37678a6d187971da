import type { Fault } from "./fault.ts";

/** Why no API server answered; messages to users derive from it what to check. */
export type NetworkFailure =
  | "refused"
  | "reset"
  | "dns"
  | "no-route"
  | "tls"
  | "client-certificate"
  | "timeout"
  | "closed"
  /** The server answered with more than `ResponseLimits` allow. */
  | "limit-exceeded"
  /** The response does not come from an API server: a redirect, a web page. */
  | "not-an-api-server";

/** Every status code from 400 to 599 with a meaning in HTTP or Kubernetes; for 409 the reason decides. */
const faultsByStatus: Readonly<Record<number, Fault>> = {
  400: "invalid",
  401: "unauthorized",
  402: "forbidden",
  403: "forbidden",
  404: "not-found",
  405: "invalid",
  406: "invalid",
  407: "unauthorized",
  408: "unreachable",
  409: "conflict",
  410: "expired",
  411: "invalid",
  412: "conflict",
  413: "invalid",
  414: "invalid",
  415: "invalid",
  416: "invalid",
  417: "invalid",
  418: "invalid",
  421: "unreachable",
  422: "invalid",
  423: "conflict",
  424: "unreachable",
  425: "unreachable",
  426: "invalid",
  428: "conflict",
  429: "throttled",
  431: "invalid",
  451: "forbidden",
  500: "unreachable",
  501: "invalid",
  502: "unreachable",
  503: "unreachable",
  504: "unreachable",
  505: "invalid",
  506: "unreachable",
  507: "unreachable",
  508: "unreachable",
  510: "invalid",
  511: "unauthorized",
};

/** Faults by the reason of a Status, for a Status without a code (an ERROR event). */
const faultsByReason: Readonly<Record<string, Fault>> = {
  AlreadyExists: "exists",
  Conflict: "conflict",
  Expired: "expired",
  Gone: "expired",
  Unauthorized: "unauthorized",
  Forbidden: "forbidden",
  NotFound: "not-found",
  BadRequest: "invalid",
  Invalid: "invalid",
  MethodNotAllowed: "invalid",
  NotAcceptable: "invalid",
  RequestEntityTooLarge: "invalid",
  UnsupportedMediaType: "invalid",
  TooManyRequests: "throttled",
  ServerTimeout: "unreachable",
  Timeout: "unreachable",
  InternalError: "unreachable",
  ServiceUnavailable: "unreachable",
  StorageReadError: "unreachable",
};

/**
 * Turns a status code and, if there is one, the reason of the Status into the fault that the controller acts on.
 *
 * Codes that are in no table follow a rule: errors about our request (4xx) are permanent, errors of the server (5xx) are
 * transient, and a code below 400 where an error was expected means that no API server answered.
 */
export function faultOfStatus(status: number | undefined, reason?: string): Fault {
  const byReason = reason === undefined ? undefined : faultsByReason[reason];
  if (status === undefined || status === 0) return byReason ?? "unreachable";
  if (status === 409) return reason === "AlreadyExists" ? "exists" : "conflict";
  const byStatus = faultsByStatus[status];
  if (byStatus !== undefined) return byStatus;
  return status >= 400 && status <= 499 ? "invalid" : "unreachable";
}

type NetworkRule = Readonly<{ failure: NetworkFailure; fault: Fault; message: string }>;

const unreachable = (failure: NetworkFailure, message: string): NetworkRule => ({
  failure,
  fault: "unreachable",
  message,
});
const reset = unreachable("reset", "connection reset");
const noRoute = unreachable("no-route", "no route to the server");
const unknownName = unreachable("dns", "server name not found");
const timedOut = unreachable("timeout", "connection timed out");
const unknownIssuer = unreachable("tls", "server certificate signed by an unknown authority");
const selfSigned = unreachable("tls", "server certificate is self-signed");
const rejectedCertificate = unreachable("tls", "server certificate not accepted");
const notHttp = unreachable("not-an-api-server", "answer is not http");
const noAnswer = unreachable("timeout", "no answer in time");
const tooLarge = unreachable("not-an-api-server", "answer is too large");
const closedByUs = unreachable("closed", "client is closed");

/** Codes of Node, OpenSSL, undici and our transports. The messages are ours: theirs contain ports and addresses that vary. */
const networkRules: Readonly<Record<string, NetworkRule>> = {
  ECONNREFUSED: unreachable("refused", "connection refused"),
  ECONNRESET: reset,
  ECONNABORTED: reset,
  EPIPE: reset,
  ENOTCONN: reset,
  UND_ERR_SOCKET: reset,
  ERR_STREAM_PREMATURE_CLOSE: reset,
  ERR_STREAM_DESTROYED: reset,
  UND_ERR_ABORTED: reset,
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: reset,
  HPE_INVALID_EOF_STATE: reset,
  ERR_HTTP2_STREAM_ERROR: reset,
  ERR_HTTP2_SESSION_ERROR: reset,
  ERR_HTTP2_STREAM_CANCEL: reset,
  ERR_HTTP2_GOAWAY_SESSION: reset,
  ERR_HTTP2_INVALID_SESSION: reset,
  ENOTFOUND: unknownName,
  EAI_AGAIN: unreachable("dns", "server name cannot be resolved now"),
  EAI_FAIL: unknownName,
  EAI_NODATA: unknownName,
  EAI_NONAME: unknownName,
  EHOSTUNREACH: noRoute,
  ENETUNREACH: noRoute,
  EHOSTDOWN: noRoute,
  ENETDOWN: noRoute,
  EADDRNOTAVAIL: noRoute,
  EACCES: noRoute,
  EPERM: noRoute,
  EINVAL: noRoute,
  EMFILE: unreachable("no-route", "too many open files"),
  ENFILE: unreachable("no-route", "too many open files"),
  ETIMEDOUT: timedOut,
  ERR_SOCKET_CONNECTION_TIMEOUT: timedOut,
  UND_ERR_CONNECT_TIMEOUT: timedOut,
  UND_ERR_HEADERS_TIMEOUT: noAnswer,
  ERR_HEADERS_TIMEOUT: noAnswer,
  UND_ERR_BODY_TIMEOUT: unreachable("timeout", "answer stalled"),
  UND_ERR_DESTROYED: closedByUs,
  UND_ERR_CLOSED: closedByUs,
  ERR_TRANSPORT_CLOSED: closedByUs,
  UND_ERR_HEADERS_OVERFLOW: notHttp,
  UND_ERR_RES_EXCEEDED_MAX_SIZE: tooLarge,
  ERR_BODY_TOO_LARGE: tooLarge,
  EPROTO: unreachable("tls", "server does not speak tls"),
  CERT_HAS_EXPIRED: unreachable("tls", "server certificate has expired"),
  CERT_NOT_YET_VALID: unreachable("tls", "server certificate is not valid yet"),
  ERR_TLS_CERT_ALTNAME_INVALID: unreachable("tls", "server certificate is for another name"),
  HOSTNAME_MISMATCH: unreachable("tls", "server certificate is for another name"),
  DEPTH_ZERO_SELF_SIGNED_CERT: selfSigned,
  SELF_SIGNED_CERT_IN_CHAIN: selfSigned,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownIssuer,
  UNABLE_TO_GET_ISSUER_CERT: unknownIssuer,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownIssuer,
  CERT_UNTRUSTED: unknownIssuer,
  INVALID_CA: unknownIssuer,
  CERT_REVOKED: unreachable("tls", "server certificate is revoked"),
  CERT_REJECTED: rejectedCertificate,
  CERT_SIGNATURE_FAILURE: rejectedCertificate,
  INVALID_PURPOSE: rejectedCertificate,
  PATH_LENGTH_EXCEEDED: rejectedCertificate,
  CERT_CHAIN_TOO_LONG: rejectedCertificate,
  ERR_TLS_HANDSHAKE_TIMEOUT: timedOut,
};

/** The server rejected our certificate in the handshake: an authentication failure, not a network failure. */
const refusedClientCertificate =
  /^ERR_SSL_.*ALERT_(CERTIFICATE_(REQUIRED|EXPIRED|REVOKED|UNKNOWN)|BAD_CERTIFICATE|UNKNOWN_CA|UNSUPPORTED_CERTIFICATE|ACCESS_DENIED)$/;

/** The rule for the code of a network error; undefined for any other code. */
export function ruleOfNetworkCode(code: string): NetworkRule | undefined {
  const known = networkRules[code];
  if (known !== undefined) return known;
  if (refusedClientCertificate.test(code)) {
    return { failure: "client-certificate", fault: "unauthorized", message: "server refused our certificate" };
  }
  if (code.startsWith("ERR_SSL_") || code.startsWith("ERR_TLS_")) return unreachable("tls", "tls handshake failed");
  if (code.startsWith("ERR_OSSL_")) {
    return { failure: "tls", fault: "invalid", message: "certificate or key cannot be read" };
  }
  if (code.startsWith("HPE_")) return notHttp;
  if (code.startsWith("ERR_HTTP2_")) return reset;
  return undefined;
}
