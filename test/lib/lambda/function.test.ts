import { type Clock, systemClock } from "@tmc/kube/clock.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { describe, expect, test, vi } from "vitest";
import { createFunction, type FunctionDefinition } from "../../../lib/lambda/function.ts";
import type { Host } from "../../../lib/lambda/host.ts";
import type { Log } from "../../../lib/observe/log.ts";
import { contextOf } from "../../support/functions-environment.ts";

type Parts = Readonly<{ word: string; log?: Log }>;
type Definition = FunctionDefinition<"resyncSeconds", Parts, string, string>;

function setUp(definition: Partial<Definition> = {}, clock: Clock = systemClock) {
  const lines: Record<string, unknown>[] = [];
  let uptimeMs = 80;
  const host: Host = {
    variables: { TMC_STAGE: "test" },
    version: "1.2.3",
    clock,
    random: () => 0.5,
    write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>),
    uptimeMs: () => (uptimeMs += 7),
  };
  const handler = createFunction(host, {
    name: "example",
    environmentNames: ["resyncSeconds"],
    start: async () => ({ word: "parts" }),
    handle: async ({ word }, event) => `${word} ${event}`,
    ...definition,
  });
  return { handler, lines };
}

test("a function starts once, with its first invocation", async () => {
  const start = vi.fn(async () => ({ word: "parts" }));
  const { handler, lines } = setUp({ start });
  expect(start).not.toHaveBeenCalled();
  expect(await Promise.all([handler("one", contextOf()), handler("two", contextOf())])).toEqual([
    "parts one",
    "parts two",
  ]);
  expect(await handler("three", contextOf())).toBe("parts three");
  expect(start).toHaveBeenCalledOnce();
  expect(lines).toMatchObject([
    { message: "function started", importMs: 87, initMs: 7, version: "1.2.3", function: "example", stage: "test" },
  ]);
});

test("a failed start is retried by the next invocation", async () => {
  const start = vi
    .fn(async () => ({ word: "parts" }))
    .mockRejectedValueOnce(new ControllerError("unreachable", "hub: away"));
  const { handler, lines } = setUp({ start });
  await expect(handler("one", contextOf())).rejects.toThrow("hub: away");
  expect(await handler("two", contextOf())).toBe("parts two");
  expect(lines.map(({ message }) => message)).toEqual(["invocation failed", "function started"]);
});

test("every log line has the request id of its invocation, also during concurrent invocations", async () => {
  const { handler, lines } = setUp({
    start: async ({ log }) => ({ word: "parts", log }),
    handle: async ({ log }, event) => {
      await new Promise((resolve) => setImmediate(resolve));
      log?.info(event);
      return event;
    },
  });
  const within = (awsRequestId: string) => ({ ...contextOf(), awsRequestId });
  await Promise.all([handler("one", within("a")), handler("two", within("b"))]);
  expect(lines.filter(({ message }) => message !== "function started")).toMatchObject([
    { message: "one", requestId: "a" },
    { message: "two", requestId: "b" },
  ]);
});

describe("a failed invocation", () => {
  const secret = "sesame-4711";

  test("a failed invocation is one log line with its causes, and one line without secrets for the runtime", async () => {
    const cause = Object.assign(new Error(`token: ${secret}`), { body: { secret } });
    const { handler, lines } = setUp({
      handle: async () => {
        throw new ControllerError("invalid", "kcp: read web: no", { cause });
      },
    });
    const failure: unknown = await handler("one", contextOf()).catch((error: unknown) => error);
    expect(failure).toSatisfy((error: Error) => error.stack === `Error: ${error.message}` && !("fault" in error));
    expect(String(failure)).toBe("Error: kcp: read web: no: token: [redacted]");
    expect(lines.filter(({ message }) => message === "invocation failed")).toHaveLength(1);
    expect(JSON.stringify(lines)).not.toContain(secret);
  });

  test("metrics are written even if the invocation fails", async () => {
    const { handler, lines } = setUp({
      start: async ({ metrics }) => {
        metrics.add("tmc_queue_dead_lettered_total", {});
        throw new Error("no");
      },
    });
    await handler("one", contextOf()).catch(() => {});
    expect(lines).toContainEqual(expect.objectContaining({ tmc_queue_dead_lettered_total: 1 }));
  });
});

describe("the signal of an invocation", () => {
  const untilAborted = (signal: AbortSignal) =>
    new Promise<string>((resolve) => signal.addEventListener("abort", () => resolve("what is left")));

  test("the signal is aborted before the timeout, so that the handler can still return a result", async () => {
    const clock = createManualClock();
    const handling = Promise.withResolvers<void>();
    const handle: Definition["handle"] = (_parts, _event, signal) => {
      handling.resolve();
      return untilAborted(signal);
    };
    const { handler } = setUp({ handle }, clock);
    const context = { ...contextOf(), getRemainingTimeInMillis: () => 20_000 - clock.now() + startMs };
    const startMs = clock.now();
    const result = handler("one", context);
    await handling.promise;
    expect(clock.waits).toEqual([18_000]);
    clock.advance(18_000);
    expect(await result).toBe("what is left");
    expect(clock.waits).toEqual([]);
  });

  test("the signal is not aborted while there is time left", async () => {
    const seen: boolean[] = [];
    const { handler } = setUp({
      handle: async (_parts, _event, signal) => {
        seen.push(signal.aborted);
        return "done";
      },
    });
    await handler("one", contextOf(10_000));
    expect(seen).toEqual([false]);
  });
});
