import { ApiError } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { createManualClock } from "@tmc/kube/manual-clock.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createLog, type LogFields, type LogOptions, parseLogLevel, type Severity } from "../../../lib/observe/log.ts";

function aLog(options: Partial<LogOptions> = {}) {
  const written: string[] = [];
  const log = createLog({ write: (line) => written.push(line), clock: createManualClock(), ...options });
  const lines = (): unknown[] => written.map((line) => JSON.parse(line));
  return { log, written, lines };
}

/** The line that is logged for these fields. */
function lineOf(fields: LogFields, options: Partial<LogOptions> = {}): string {
  const { log, written } = aLog({ level: 10, ...options });
  log.info("it happened", fields);
  expect(written).toHaveLength(1);
  return written[0] ?? "";
}

describe("log levels", () => {
  const cases: Record<number, readonly Severity[]> = {
    0: ["error"],
    1: ["error", "warn"],
    2: ["error", "warn", "info"],
    3: ["error", "warn", "info"],
    4: ["error", "warn", "info", "debug"],
    10: ["error", "warn", "info", "debug", "trace"],
  };
  test.each(Object.entries(cases))("log level %s writes %s", (level, severities) => {
    const { log, lines } = aLog({ level: Number(level) });
    const all: readonly Severity[] = ["error", "warn", "info", "debug", "trace"];
    for (const severity of all) log[severity]("it happened");
    expect(lines()).toEqual(severities.map((severity) => expect.objectContaining({ level: severity })));
    expect(all.filter((severity) => log.isEnabled(severity))).toEqual(severities);
  });

  test.each([
    ["0", 0],
    ["10", 10],
    ["11", undefined],
    ["-1", undefined],
    ["2.5", undefined],
    ["debug", undefined],
    ["", undefined],
  ])("parseLogLevel parses %j as %s", (text, level) => {
    expect(parseLogLevel(text)).toBe(level);
  });
});

describe("a log line", () => {
  test("a log line is one JSON object with time, level, message and fields, with those of its parents first", () => {
    const { log, written, lines } = aLog();
    log.child({ cluster: "root", name: "web" }).child({ requestId: "r1", name: "api" }).info("reconciled", { took: 3 });
    expect(lines()).toEqual([
      {
        time: "2026-01-01T00:00:00.000Z",
        level: "info",
        message: "reconciled",
        cluster: "root",
        name: "api",
        requestId: "r1",
        took: 3,
      },
    ]);
    expect(written[0]).toMatch(/^[^\n]*\n$/);
  });

  test("a log line contains no line break, whatever its fields contain", () => {
    expect(lineOf({ name: "a\nb\u2028c" }).trimEnd()).not.toContain("\n");
    expect(lineOf({ name: "a\nb" }, { format: "text" }).trimEnd()).not.toContain("\n");
  });

  test("a field with the name of a standard field is logged under another name", () => {
    expect(JSON.parse(lineOf({ level: "high", message: "other" }))).toMatchObject({
      level: "info",
      level_: "high",
      message: "it happened",
      message_: "other",
    });
  });

  test("an error is logged completely, with its causes", () => {
    const cause = new ApiError("unreachable", "connect: refused", { status: 503, network: "refused" });
    const error = new ControllerError("unreachable", "kcp: bind web", { cause });
    const { log, lines } = aLog();
    log.error("reconcile failed", { error });
    expect(lines()).toEqual([
      expect.objectContaining({
        error: {
          name: "ControllerError",
          fault: "unreachable",
          message: "kcp: bind web",
          cause: {
            name: "ControllerError",
            fault: "unreachable",
            message: "connect: refused",
            status: 503,
            network: "refused",
          },
        },
      }),
    ]);
  });

  test("the stack of an unexpected error is always logged, that of a fault only from level 4 on", () => {
    const fault = new ControllerError("conflict", "changed");
    expect(lineOf({ error: new TypeError("bug") }, { level: 2 })).toContain("log.test.ts");
    expect(lineOf({ error: fault }, { level: 2 })).not.toContain("log.test.ts");
    expect(lineOf({ error: fault }, { level: 4 })).toContain("log.test.ts");
  });

  test("a log line in text format has key=value fields", () => {
    const error = new Error("kcp: bind", { cause: new Error("refused") });
    expect(lineOf({ name: "web", note: "two words", n: 1, error }, { format: "text" })).toBe(
      '00:00:00.000 info  it happened name=web note="two words" n=1 error="kcp: bind: refused"\n',
    );
  });

  test("values of any type can be logged", () => {
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    const round: Error & { cause?: unknown } = new Error("round");
    round.cause = round;
    const line = lineOf({
      circle,
      round,
      big: 1n,
      not: Number.NaN,
      missing: undefined,
      nothing: null,
      call: () => 1,
      bytes: Buffer.from("abc"),
      when: new Date(0),
      never: new Date(Number.NaN),
      where: new URL("https://user:hunter2@example.com/x"),
      map: new Map([["a", 1]]),
      set: new Set([1, 2]),
      long: "x".repeat(10_000),
      many: Array.from({ length: 1000 }, (_, index) => index),
    });
    expect(line.length).toBeLessThan(20_000);
    expect(JSON.parse(line)).toMatchObject({
      big: "1",
      not: "NaN",
      nothing: null,
      bytes: "[3 bytes]",
      when: "1970-01-01T00:00:00.000Z",
      never: "invalid date",
      where: "https://[redacted]example.com/x",
      map: { a: 1 },
      set: [1, 2],
    });
    expect(line).not.toContain("missing");
  });
});

