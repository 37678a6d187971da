import { setImmediate as afterPending } from "node:timers/promises";
import { ControllerError } from "@tmc/kube/fault.ts";
import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { describe, expect, test } from "vitest";
import type { Work, WorkItem } from "../../../lib/model/work-item.ts";
import { done, requeueAfter } from "../../../lib/model/work-item.ts";
import { createMemoryQueue, type MemoryQueueOptions } from "../../../lib/queue/memory-queue.ts";
import type { QueueEvent } from "../../../lib/queue/queue-event.ts";
import { workQueueContract } from "../../contract/work-queue.ts";
import { memory } from "../../contract/work-queue-differences.ts";

workQueueContract(memory, async () => {
  const clock = createManualClock();
  // Fewer than the workers of any contract test: every rule must also hold with a limit per tenant.
  const queue = createMemoryQueue({ clock, random: () => 0.99, tenantConcurrency: 2 });
  let running: { stop: AbortController; ended: Promise<void> } | undefined;
  return {
    queue,
    start: (work, { workers }) => {
      const stop = new AbortController();
      running = { stop, ended: queue.run(work, { workers, signal: stop.signal }) };
    },
    stop: async () => {
      running?.stop.abort();
      await running?.ended;
    },
    pass: async (seconds) => {
      // In steps, so that the result of one delay can start the next.
      for (let left = seconds; left > 0; left--) {
        clock.advance(Math.min(1, left) * 1000);
        await afterPending();
      }
      clock.advance(0);
      await afterPending();
    },
    deadLetters: async () => queue.deadLetters().map(({ item, cause }) => ({ key: item.key, cause })),
    redrive: async () => {
      queue.redrive();
    },
    close: async () => {},
  };
});

const item = (name: string, logicalCluster = "a"): WorkItem => ({
  key: { logicalCluster, kind: "WorkloadPlacement", name },
  reason: "changed",
});

function startQueue(work: Work, options: Partial<MemoryQueueOptions> = {}, workers = 1) {
  const clock = createManualClock();
  const events: QueueEvent[] = [];
  const queue = createMemoryQueue({ clock, random: () => 0.5, onEvent: (event) => events.push(event), ...options });
  const stop = new AbortController();
  const ended = queue.run(work, { workers, signal: stop.signal });
  const pass = async (seconds: number) => {
    clock.advance(seconds * 1000);
    await afterPending();
  };
  return { clock, queue, stop, ended, events, pass };
}

const never = () => new Promise<never>(() => {});
const untilAborted: Work = (_, signal) =>
  new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });

describe("memory queue", () => {
  test("limits the keys of one tenant in flight and gives the remaining workers to other tenants", async () => {
    const gates = new Map<string, PromiseWithResolvers<void>>();
    const running = (tenant: string) => [...gates.keys()].filter((name) => name.startsWith(tenant));
    const { queue, pass } = startQueue(
      async ({ key }) => {
        const gate = Promise.withResolvers<void>();
        gates.set(key.name, gate);
        await gate.promise;
        gates.delete(key.name);
        return done;
      },
      { tenantConcurrency: 3 },
      5,
    );
    await queue.send(Array.from({ length: 10_000 }, (_, index) => item(`a${index}`)));
    await pass(0);
    expect(running("a")).toEqual(["a0", "a1", "a2"]);
    await queue.send([item("b0", "b"), item("b1", "b"), item("b2", "b")]);
    await pass(0);
    expect(running("b")).toEqual(["b0", "b1"]);
    gates.get("a1")?.resolve();
    await pass(0);
    expect([running("a"), running("b")]).toEqual([
      ["a0", "a2"],
      ["b0", "b1", "b2"],
    ]);
    gates.get("b0")?.resolve();
    await pass(0);
    expect(running("a")).toEqual(["a0", "a2", "a3"]);
    expect([queue.depth, queue.inFlight]).toEqual([9_996, 5]);
  });

  test("reconciles workloads on a worker pool of their own, so that they delay no other key", async () => {
    const running: string[] = [];
    const { queue, pass, stop, ended } = startQueue(
      async ({ key }, signal) => {
        running.push(key.name);
        return untilAborted({ key, reason: "changed" }, signal);
      },
      { workloads: { workers: 3, tenantConcurrency: 2 } },
      1,
    );
    const workload = (name: string, logicalCluster: string): WorkItem => ({
      key: { logicalCluster, kind: "Workload", name },
      reason: "changed",
    });
    await queue.send([1, 2, 3, 4].map((number) => workload(`a${number}`, "a")));
    await pass(0);
    expect(running).toEqual(["a1", "a2"]);
    await queue.send([item("placement"), item("another"), workload("b1", "b"), workload("b2", "b")]);
    await pass(0);
    expect(running).toEqual(["a1", "a2", "placement", "b1"]);
    expect([queue.depth, queue.inFlight]).toEqual([4, 4]);
    stop.abort();
    await pass(10);
    await ended;
    expect([queue.depth, queue.inFlight]).toEqual([8, 0]);
  });

  test("serves low-priority keys after the other keys of their tenant, but does not starve them", async () => {
    const ran: string[] = [];
    const clock = createManualClock();
    const queue = createMemoryQueue({ clock, random: () => 0 });
    await queue.send(["p1", "p2", "p3", "p4"].map((name) => ({ ...item(name), isLowPriority: true })));
    await queue.send(Array.from({ length: 9 }, (_, at) => item(`f${at + 1}`)));
    // A change gives it normal priority.
    await queue.send([item("p3")]);
    expect(queue.depth).toBe(13);
    const stop = new AbortController();
    const ended = queue.run(
      async ({ key }) => {
        ran.push(key.name);
        return done;
      },
      { workers: 1, signal: stop.signal },
    );
    for (let turn = 0; turn < 40; turn++) {
      clock.advance(0);
      await afterPending();
    }
    expect(ran.join(" ")).toBe("f1 f2 f3 f4 f5 f6 f7 p1 f8 f9 p3 p2 p4");
    expect([queue.depth, queue.inFlight]).toEqual([0, 0]);
    stop.abort();
    await ended;
  });

  test("gives a requeued key normal priority after its first reconcile", async () => {
    const seen: (boolean | undefined)[] = [];
    const { queue, pass } = startQueue(async ({ isLowPriority }) => {
      seen.push(isLowPriority);
      return requeueAfter(1);
    });
    await queue.send([{ ...item("web"), isLowPriority: true }]);
    await pass(0);
    await pass(1);
    expect(seen).toEqual([true, undefined]);
  });

  test("rejects a run without workers in any of its pools", async () => {
    const signal = new AbortController().signal;
    const queue = (workers: number) =>
      createMemoryQueue({ clock: createManualClock(), random: () => 0, workloads: { workers } });
    for (const [workers, workloadWorkers] of [
      [0, 1],
      [1, 0],
    ] as const) {
      const run = queue(workloadWorkers).run(async () => done, { workers, signal });
      await expect(run).rejects.toThrow("queue: 0 workers: must be a whole number, at least 1");
    }
  });

  test("rejects a tenant concurrency of zero", () => {
    expect(() => createMemoryQueue({ clock: createManualClock(), random: () => 0, tenantConcurrency: 0 })).toThrow(
      "queue: tenant concurrency 0: must be at least 1",
    );
  });

  test("yields to the event loop while thousands of keys without work are reconciled", async () => {
    let nowMs = 0;
    // Reading the time advances this clock, like work that never waits.
    const clock = {
      ...createManualClock(),
      monotonicMs: () => (nowMs += 0.1),
      afterInput: (task: () => void) => void setImmediate(task),
    };
    const { queue } = startQueue(async () => done, { clock }, 5);
    await queue.send(Array.from({ length: 10_000 }, (_, index) => item(`a${index}`)));
    await afterPending();
    expect(queue.depth).toBeGreaterThan(9_900);
    for (let turns = 0; queue.depth > 0; turns++) {
      expect(turns).toBeLessThan(10_000);
      await afterPending();
    }
  });

  test("serves tenants round-robin, and the keys of a tenant first in, first out", async () => {
    const ran: string[] = [];
    const clock = createManualClock();
    const queue = createMemoryQueue({ clock, random: () => 0 });
    await queue.send([item("1"), item("2"), item("3"), item("4", "b"), item("5", "b"), item("6", "c")]);
    const stop = new AbortController();
    const ended = queue.run(
      async ({ key }) => {
        ran.push(key.name);
        return done;
      },
      { workers: 1, signal: stop.signal },
    );
    await afterPending();
    expect(ran).toEqual(["1", "4", "6", "2", "5", "3"]);
    stop.abort();
    await ended;
  });

  test("has at most as many keys in flight as workers", async () => {
    const { queue } = startQueue(never, {}, 3);
    await queue.send(["1", "2", "3", "4", "5"].map((name) => item(name)));
    await afterPending();
    expect([queue.inFlight, queue.depth]).toEqual([3, 2]);
  });

  test("keeps the attempts of a key that changes during its backoff, and clears them after a success", async () => {
    let isDown = true;
    const { queue, events, pass } = startQueue(async () => {
      if (isDown) throw new ControllerError("unreachable", "no route");
      return done;
    });
    for (let round = 0; round < 3; round++) {
      await queue.send([item("1")]);
      await pass(0);
    }
    isDown = false;
    await queue.send([item("1")]);
    await pass(0);
    isDown = true;
    await queue.send([item("1")]);
    await pass(0);
    const attempts = events.map((event) => ("attempts" in event ? event.attempts : event.kind));
    expect(attempts.filter((attempt) => typeof attempt === "number")).toEqual([1, 2, 3, 1]);
  });

  test("cancels the requeue of the previous reconcile when the key is reconciled again", async () => {
    const results = [requeueAfter(60), done];
    let runs = 0;
    const { queue, pass } = startQueue(async () => results[runs++] ?? done);
    await queue.send([item("1")]);
    await pass(0);
    expect(queue.delayed).toBe(1);
    await queue.send([item("1")]);
    await pass(0);
    expect(queue.delayed).toBe(0);
    await pass(120);
    expect(runs).toBe(2);
  });

  test("keeps a delayed send when the key is reconciled before its time", async () => {
    let runs = 0;
    const { queue, pass } = startQueue(async () => {
      runs += 1;
      return done;
    });
    await queue.sendLater(item("1"), 10);
    await queue.send([item("1")]);
    await pass(0);
    expect(runs).toBe(1);
    await pass(10);
    expect(runs).toBe(2);
  });

  test("does not count transient failures towards the dead-letter limit", async () => {
    const failures: unknown[] = Array.from({ length: 8 }, () => new ControllerError("unreachable", "down"));
    failures.push(new TypeError("bug"));
    let runs = 0;
    const { queue, pass } = startQueue(async () => {
      const failure = failures[runs++];
      if (failure !== undefined) throw failure;
      return done;
    });
    await queue.send([item("1")]);
    for (let round = 0; round < 20; round++) await pass(31);
    expect(runs).toBe(10);
    expect(queue.deadLetters()).toEqual([]);
    expect(queue.failing).toBe(0);
  });

  test("keeps no state of a key that is done", async () => {
    const { queue, pass } = startQueue(async () => done, { limits: { keys: 2 } });
    for (let round = 0; round < 5; round++) {
      await queue.send([item(`${round}`), item(`${round}-b`)]);
      await pass(0);
    }
    expect([queue.depth, queue.inFlight, queue.delayed]).toEqual([0, 0, 0]);
  });

  test("rejects a whole batch as throttled if its new keys exceed the limit", async () => {
    const { queue } = startQueue(never, { limits: { keys: 3 } });
    await queue.send([item("1"), item("2")]);
    await expect(queue.send([item("3"), item("4")])).rejects.toMatchObject({
      fault: "throttled",
      message: "queue: full: 2 keys, cannot add 2",
    });
    await expect(queue.send([item("1"), item("3"), item("3")])).resolves.toBeUndefined();
    await expect(queue.sendLater(item("4"), 1)).rejects.toMatchObject({ fault: "throttled" });
  });

  test("keeps a bounded number of dead letters and drops the oldest first", async () => {
    const { queue, pass } = startQueue(
      async () => {
        throw new TypeError("bug");
      },
      { limits: { deadLetters: 2 } },
    );
    for (const name of ["1", "2", "3"]) {
      await queue.send([item(name)]);
      for (let round = 0; round < 6; round++) await pass(31);
    }
    expect(queue.deadLetters().map(({ item, cause, attempts }) => [item.key.name, cause, attempts])).toEqual([
      ["2", "TypeError: bug", 5],
      ["3", "TypeError: bug", 5],
    ]);
  });

  test("redrives a single dead letter", async () => {
    let isBroken = true;
    const { queue, pass } = startQueue(async () => {
      if (isBroken) throw new TypeError("bug");
      return done;
    });
    await queue.send([item("1"), item("2")]);
    for (let round = 0; round < 6; round++) await pass(31);
    isBroken = false;
    expect(queue.redrive({ ...item("1").key, name: "other" })).toBe(0);
    expect(queue.redrive(item("1").key)).toBe(1);
    await pass(0);
    expect(queue.deadLetters().map(({ item }) => item.key.name)).toEqual(["2"]);
  });

  test("reports the age of the oldest key that waits for a worker", async () => {
    const { queue, pass } = startQueue(never);
    await queue.send([item("1")]);
    await pass(5);
    expect(queue.oldestAgeSeconds()).toBe(0);
    await queue.send([item("2")]);
    await pass(3);
    await queue.send([item("2"), item("3")]);
    await pass(4);
    expect(queue.oldestAgeSeconds()).toBe(7);
  });

  test("lets keys in flight finish during a drain, then aborts them and returns them to the queue", async () => {
    const { queue, stop, ended, events, pass, clock } = startQueue(untilAborted, {}, 2);
    await queue.send([item("1"), item("2"), item("3")]);
    await pass(0);
    stop.abort();
    await pass(9);
    expect(queue.inFlight).toBe(2);
    await pass(1);
    await ended;
    expect([queue.inFlight, queue.depth]).toEqual([0, 3]);
    expect(events.filter(({ kind }) => kind === "ended")).toMatchObject([
      { item: { key: { name: "1" } }, outcome: "returned" },
      { item: { key: { name: "2" } }, outcome: "returned" },
    ]);
    expect(clock.pending).toBe(0);
  });

  test("has no timer after a drain, and runs overdue keys in the next run", async () => {
    const { queue, stop, ended, clock, pass } = startQueue(async () => requeueAfter(60));
    await queue.send([item("1")]);
    await pass(0);
    stop.abort();
    await ended;
    expect([clock.pending, queue.delayed]).toEqual([0, 1]);
    await pass(90);
    let runs = 0;
    const again = new AbortController();
    const second = queue.run(
      async () => {
        runs += 1;
        return done;
      },
      { workers: 1, signal: again.signal },
    );
    await pass(0);
    expect(runs).toBe(1);
    again.abort();
    await second;
  });

  test("starts no key in a run whose signal is already aborted", async () => {
    const { queue, stop, ended } = startQueue(never);
    stop.abort();
    await ended;
    await queue.run(never, { workers: 1, signal: AbortSignal.abort() });
    await queue.send([item("1")]);
    await afterPending();
    expect([queue.inFlight, queue.depth]).toEqual([0, 1]);
  });

  test.each([0, -1, 1.5, Number.NaN])("rejects a run with %s workers", async (workers) => {
    const queue = createMemoryQueue({ clock: createManualClock(), random: () => 0 });
    const { signal } = new AbortController();
    await expect(queue.run(never, { workers, signal })).rejects.toMatchObject({ fault: "invalid" });
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY])(
    "rejects a delay of %s seconds instead of looping",
    async (seconds) => {
      const { queue, pass } = startQueue(async () => requeueAfter(seconds));
      await expect(queue.sendLater(item("1"), seconds)).rejects.toThrow(RangeError);
      await queue.send([item("1")]);
      for (let round = 0; round < 6; round++) await pass(31);
      expect(queue.deadLetters()).toMatchObject([{ cause: expect.stringContaining("invalid delay") }]);
    },
  );

  test("does not let a key that always requeues itself without a delay starve the process", async () => {
    const { queue, pass } = startQueue(async () => requeueAfter(0));
    await queue.send([item("1")]);
    await pass(0);
    expect(queue.inFlight).toBe(0);
  });

  test.each([
    { reasons: ["changed", "fan-out"], kept: "fan-out" },
    { reasons: ["on-demand", "resync"], kept: "on-demand" },
    { reasons: ["heartbeat", "resync"], kept: "heartbeat" },
    { reasons: ["heartbeat", "on-demand"], kept: "on-demand" },
  ] as const)("coalesces $reasons into the reason $kept", async ({ reasons, kept }) => {
    const seen: WorkItem[] = [];
    const clock = createManualClock();
    const queue = createMemoryQueue({ clock, random: () => 0 });
    await queue.send([{ ...item("1"), reason: reasons[0], resourceVersion: "7" }]);
    await queue.send([{ ...item("1"), reason: reasons[1] }]);
    const stop = new AbortController();
    const ended = queue.run(
      async (received) => {
        seen.push(received);
        return done;
      },
      { workers: 1, signal: stop.signal },
    );
    await afterPending();
    expect(seen).toEqual([{ ...item("1"), reason: kept, resourceVersion: "7" }]);
    stop.abort();
    await ended;
  });

  test("continues if its listener throws", async () => {
    let runs = 0;
    const { queue, pass } = startQueue(
      async () => {
        runs += 1;
        return done;
      },
      {
        onEvent: () => {
          throw new Error("full disk");
        },
      },
    );
    await queue.send([item("1"), item("2")]);
    await pass(0);
    expect(runs).toBe(2);
  });

  test("emits events with the reason, the wait and the duration of each reconcile", async () => {
    const { queue, events, pass, clock } = startQueue(async () => {
      clock.advance(250);
      throw new ControllerError("unreachable", "no route");
    });
    await queue.sendLater(item("1"), 2);
    await pass(2);
    expect(events.map((event) => [event.kind, "item" in event && event.item.reason])).toEqual([
      ["delayed", "changed"],
      ["added", "changed"],
      ["started", "changed"],
      ["delayed", "retry"],
      ["ended", "changed"],
    ]);
    expect(events.at(-1)).toMatchObject({
      outcome: "retry",
      durationSeconds: 0.25,
      failureKind: "transient",
      attempts: 1,
      afterSeconds: 0.5,
    });
  });
});
