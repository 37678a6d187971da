import { ApiError } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createLog, type Fields, type LogOptions, parseLogLevel, type Severity } from "../../../lib/observe/log.ts";
import { createManualClock } from "../../support/manual-clock.ts";

function aLog(options: Partial<LogOptions> = {}) {
  const written: string[] = [];
  const log = createLog({ write: (line) => written.push(line), clock: createManualClock(), ...options });
  const lines = (): unknown[] => written.map((line) => JSON.parse(line));
  return { log, written, lines };
}

/** The one line that these fields make. */
function lineOf(fields: Fields, options: Partial<LogOptions> = {}): string {
  const { log, written } = aLog({ level: 10, ...options });
  log.info("it happened", fields);
  expect(written).toHaveLength(1);
  return written[0] ?? "";
}

describe("levels", () => {
  const cases: Record<number, readonly Severity[]> = {
    0: ["error"],
    1: ["error", "warn"],
    2: ["error", "warn", "info"],
    3: ["error", "warn", "info"],
    4: ["error", "warn", "info", "debug"],
    10: ["error", "warn", "info", "debug", "trace"],
  };
  test.each(Object.entries(cases))("level %s writes %s", (level, severities) => {
    const { log, lines } = aLog({ level: Number(level) });
    const all: readonly Severity[] = ["error", "warn", "info", "debug", "trace"];
    for (const severity of all) log[severity]("it happened");
    expect(lines()).toEqual(severities.map((severity) => expect.objectContaining({ level: severity })));
    expect(all.filter((severity) => log.writes(severity))).toEqual(severities);
  });

  test.each([
    ["0", 0],
    ["10", 10],
    ["11", undefined],
    ["-1", undefined],
    ["2.5", undefined],
    ["debug", undefined],
    ["", undefined],
  ])("the level %j is read as %s", (text, level) => {
    expect(parseLogLevel(text)).toBe(level);
  });
});

describe("a line", () => {
  test("is one JSON object with time, level, message and fields, those of its parents first", () => {
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

  test("has one end, whatever is in its fields", () => {
    expect(lineOf({ name: "a\nb\u2028c" }).trimEnd()).not.toContain("\n");
    expect(lineOf({ name: "a\nb" }, { format: "text" }).trimEnd()).not.toContain("\n");
  });

  test("keeps a field that is called like a part of the line, under another name", () => {
    expect(JSON.parse(lineOf({ level: "high", message: "other" }))).toMatchObject({
      level: "info",
      level_: "high",
      message: "it happened",
      message_: "other",
    });
  });

  test("shows an error whole, with its causes", () => {
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

  test("shows the stack of what nobody foresaw always, of a fault only from level 4 on", () => {
    const fault = new ControllerError("conflict", "changed");
    expect(lineOf({ error: new TypeError("bug") }, { level: 2 })).toContain("log.test.ts");
    expect(lineOf({ error: fault }, { level: 2 })).not.toContain("log.test.ts");
    expect(lineOf({ error: fault }, { level: 4 })).toContain("log.test.ts");
  });

  test("reads well as text", () => {
    const error = new Error("kcp: bind", { cause: new Error("refused") });
    expect(lineOf({ name: "web", note: "two words", n: 1, error }, { format: "text" })).toBe(
      '00:00:00.000 info  it happened name=web note="two words" n=1 error="kcp: bind: refused"\n',
    );
  });

  test("bears anything", () => {
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

describe("secrets", () => {
  const kept: Record<string, unknown> = {
    name: "web",
    metadata: { labels: { data: "…" } },
    database: "east",
    key: "root|ClusterRegistration/east",
    credentialsExpire: "2026-02-01",
    tokenName: "ci",
    secretRef: { namespace: "default", name: "east" },
  };
  test("words about a secret stay", () => {
    const line = JSON.parse(lineOf(kept)) as Record<string, unknown>;
    expect(line).toMatchObject({ ...kept, metadata: { labels: { data: "[redacted]" } } });
  });

  /** Twelve letters or more, so that it is in no line by chance. */
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
  /** Ways in which a secret sits in a field that is named for it. */
  const holder = fc.constantFrom<(secret: string) => unknown>(
    (text) => text,
    (text) => ({ deep: [{ value: text }] }),
    (text) => [text],
    (text) => Buffer.from(text),
    (text) => new Map([["x", text]]),
    (text) => new Error(text),
    (text) => ({ [text]: true }),
  );
  /** Ways in which a secret sits in somebody's words. */
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
  /** Ways in which something sits deeper in what is logged. */
  const wrapper = fc.constantFrom<(value: unknown, name: string) => Fields>(
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

  test("a field that is named for a secret never shows it, however deep and in whatever form", () => {
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

  test("a secret in somebody's words is never shown: in a message, a field, an error or its stack", () => {
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

  test("what is not said to be a secret is shown", () => {
    const property = fc.property(secret, plainName, (text, name) => {
      expect(lineOf({ [name]: text })).toContain(text);
    });
    fc.assert(property);
  });
});