describe("secrets in log lines", () => {
  const kept: Record<string, unknown> = {
    name: "web",
    metadata: { labels: { data: "…" } },
    database: "east",
    key: "root|ClusterRegistration/east",
    credentialsExpire: "2026-02-01",
    tokenName: "ci",
    secretRef: { namespace: "default", name: "east" },
  };
  test("fields that only refer to a secret are not redacted", () => {
    const line = JSON.parse(lineOf(kept)) as Record<string, unknown>;
    expect(line).toMatchObject({ ...kept, metadata: { labels: { data: "[redacted]" } } });
  });

  /** Twelve characters or more, so that no line contains it by chance. */
  const secret = fc.stringMatching(/^[A-Za-z0-9]{12,40}$/).map((text) => `S3${text}`);
  const secretName = fc.constantFrom(
    "token",
    "bearerToken",
    "access_token",
    "accesstoken",
    "TOKEN",
    "kubeconfig",
    "clusterKubeconfigs",
    "password",
    "dbPassword",
    "Authorization",
    "proxy-authorization",
    "data",
    "stringData",
    "client-key-data",
    "clientKeyData",
    "client-certificate-data",
    "privateKey",
    "credentials",
    "clientSecret",
    "Cookie",
  );
  const plainName = fc.constantFrom("spec", "items", "object", "response", "a", "0");
  /** Forms of a secret in a field with a secret's name. */
  const holder = fc.constantFrom<(secret: string) => unknown>(
    (text) => text,
    (text) => ({ deep: [{ value: text }] }),
    (text) => [text],
    (text) => Buffer.from(text),
    (text) => new Map([["x", text]]),
    (text) => new Error(text),
    (text) => ({ [text]: true }),
  );
  /** Texts that contain a secret. */
  const words = fc.constantFrom<(secret: string) => string>(
    (text) => `GET /: 401 with Bearer ${text}`,
    (text) => `authorization: Basic ${text}`,
    (text) => `users:\n- user:\n    token: ${text}\n`,
    (text) => `{"token":"${text}"}`,
    (text) => `client-key-data: ${text}`,
    (text) => `https://admin:${text}@east.example.com:6443/readyz failed`,
    (text) => `--token=${text} was refused`,
    (text) => `?access_token=${text}&x=1`,
    (text) => `-----BEGIN EC PRIVATE KEY-----\n${text}\n-----END EC PRIVATE KEY-----`,
    (text) => `eyJhbGciOiJSUzI1NiJ9.${text}.${text}`,
    (text) => `token k8s-aws-v1.${text} was refused`,
    (text) => `https://sts.eu-central-1.amazonaws.com/?Action=GetCallerIdentity&X-Amz-Signature=${text}&x=1`,
  );
  /** Positions of a value in the logged fields. */
  const wrapper = fc.constantFrom<(value: unknown, name: string) => LogFields>(
    (value, name) => ({ [name]: value }),
    (value, name) => ({ outer: { [name]: value } }),
    (value, name) => ({ list: [1, { [name]: value }] }),
    (value, name) => ({ map: new Map([[name, value]]) }),
    (value, name) => ({ error: Object.assign(new Error("failed"), { [name]: value }) }),
    (value, name) => ({ error: new Error("failed", { cause: Object.assign(new Error("inner"), { [name]: value }) }) }),
    (value, name) => ({ error: new AggregateError([{ [name]: value }]) }),
  );
  const format = fc.constantFrom<"json" | "text">("json", "text");
  const shows = (line: string, text: string): boolean =>
    line.includes(text) || line.includes(Buffer.from(text).toString("base64").slice(0, 12));

  test("the value of a field with a secret's name is always redacted, at any depth and in any form", () => {
    const property = fc.property(
      secret,
      secretName,
      plainName,
      holder,
      wrapper,
      format,
      (text, name, plain, hold, wrap, how) => {
        const fields = wrap({ [plain]: { [name]: hold(text) } }, "object");
        expect(shows(lineOf(fields, { format: how }), text)).toBe(false);
        expect(shows(lineOf(wrap(hold(text), name), { format: how }), text)).toBe(false);
      },
    );
    fc.assert(property, { numRuns: 500 });
  });

  test("a secret in text is always redacted, in a message, a field, an error or its stack", () => {
    const property = fc.property(secret, plainName, words, wrapper, format, (text, name, say, wrap, how) => {
      const said = say(text);
      expect(shows(lineOf(wrap(said, name), { format: how }), text)).toBe(false);
      expect(shows(lineOf({ error: new Error("outer", { cause: new TypeError(said) }) }, { format: how }), text)).toBe(
        false,
      );
      const { log, written } = aLog({ format: how });
      log.child({ [name]: said }).warn(said);
      expect(shows(written.join(""), text)).toBe(false);
    });
    fc.assert(property, { numRuns: 500 });
  });

  test("other values are not redacted", () => {
    const property = fc.property(secret, plainName, (text, name) => {
      expect(lineOf({ [name]: text })).toContain(text);
    });
    fc.assert(property);
  });
});
