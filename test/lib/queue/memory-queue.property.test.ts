import { setImmediate as afterPending } from "node:timers/promises";
import { ControllerError } from "@tmc/kube/fault.ts";
import { createManualClock } from "@tmc/kube/manual-clock.ts";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { ObjectKey } from "../../../lib/model/key.ts";
import { done, type Next, requeueAfter } from "../../../lib/model/work-item.ts";
import { createMemoryQueue } from "../../../lib/queue/memory-queue.ts";
import { ClientGoModel, type ModelResult } from "./client-go-model.ts";

type Step =
  | { do: "send"; names: string[] }
  | { do: "send-later"; name: string; afterSeconds: number }
  | { do: "end"; which: number; result: ModelResult }
  | { do: "pass"; ms: number };

const name = fc.constantFrom("a1", "a2", "a3", "b1", "b2", "c1");
const seconds = fc.constantFrom(0.5, 1, 2, 5, 30);
const result: fc.Arbitrary<ModelResult> = fc.oneof(
  fc.constantFrom<ModelResult>(
    { kind: "done" },
    { kind: "conflict" },
    { kind: "unreachable" },
    { kind: "forbidden" },
    { kind: "bug" },
  ),
  seconds.map((afterSeconds): ModelResult => ({ kind: "requeue", afterSeconds })),
);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("send" as const), names: fc.array(name, { maxLength: 4 }) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("send-later" as const), name, afterSeconds: seconds }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("end" as const), which: fc.nat(5), result }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("pass" as const), ms: fc.constantFrom(0, 100, 1000, 4000, 31_000) }),
  },
);

const keyOf = (short: string): ObjectKey => ({
  logicalCluster: short.slice(0, 1),
  kind: "WorkloadPlacement",
  name: short,
});

function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    // Never 0: a delay of zero is reserved for conflicts.
    return (state + 1) / (2 ** 31 + 1);
  };
}

function settle(result: ModelResult, { resolve, reject }: PromiseWithResolvers<Next>): void {
  if (result.kind === "done") resolve(done);
  else if (result.kind === "requeue") resolve(requeueAfter(result.afterSeconds));
  else if (result.kind === "bug") reject(new TypeError("bug"));
  else reject(new ControllerError(result.kind, result.kind));
}

async function compare(
  steps: readonly Step[],
  workers: number,
  tenantConcurrency: number,
  seed: number,
): Promise<void> {
  const clock = createManualClock(0);
  const queue = createMemoryQueue({ clock, random: numbers(seed), tenantConcurrency });
  const model = new ClientGoModel({ workers, tenantConcurrency }, numbers(seed));
  const started: string[] = [];
  const flights = new Map<string, PromiseWithResolvers<Next>>();
  const stop = new AbortController();
  const ended = queue.run(
    ({ key }) => {
      expect(flights.has(key.name), `${key.name} is in flight twice`).toBe(false);
      started.push(key.name);
      const flight = Promise.withResolvers<Next>();
      flights.set(key.name, flight);
      return flight.promise;
    },
    { workers, signal: stop.signal },
  );
  const end = (short: string, result: ModelResult): void => {
    const flight = flights.get(short);
    if (flight === undefined) return;
    flights.delete(short);
    settle(result, flight);
    model.done(short, result);
  };

  for (const next of steps) {
    switch (next.do) {
      case "send":
        await queue.send(next.names.map((short) => ({ key: keyOf(short), reason: "changed" })));
        for (const short of next.names) model.add(short);
        break;
      case "send-later":
        await queue.sendLater({ key: keyOf(next.name), reason: "resync" }, next.afterSeconds);
        model.addAfter(next.name, next.afterSeconds);
        break;
      case "end": {
        const inFlight = [...flights.keys()];
        const short = inFlight[next.which % Math.max(1, inFlight.length)];
        if (short !== undefined) end(short, next.result);
        break;
      }
      case "pass":
        clock.advance(next.ms);
        model.advance(next.ms);
    }
    model.work();
    await afterPending();
    expect(started).toEqual(model.started);
    expect({
      depth: queue.depth,
      inFlight: queue.inFlight,
      delayed: queue.delayed,
      deadLetters: queue.deadLetters().map(({ item }) => item.key.name),
    }).toEqual({
      depth: model.depth,
      inFlight: model.processing.length,
      delayed: new Set(model.delayed.map(({ key }) => key)).size,
      deadLetters: model.deadLetters,
    });
  }

  stop.abort();
  for (const short of [...flights.keys()]) end(short, { kind: "done" });
  await ended;
  expect(clock.pending).toBe(0);
}

test("the memory queue behaves like client-go's work queue for every order of sends, results, failures and time", async () => {
  const property = fc.asyncProperty(
    fc.array(step, { maxLength: 60, size: "max" }),
    fc.integer({ min: 1, max: 4 }),
    fc.integer({ min: 1, max: 4 }),
    fc.nat(2 ** 30),
    compare,
  );
  await fc.assert(property, { numRuns: 300 });
});

test("the memory queue reconciles every key after its last send, whatever fails in between", async () => {
  const property = fc.asyncProperty(
    fc.array(fc.record({ names: fc.array(name, { minLength: 1, maxLength: 4 }), ms: fc.nat(3000) }), {
      maxLength: 20,
      size: "max",
    }),
    fc.integer({ min: 1, max: 3 }),
    fc.nat(2 ** 30),
    async (sends, workers, seed) => {
      const clock = createManualClock(0);
      const random = numbers(seed);
      const queue = createMemoryQueue({ clock, random });
      const version = new Map<string, number>();
      const seen = new Map<string, number>();
      const stop = new AbortController();
      const ended = queue.run(
        async ({ key }) => {
          const current = version.get(key.name) ?? 0;
          await new Promise<void>((resolve) => void clock.after(Math.floor(random() * 500), resolve));
          if (random() < 0.4) throw new ControllerError(random() < 0.5 ? "conflict" : "unreachable", "not now");
          seen.set(key.name, current);
          return done;
        },
        { workers, signal: stop.signal },
      );
      for (const { names, ms } of sends) {
        for (const sent of names) version.set(sent, (version.get(sent) ?? 0) + 1);
        await queue.send(names.map((sent) => ({ key: keyOf(sent), reason: "changed" })));
        clock.advance(ms);
        await afterPending();
      }
      for (let round = 0; round < 2000 && (queue.depth > 0 || queue.inFlight > 0 || queue.delayed > 0); round++) {
        clock.advance(5000);
        await afterPending();
      }
      stop.abort();
      await ended;
      expect(seen).toEqual(version);
    },
  );
  await fc.assert(property, { numRuns: 100 });
});
