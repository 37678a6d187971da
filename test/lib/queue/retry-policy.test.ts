import { ApiError } from "@tmc/kube/errors.ts";
import { ControllerError, type Fault } from "@tmc/kube/fault.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { afterFailure, readableCause } from "../../../lib/queue/retry-policy.ts";

const fault = (which: Fault, retryAfterSeconds?: number) => new ApiError(which, "it failed", { retryAfterSeconds });
const longest = 1 - Number.EPSILON;
const waits = (error: unknown, times: number) =>
  Array.from({ length: times }, (_, index) => {
    const after = afterFailure(error, index + 1, longest);
    return after.kind === "retry" ? Number(after.afterSeconds.toFixed(3)) : after.kind;
  });

describe("after a failure", () => {
  const cases: Record<string, { error: unknown; waits: readonly (number | string)[] }> = {
    "what is unreachable is retried for ever, the waits growing to half a minute": {
      error: fault("unreachable"),
      waits: [1, 2, 4, 8, 16, 30, 30, 30],
    },
    "throttling without a word on when is retried like it": {
      error: fault("throttled"),
      waits: [1, 2, 4, 8, 16, 30, 30],
    },
    "throttling until a time is not retried before it": { error: fault("throttled", 7), waits: [8, 8, 8] },
    "an unreachable server that names a time is not asked before it": { error: fault("unreachable", 20), waits: [21] },
    "a server cannot park a key for a day": { error: fault("throttled", 86_400), waits: [301] },
    "a time that is none is ignored": { error: fault("throttled", Number.NaN), waits: [1, 2] },
    "a conflict is retried at once, then after moments, then like the others": {
      error: fault("conflict"),
      waits: [0, 0.02, 0.1, 1, 2, 4, 8, 16, 30, 30],
    },
    "a bug is set aside at the fifth time": { error: new TypeError("bug"), waits: [1, 2, 4, 8, "dead-letter"] },
    "what is thrown without being an error is set aside like a bug": {
      error: "no words",
      waits: [1, 2, 4, 8, "dead-letter"],
    },
    "a fault is found through the wrapper that knows more": {
      error: new Error("bind web", { cause: fault("throttled", 3) }),
      waits: [4],
    },
    "the code of a network error is a fault": {
      error: Object.assign(new Error("connect"), { code: "ECONNREFUSED" }),
      waits: [1],
    },
    "of several errors at once the one that needs most care counts: a fault that may pass": {
      error: new AggregateError([fault("forbidden"), fault("throttled", 3)]),
      waits: [4],
    },
    "of several errors at once the one that needs most care counts: a bug": {
      error: new AggregateError([fault("unreachable"), new TypeError("bug")]),
      waits: [1, 2, 4, 8, "dead-letter"],
    },
    "several lasting faults last": {
      error: new AggregateError([fault("forbidden"), fault("invalid")]),
      waits: ["drop"],
    },
  };
  test.each(Object.entries(cases))("%s", (_, { error, waits: wanted }) => {
    expect(waits(error, wanted.length)).toEqual(wanted);
  });

  const lasting: readonly Fault[] = ["not-found", "exists", "expired", "unauthorized", "forbidden", "invalid"];
  test.each(lasting)("the fault %s lasts, so the key waits for a change", (which) => {
    expect(afterFailure(fault(which), 1, 0.5)).toEqual({ kind: "drop" });
  });

  test("every wait is spread from nothing to its full length", () => {
    const property = fc.property(
      fc.integer({ min: 1, max: 1000 }),
      fc.double({ min: 0, max: longest, noNaN: true }),
      (attempts, jitter) => {
        const after = afterFailure(fault("unreachable"), attempts, jitter);
        const ceiling = Math.min(30, 2 ** (attempts - 1));
        expect(after).toEqual({ kind: "retry", afterSeconds: ceiling * jitter });
      },
    );
    fc.assert(property);
  });
});

describe("a readable cause", () => {
  const circle: Error & { cause?: unknown } = new Error("round");
  circle.cause = circle;
  const cases: Record<string, { error: unknown; words: string }> = {
    "names the class of a bug": {
      error: new TypeError("x is not a function"),
      words: "TypeError: x is not a function",
    },
    "goes from what was wanted to what went wrong": {
      error: new ControllerError("unreachable", "kcp: bind web", { cause: new RangeError("port 99999") }),
      words: "kcp: bind web: RangeError: port 99999",
    },
    "says a thing once": {
      error: new Error("kcp: refused", { cause: new Error("refused") }),
      words: "kcp: refused",
    },
    "ends where causes go in a circle": { error: circle, words: "round" },
    "shows what was thrown without being an error": { error: 42, words: "42" },
    gathers: {
      error: new AggregateError([new Error("one"), new Error("two")], "both failed"),
      words: "AggregateError: both failed: one: two",
    },
    "is one line without a token": {
      error: new Error("got\n401 for Bearer abc.def"),
      words: "got 401 for Bearer [redacted]",
    },
    "shows no line of a kubeconfig": {
      error: new Error("users", { cause: new SyntaxError("cannot read token: abcdef123") }),
      words: "users: SyntaxError: cannot read token: [redacted]",
    },
    "says at least that it is unknown": { error: undefined, words: "unknown failure" },
  };
  test.each(Object.entries(cases))("%s", (_, { error, words }) => {
    expect(readableCause(error)).toBe(words);
  });
});
