import { describe, expect, test } from "vitest";
import {
  ApiError,
  errorOfInvalidResponse,
  errorOfNetwork,
  errorOfResponse,
  errorOfStatus,
  faultOf,
} from "../src/errors.ts";
import { ControllerError, type Fault } from "../src/fault.ts";
import { faultOfStatus } from "../src/fault-tables.ts";

const now = Date.parse("2026-01-01T00:00:00Z");
const what = 'kcp: get deployments.apps "web" in default';

function answer(status: number, body: object | string = "", headers: Record<string, string> = {}) {
  const type = typeof body === "string" ? "text/plain" : "application/json";
  const text = typeof body === "string" ? body : JSON.stringify({ kind: "Status", ...body });
  return { status, text, headers: { "content-type": type, ...headers } };
}

describe("a status code", () => {
  const rows: [number, string | undefined, Fault][] = [
    [400, "BadRequest", "invalid"],
    [401, "Unauthorized", "unauthorized"],
    [403, "Forbidden", "forbidden"],
    [404, "NotFound", "not-found"],
    [405, "MethodNotAllowed", "invalid"],
    [406, "NotAcceptable", "invalid"],
    [408, undefined, "unreachable"],
    [409, "AlreadyExists", "exists"],
    [409, "Conflict", "conflict"],
    [409, undefined, "conflict"],
    [410, "Expired", "expired"],
    [410, "Gone", "expired"],
    [413, "RequestEntityTooLarge", "invalid"],
    [415, "UnsupportedMediaType", "invalid"],
    [422, "Invalid", "invalid"],
    [429, "TooManyRequests", "throttled"],
    [500, "InternalError", "unreachable"],
    [500, "ServerTimeout", "unreachable"],
    [501, undefined, "invalid"],
    [502, undefined, "unreachable"],
    [503, "ServiceUnavailable", "unreachable"],
    [504, "Timeout", "unreachable"],
  ];
  test.each(rows)("%i %s is the fault %s", (status, reason, fault) => {
    const error = errorOfResponse(what, answer(status, { code: status, reason, message: "words" }), now);
    expect([error.fault, error.status, error.reason]).toEqual([fault, status, reason]);
    expect(error.message).toBe(`${what}: ${status} words`);
  });

  test("of 4xx is a permanent fault and of 5xx a transient one, even if it is in no table", () => {
    const lasting: Fault[] = ["not-found", "exists", "expired", "unauthorized", "forbidden", "invalid"];
    const passing4xx = [408, 409, 412, 421, 423, 424, 425, 428, 429];
    const lasting5xx = [501, 505, 510, 511];
    for (let status = 400; status <= 599; status++) {
      const expected = status < 500 ? !passing4xx.includes(status) : lasting5xx.includes(status);
      expect([status, lasting.includes(faultOfStatus(status))]).toEqual([status, expected]);
    }
  });

  test("below 400 means that no API server answered", () => {
    const redirect = errorOfResponse(what, answer(302, "", { location: "https://login.example/?token=s3cret" }), now);
    expect(redirect.message).toBe(`${what}: 302 redirects are not followed`);
    expect([redirect.fault, redirect.network]).toEqual(["unreachable", "not-an-api-server"]);
    expect(errorOfInvalidResponse(what, 200, "answer is not json").network).toBe("not-an-api-server");
  });
});

describe("an error event's status", () => {
  test.each<[object, Fault]>([
    [{ code: 410, reason: "Expired", message: "too old" }, "expired"],
    [{ reason: "Expired", message: "too old" }, "expired"],
    [{ code: 500, reason: "InternalError", message: "boom" }, "unreachable"],
    [{ message: "nothing else" }, "unreachable"],
  ])("%j is the fault %s", (body, fault) => {
    expect(errorOfStatus(what, { kind: "Status", ...body }).fault).toBe(fault);
  });
});

describe("the time to wait", () => {
  const rows: [string, Record<string, string>, object, number | undefined][] = [
    ["comes from the header in seconds", { "retry-after": "7" }, {}, 7],
    ["comes from the header as a date", { "retry-after": "Thu, 01 Jan 2026 00:00:09 GMT" }, {}, 9],
    ["is never in the past", { "retry-after": "Wed, 31 Dec 2025 00:00:00 GMT" }, {}, 0],
    ["comes from the details without a header", {}, { details: { retryAfterSeconds: 3 } }, 3],
    ["is the header's when both are there", { "retry-after": "1" }, { details: { retryAfterSeconds: 3 } }, 1],
    ["is unknown when the header makes no sense", { "retry-after": "soon" }, {}, undefined],
  ];
  test.each(rows)("%s", (_, headers, body, expected) => {
    expect(errorOfResponse(what, answer(429, body, headers), now).retryAfterSeconds).toBe(expected);
  });
});

