import { setImmediate as afterPending } from "node:timers/promises";
import { ControllerError } from "@tmc/kube/fault.ts";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { ObjectKey } from "../../../lib/model/key.ts";
import { done, type Next, requeueAfter } from "../../../lib/model/next.ts";
import { createMemoryQueue } from "../../../lib/queue/memory-queue.ts";
import { createManualClock } from "../../support/manual-clock.ts";
import { ClientGoModel, type ModelEnding } from "./client-go-model.ts";

type Step =
  | { do: "send"; names: string[] }
  | { do: "send-later"; name: string; afterSeconds: number }
  | { do: "end"; which: number; ending: ModelEnding }
  | { do: "pass"; ms: number };

const name = fc.constantFrom("a1", "a2", "a3", "b1", "b2", "c1");
const seconds = fc.constantFrom(0.5, 1, 2, 5, 30);
const ending: fc.Arbitrary<ModelEnding> = fc.oneof(
  fc.constantFrom<ModelEnding>(
    { kind: "done" },
    { kind: "conflict" },
    { kind: "unreachable" },
    { kind: "forbidden" },
    { kind: "bug" },
  ),
  seconds.map((afterSeconds): ModelEnding => ({ kind: "requeue", afterSeconds })),
);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("send" as const), names: fc.array(name, { maxLength: 4 }) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("send-later" as const), name, afterSeconds: seconds }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("end" as const), which: fc.nat(5), ending }) },
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
    // From above nothing: a wait of no time is the rule of conflicts alone.
    return (state + 1) / (2 ** 31 + 1);
  };
}

function conclude(how: ModelEnding, { resolve, reject }: PromiseWithResolvers<Next>): void {
  if (how.kind === "done") resolve(done);
  else if (how.kind === "requeue") resolve(requeueAfter(how.afterSeconds));
  else if (how.kind === "bug") reject(new TypeError("bug"));
  else reject(new ControllerError(how.kind, how.kind));
}

async function compare(steps: readonly Step[], workers: number, share: number, seed: number): Promise<void> {
  const clock = createManualClock(0);
  const queue = createMemoryQueue({ clock, random: numbers(seed), tenantConcurrency: share });
  const model = new ClientGoModel({ workers, share }, numbers(seed));
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
  const end = (short: string, how: ModelEnding): void => {
    const flight = flights.get(short);
    if (flight === undefined) return;
    flights.delete(short);
    conclude(how, flight);
    model.done(short, how);
  };

  for (const one of steps) {
    switch (one.do) {
      case "send":
        await queue.send(one.names.map((short) => ({ key: keyOf(short), reason: "changed" })));
        for (const short of one.names) model.add(short);
        break;
      case "send-later":
        await queue.sendLater({ key: keyOf(one.name), reason: "resync" }, one.afterSeconds);
        model.addAfter(one.name, one.afterSeconds);
        break;
      case "end": {
        const inFlight = [...flights.keys()];
        const short = inFlight[one.which % Math.max(1, inFlight.length)];
        if (short !== undefined) end(short, one.ending);
        break;
      }
      case "pass":
        clock.advance(one.ms);
        model.advance(one.ms);
    }
    model.work();
    await afterPending();
    expect(started).toEqual(model.started);
    expect({
      depth: queue.depth,
      inFlight: queue.inFlight,
      waiting: queue.waiting,
      aside: queue.setAside().map(({ item }) => item.key.name),
    }).toEqual({
      depth: model.depth,
      inFlight: model.processing.length,
      waiting: new Set(model.waiting.map(({ key }) => key)).size,
      aside: model.setAside,
    });
  }

  stop.abort();
  for (const short of [...flights.keys()]) end(short, { kind: "done" });
  await ended;
  expect(clock.pending).toBe(0);
}

test("the queue does what client-go's does, in every order of sends, ends, failures and time", async () => {
  const property = fc.asyncProperty(
    fc.array(step, { maxLength: 60, size: "max" }),
    fc.integer({ min: 1, max: 4 }),
    fc.integer({ min: 1, max: 4 }),
    fc.nat(2 ** 30),
    compare,
  );
  await fc.assert(property, { numRuns: 300 });
});

test("every key that is sent is run after its last send, whatever fails and passes meanwhile", async () => {
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
          const present = version.get(key.name) ?? 0;
          await new Promise<void>((resolve) => void clock.after(Math.floor(random() * 500), resolve));
          if (random() < 0.4) throw new ControllerError(random() < 0.5 ? "conflict" : "unreachable", "not now");
          seen.set(key.name, present);
          return done;
        },
        { workers, signal: stop.signal },
      );
      for (const { names, ms } of sends) {
        for (const one of names) version.set(one, (version.get(one) ?? 0) + 1);
        await queue.send(names.map((one) => ({ key: keyOf(one), reason: "changed" })));
        clock.advance(ms);
        await afterPending();
      }
      for (let round = 0; round < 2000 && (queue.depth > 0 || queue.inFlight > 0 || queue.waiting > 0); round++) {
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
