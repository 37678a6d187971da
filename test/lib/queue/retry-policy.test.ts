import { ApiError } from "@tmc/kube/errors.ts";
import { ControllerError, type Fault } from "@tmc/kube/fault.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decideFailureAction, readableCause } from "../../../lib/queue/retry-policy.ts";

const fault = (which: Fault, retryAfterSeconds?: number) => new ApiError(which, "it failed", { retryAfterSeconds });
const maxJitter = 1 - Number.EPSILON;
const waitsAfter = (error: unknown, times: number) =>
  Array.from({ length: times }, (_, index) => {
    const action = decideFailureAction(error, index + 1, maxJitter);
    return action.kind === "retry" ? Number(action.afterSeconds.toFixed(3)) : action.kind;
  });

describe("the retry policy", () => {
  const cases: Record<string, { error: unknown; waits: readonly (number | string)[] }> = {
    "retries an unreachable server forever, with delays of up to half a minute": {
      error: fault("unreachable"),
      waits: [1, 2, 4, 8, 16, 30, 30, 30],
    },
    "retries throttling without a Retry-After like an unreachable server": {
      error: fault("throttled"),
      waits: [1, 2, 4, 8, 16, 30, 30],
    },
    "retries throttling not before its Retry-After": { error: fault("throttled", 7), waits: [8, 8, 8] },
    "retries an unreachable server not before its Retry-After": { error: fault("unreachable", 20), waits: [21] },
    "limits the Retry-After of a server to five minutes": { error: fault("throttled", 86_400), waits: [301] },
    "ignores an invalid Retry-After": { error: fault("throttled", Number.NaN), waits: [1, 2] },
    "retries a conflict at once, then after short delays, then like other failures": {
      error: fault("conflict"),
      waits: [0, 0.02, 0.1, 1, 2, 4, 8, 16, 30, 30],
    },
    "dead-letters the fifth unexpected error": { error: new TypeError("bug"), waits: [1, 2, 4, 8, "dead-letter"] },
    "dead-letters a thrown value that is not an error like a bug": {
      error: "no message",
      waits: [1, 2, 4, 8, "dead-letter"],
    },
    "finds the fault in the cause of an error": {
      error: new Error("bind web", { cause: fault("throttled", 3) }),
      waits: [4],
    },
    "takes the code of a network error for a fault": {
      error: Object.assign(new Error("connect"), { code: "ECONNREFUSED" }),
      waits: [1],
    },
    "retries an aggregate of a permanent and a transient fault": {
      error: new AggregateError([fault("forbidden"), fault("throttled", 3)]),
      waits: [4],
    },
    "dead-letters an aggregate of a transient fault and a bug": {
      error: new AggregateError([fault("unreachable"), new TypeError("bug")]),
      waits: [1, 2, 4, 8, "dead-letter"],
    },
    "drops an aggregate of permanent faults": {
      error: new AggregateError([fault("forbidden"), fault("invalid")]),
      waits: ["drop"],
    },
  };
  test.each(Object.entries(cases))("%s", (_, { error, waits: expected }) => {
    expect(waitsAfter(error, expected.length)).toEqual(expected);
  });

  const permanent: readonly Fault[] = ["not-found", "exists", "expired", "unauthorized", "forbidden", "invalid"];
  test.each(permanent)("drops a key with the permanent fault %s until it changes", (which) => {
    expect(decideFailureAction(fault(which), 1, 0.5)).toEqual({ kind: "drop" });
  });

  test("spreads every delay between zero and its upper bound", () => {
    const property = fc.property(
      fc.integer({ min: 1, max: 1000 }),
      fc.double({ min: 0, max: maxJitter, noNaN: true }),
      (attempts, jitter) => {
        const action = decideFailureAction(fault("unreachable"), attempts, jitter);
        const ceiling = Math.min(30, 2 ** (attempts - 1));
        expect(action).toEqual({ kind: "retry", afterSeconds: ceiling * jitter });
      },
    );
    fc.assert(property);
  });
});

describe("a readable cause", () => {
  const circle: Error & { cause?: unknown } = new Error("round");
  circle.cause = circle;
  const cases: Record<string, { error: unknown; text: string }> = {
    "has the class of an unexpected error": {
      error: new TypeError("x is not a function"),
      text: "TypeError: x is not a function",
    },
    "goes from the operation to its cause": {
      error: new ControllerError("unreachable", "kcp: bind web", { cause: new RangeError("port 99999") }),
      text: "kcp: bind web: RangeError: port 99999",
    },
    "does not repeat the same message": {
      error: new Error("kcp: refused", { cause: new Error("refused") }),
      text: "kcp: refused",
    },
    "ends if the causes are circular": { error: circle, text: "round" },
    "has a thrown value that is not an error": { error: 42, text: "42" },
    "has all errors of an aggregate": {
      error: new AggregateError([new Error("one"), new Error("two")], "both failed"),
      text: "AggregateError: both failed: one: two",
    },
    "is one line without tokens": {
      error: new Error("got\n401 for Bearer abc.def"),
      text: "got 401 for Bearer [redacted]",
    },
    "redacts the token of a kubeconfig": {
      error: new Error("users", { cause: new SyntaxError("cannot read token: abcdef123") }),
      text: "users: SyntaxError: cannot read token: [redacted]",
    },
    "is never empty": { error: undefined, text: "unknown failure" },
  };
  test.each(Object.entries(cases))("%s", (_, { error, text }) => {
    expect(readableCause(error)).toBe(text);
  });
});