describe("a network error", () => {
  const rows: [string, Fault, string, string][] = [
    ["ECONNREFUSED", "unreachable", "refused", "connection refused"],
    ["ECONNRESET", "unreachable", "reset", "connection reset"],
    ["EPIPE", "unreachable", "reset", "connection reset"],
    ["UND_ERR_SOCKET", "unreachable", "reset", "connection reset"],
    ["ENOTFOUND", "unreachable", "dns", "server name not found"],
    ["EAI_AGAIN", "unreachable", "dns", "server name cannot be resolved now"],
    ["EHOSTUNREACH", "unreachable", "no-route", "no route to the server"],
    ["ETIMEDOUT", "unreachable", "timeout", "connection timed out"],
    ["UND_ERR_CONNECT_TIMEOUT", "unreachable", "timeout", "connection timed out"],
    ["UND_ERR_HEADERS_TIMEOUT", "unreachable", "timeout", "no answer in time"],
    ["UND_ERR_BODY_TIMEOUT", "unreachable", "timeout", "answer stalled"],
    ["CERT_HAS_EXPIRED", "unreachable", "tls", "server certificate has expired"],
    ["DEPTH_ZERO_SELF_SIGNED_CERT", "unreachable", "tls", "server certificate is self-signed"],
    ["ERR_TLS_CERT_ALTNAME_INVALID", "unreachable", "tls", "server certificate is for another name"],
    ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "unreachable", "tls", "server certificate signed by an unknown authority"],
    ["ERR_SSL_WRONG_VERSION_NUMBER", "unreachable", "tls", "tls handshake failed"],
    [
      "ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED",
      "unauthorized",
      "client-certificate",
      "server refused our certificate",
    ],
    ["ERR_OSSL_PEM_NO_START_LINE", "invalid", "tls", "certificate or key cannot be read"],
    ["HPE_INVALID_CONSTANT", "unreachable", "not-an-api-server", "answer is not http"],
  ];
  test.each(rows)("%s is the fault %s, for %s", (code, fault, network, words) => {
    const cause = Object.assign(new Error("connect 10.0.0.1:41234"), { code });
    const error = errorOfNetwork(what, cause);
    expect([error.fault, error.network, error.message, error.cause]).toEqual([
      fault,
      network,
      `${what}: ${words}`,
      cause,
    ]);
  });

  test("is found in the causes of another error", () => {
    const refused = Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
    const tried = Object.assign(new AggregateError([refused]), { code: undefined });
    expect(errorOfNetwork(what, new Error("failed", { cause: tried })).network).toBe("refused");
    expect(faultOf(new Error("failed", { cause: new ControllerError("conflict", "x") }))).toBe("conflict");
  });

  test("with an unknown code keeps its own message", () => {
    const error = errorOfNetwork(what, new Error("line one\nline two"));
    expect([error.fault, error.message]).toEqual(["unreachable", `${what}: line one line two`]);
  });
});

describe("the message of an API error", () => {
  test("is one line of limited length without a token", () => {
    const message = `first\nsecond Bearer abc.def-1 eyJhbGciOi.eyJzdWIi.c2ln ${"x".repeat(10_000)}`;
    const text = errorOfResponse(what, answer(403, { message }), now).message;
    expect(text.startsWith(`${what}: 403 first second Bearer … … xxx`)).toBe(true);
    expect(text.length).toBeLessThan(500);
    expect(text).not.toMatch(/abc|eyJ|\n/);
  });

  test("explains a response without a Status, and does not repeat a web page", () => {
    const page = { status: 502, text: "<html>oops</html>", headers: { "content-type": "text/html" } };
    expect(errorOfResponse(what, page, now).message).toBe(`${what}: 502 bad gateway`);
    expect(errorOfResponse(what, answer(500, "etcd is down"), now).message).toBe(`${what}: 500 etcd is down`);
    expect(errorOfResponse(what, answer(599, ""), now).message).toBe(`${what}: 599 unknown status`);
  });
});

describe("the fault of an error", () => {
  test("is undefined for an error that is not a network error", () => {
    expect(faultOf(new TypeError("bug"))).toBeUndefined();
    expect(faultOf("text")).toBeUndefined();
    expect(faultOf(new ApiError("exists", "x"))).toBe("exists");
    expect(faultOf(Object.assign(new Error("x"), { code: "ECONNRESET" }))).toBe("unreachable");
  });
});
