import { setImmediate as afterPending } from "node:timers/promises";
import { ControllerError } from "@tmc/kube/fault.ts";
import { describe, expect, test } from "vitest";
import { done, requeueAfter } from "../../../lib/model/next.ts";
import type { Work, WorkItem } from "../../../lib/model/work-item.ts";
import { createMemoryQueue, type MemoryQueueOptions } from "../../../lib/queue/memory-queue.ts";
import type { QueueEvent } from "../../../lib/queue/queue-event.ts";
import { workQueueContract } from "../../contract/work-queue.ts";
import { memory } from "../../contract/work-queue-differences.ts";
import { createManualClock } from "../../support/manual-clock.ts";

workQueueContract(memory, async () => {
  const clock = createManualClock();
  // Less than the contract ever has workers: every promise has to hold with shares.
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
      // In steps, so that what one wait brings about can begin the next.
      for (let left = seconds; left > 0; left--) {
        clock.advance(Math.min(1, left) * 1000);
        await afterPending();
      }
      clock.advance(0);
      await afterPending();
    },
    setAside: async () => queue.setAside().map(({ item, cause }) => ({ key: item.key, cause })),
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

function begin(work: Work, options: Partial<MemoryQueueOptions> = {}, workers = 1) {
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
  test("no tenant has more keys in work than its share, and others have the rest", async () => {
    const gates = new Map<string, PromiseWithResolvers<void>>();
    const running = (cluster: string) => [...gates.keys()].filter((name) => name.startsWith(cluster));
    const { queue, pass } = begin(
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

  test("workloads have workers to themselves, and keep nothing else waiting", async () => {
    const running: string[] = [];
    const { queue, pass, stop, ended } = begin(
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
    await queue.send([1, 2, 3, 4].map((each) => workload(`a${each}`, "a")));
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

  test("what is patient lets others of its tenant go first, and is served some day all the same", async () => {
    const ran: string[] = [];
    const clock = createManualClock();
    const queue = createMemoryQueue({ clock, random: () => 0 });
    await queue.send(["p1", "p2", "p3", "p4"].map((name) => ({ ...item(name), isLowPriority: true })));
    await queue.send(Array.from({ length: 9 }, (_, at) => item(`f${at + 1}`)));
    // Something has happened to it since.
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

  test("whoever was patient is so no more once it was looked at", async () => {
    const seen: (boolean | undefined)[] = [];
    const { queue, pass } = begin(async ({ isLowPriority }) => {
      seen.push(isLowPriority);
      return requeueAfter(1);
    });
    await queue.send([{ ...item("web"), isLowPriority: true }]);
    await pass(0);
    await pass(1);
    expect(seen).toEqual([true, undefined]);
  });

  test("no workers at all are refused", async () => {
    const signal = new AbortController().signal;
    const queue = (workers: number) =>
      createMemoryQueue({ clock: createManualClock(), random: () => 0, workloads: { workers } });
    for (const [workers, ofWorkloads] of [
      [0, 1],
      [1, 0],
    ] as const) {
      const run = queue(ofWorkloads).run(async () => done, { workers, signal });
      await expect(run).rejects.toThrow("queue: 0 workers: a whole number from 1 on is needed");
    }
  });

  test("a share of nothing is refused", () => {
    expect(() => createMemoryQueue({ clock: createManualClock(), random: () => 0, tenantConcurrency: 0 })).toThrow(
      "queue: 0 keys of a tenant at once: at least 1 is needed",
    );
  });

  test("thousands of keys that need nothing do not keep the process from its sockets", async () => {
    let nowMs = 0;
    // Every look at it moves this clock on, as work does that never waits for anything.
    const { after } = createManualClock();
    const clock = { after, now: () => (nowMs += 0.1), afterInput: (task: () => void) => void setImmediate(task) };
    const { queue } = begin(async () => done, { clock }, 5);
    await queue.send(Array.from({ length: 10_000 }, (_, index) => item(`a${index}`)));
    await afterPending();
    expect(queue.depth).toBeGreaterThan(9_900);
    for (let turns = 0; queue.depth > 0; turns++) {
      expect(turns).toBeLessThan(10_000);
      await afterPending();
    }
  });

  test("tenants take turns, each first in first out", async () => {
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

  test("no more keys are in flight than there are workers", async () => {
    const { queue } = begin(never, {}, 3);
    await queue.send(["1", "2", "3", "4", "5"].map((name) => item(name)));
    await afterPending();
    expect([queue.inFlight, queue.depth]).toEqual([3, 2]);
  });

  test("a fresh change during a back-off keeps the count of attempts, a success clears it", async () => {
    let isDown = true;
    const { queue, events, pass } = begin(async () => {
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
    expect(attempts.filter((one) => typeof one === "number")).toEqual([1, 2, 3, 1]);
  });

  test("a run takes back the look later that the run before it wanted", async () => {
    const wishes = [requeueAfter(60), done];
    let runs = 0;
    const { queue, pass } = begin(async () => wishes[runs++] ?? done);
    await queue.send([item("1")]);
    await pass(0);
    expect(queue.waiting).toBe(1);
    await queue.send([item("1")]);
    await pass(0);
    expect(queue.waiting).toBe(0);
    await pass(120);
    expect(runs).toBe(2);
  });

  test("what a sender asked for later is not taken back by a run before its time", async () => {
    let runs = 0;
    const { queue, pass } = begin(async () => {
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

  test("trouble with a server brings no key nearer to being set aside", async () => {
    const failures: unknown[] = Array.from({ length: 8 }, () => new ControllerError("unreachable", "down"));
    failures.push(new TypeError("bug"));
    let runs = 0;
    const { queue, pass } = begin(async () => {
      const failure = failures[runs++];
      if (failure !== undefined) throw failure;
      return done;
    });
    await queue.send([item("1")]);
    for (let round = 0; round < 20; round++) await pass(31);
    expect(runs).toBe(10);
    expect(queue.setAside()).toEqual([]);
    expect(queue.failing).toBe(0);
  });

  test("no key is kept in memory once it is settled", async () => {
    const { queue, pass } = begin(async () => done, { limits: { keys: 2 } });
    for (let round = 0; round < 5; round++) {
      await queue.send([item(`${round}`), item(`${round}-b`)]);
      await pass(0);
    }
    expect([queue.depth, queue.inFlight, queue.waiting]).toEqual([0, 0, 0]);
  });

  test("a batch with more new keys than there is room for is refused whole, as throttled", async () => {
    const { queue } = begin(never, { limits: { keys: 3 } });
    await queue.send([item("1"), item("2")]);
    await expect(queue.send([item("3"), item("4")])).rejects.toMatchObject({
      fault: "throttled",
      message: "queue: 2 more keys are too many beside 2",
    });
    await expect(queue.send([item("1"), item("3"), item("3")])).resolves.toBeUndefined();
    await expect(queue.sendLater(item("4"), 1)).rejects.toMatchObject({ fault: "throttled" });
  });

  test("what is set aside is bounded; what lay there longest makes room", async () => {
    const { queue, pass } = begin(
      async () => {
        throw new TypeError("bug");
      },
      { limits: { setAside: 2 } },
    );
    for (const name of ["1", "2", "3"]) {
      await queue.send([item(name)]);
      for (let round = 0; round < 6; round++) await pass(31);
    }
    expect(queue.setAside().map((aside) => [aside.item.key.name, aside.cause, aside.attempts])).toEqual([
      ["2", "TypeError: bug", 5],
      ["3", "TypeError: bug", 5],
    ]);
  });

  test("one key can be sent again by itself", async () => {
    let isBroken = true;
    const { queue, pass } = begin(async () => {
      if (isBroken) throw new TypeError("bug");
      return done;
    });
    await queue.send([item("1"), item("2")]);
    for (let round = 0; round < 6; round++) await pass(31);
    isBroken = false;
    expect(queue.redrive({ ...item("1").key, name: "other" })).toBe(0);
    expect(queue.redrive(item("1").key)).toBe(1);
    await pass(0);
    expect(queue.setAside().map((aside) => aside.item.key.name)).toEqual(["2"]);
  });

  test("the oldest age is that of the key that waits longest for a worker", async () => {
    const { queue, pass } = begin(never);
    await queue.send([item("1")]);
    await pass(5);
    expect(queue.oldestAgeSeconds()).toBe(0);
    await queue.send([item("2")]);
    await pass(3);
    await queue.send([item("2"), item("3")]);
    await pass(4);
    expect(queue.oldestAgeSeconds()).toBe(7);
  });

  test("a drain lets what is in flight finish, then cuts it off and has it returned", async () => {
    const { queue, stop, ended, events, pass, clock } = begin(untilAborted, {}, 2);
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

  test("after a drain no timer holds the process open, and what fell due is run by the next run", async () => {
    const { queue, stop, ended, clock, pass } = begin(async () => requeueAfter(60));
    await queue.send([item("1")]);
    await pass(0);
    stop.abort();
    await ended;
    expect([clock.pending, queue.waiting]).toEqual([0, 1]);
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

  test("a run whose signal has been aborted begins nothing", async () => {
    const { queue, stop, ended } = begin(never);
    stop.abort();
    await ended;
    await queue.run(never, { workers: 1, signal: AbortSignal.abort() });
    await queue.send([item("1")]);
    await afterPending();
    expect([queue.inFlight, queue.depth]).toEqual([0, 1]);
  });

  test.each([0, -1, 1.5, Number.NaN])("%s workers are refused", async (workers) => {
    const queue = createMemoryQueue({ clock: createManualClock(), random: () => 0 });
    const { signal } = new AbortController();
    await expect(queue.run(never, { workers, signal })).rejects.toMatchObject({ fault: "invalid" });
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY])(
    "a time of %s seconds is refused, and never a busy loop",
    async (seconds) => {
      const { queue, pass } = begin(async () => requeueAfter(seconds));
      await expect(queue.sendLater(item("1"), seconds)).rejects.toThrow(RangeError);
      await queue.send([item("1")]);
      for (let round = 0; round < 6; round++) await pass(31);
      expect(queue.setAside()).toMatchObject([{ cause: expect.stringContaining("is no time") }]);
    },
  );

  test("a key that always wants to look again at once leaves the processor to others", async () => {
    const { queue, pass } = begin(async () => requeueAfter(0));
    await queue.send([item("1")]);
    await pass(0);
    expect(queue.inFlight).toBe(0);
  });

  test.each([
    { reasons: ["changed", "fan-out"], kept: "fan-out" },
    { reasons: ["on-demand", "resync"], kept: "on-demand" },
    { reasons: ["heartbeat", "resync"], kept: "heartbeat" },
    { reasons: ["heartbeat", "on-demand"], kept: "on-demand" },
  ] as const)(
    "adds that collapse keep a wish for a look, or else the newest reason: $reasons",
    async ({ reasons, kept }) => {
      const seen: WorkItem[] = [];
      const clock = createManualClock();
      const queue = createMemoryQueue({ clock, random: () => 0 });
      await queue.send([{ ...item("1"), reason: reasons[0], resourceVersion: "7" }]);
      await queue.send([{ ...item("1"), reason: reasons[1] }]);
      const stop = new AbortController();
      const ended = queue.run(
        async (one) => {
          seen.push(one);
          return done;
        },
        { workers: 1, signal: stop.signal },
      );
      await afterPending();
      expect(seen).toEqual([{ ...item("1"), reason: kept, resourceVersion: "7" }]);
      stop.abort();
      await ended;
    },
  );

  test("a listener that throws stops nothing", async () => {
    let runs = 0;
    const { queue, pass } = begin(
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

  test("events tell what happened, how long it waited and how long it took", async () => {
    const { queue, events, pass, clock } = begin(async () => {
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
      sort: "trouble",
      attempts: 1,
      afterSeconds: 0.5,
    });
  });
});
