import { ControllerError } from "@tmc/kube/fault.ts";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { WorkKey } from "../../lib/model/key.ts";
import type { Work, WorkItem, WorkQueue } from "../../lib/model/work-item.ts";
import { done, requeueAfter } from "../../lib/model/work-item.ts";
import { differenceOf } from "./work-queue-differences.ts";

/** A queue under test, with its workers and its time in the test's hand. */
export interface QueueUnderTest {
  readonly queue: WorkQueue;
  /** Begins to work; at most one run at a time. */
  start(work: Work, options: Readonly<{ workers: number }>): void;
  /** Stops the run, and is done when everything in flight has ended. */
  stop(): Promise<void>;
  /** Lets time pass, and waits until nothing more happens by itself. */
  pass(seconds: number): Promise<void>;
  deadLetters(): Promise<readonly Readonly<{ key: WorkKey; cause: string }>[]>;
  redrive(): Promise<void>;
  close(): Promise<void>;
}

const item = (name: string, reason: WorkItem["reason"] = "changed", logicalCluster = "tenant-a"): WorkItem => ({
  key: { logicalCluster, kind: "ClusterRegistration", name },
  reason,
});

/** Work that is let go by the test. */
function gate() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { passed: promise, open: () => resolve() };
}

/** The promises of a work queue, for every form of it; what a form is known not to keep has to fail. */
export function workQueueContract(name: string, create: () => Promise<QueueUnderTest>): void {
  describe(`the work queue's contract: ${name}`, () => {
    let under: QueueUnderTest;
    let ran: string[];
    const rule = (words: string, check: () => Promise<void>): void =>
      (differenceOf(name, words) === undefined ? test : test.fails)(words, check);
    beforeEach(async () => {
      under = await create();
      ran = [];
    });
    afterEach(async () => {
      await under.stop();
      await under.close();
    });

    /** Notes the key, then does what is said for that run of it. */
    const noting =
      (...script: Work[]): Work =>
      async (work, signal) => {
        const earlier = ran.filter((one) => one === work.key.name).length;
        ran.push(work.key.name);
        return (await script[Math.min(earlier, script.length - 1)]?.(work, signal)) ?? done;
      };
    const failing =
      (error: unknown): Work =>
      async () => {
        throw error;
      };

    rule("a sent key is reconciled", async () => {
      under.start(noting(), { workers: 2 });
      await under.queue.send([item("one"), item("two")]);
      await under.pass(0);
      expect(ran.toSorted()).toEqual(["one", "two"]);
    });

    rule("keys that are sent before the start are kept", async () => {
      await under.queue.send([item("one")]);
      under.start(noting(), { workers: 1 });
      await under.pass(0);
      expect(ran).toEqual(["one"]);
    });

    rule("adds of a waiting key coalesce", async () => {
      await under.queue.send([item("one"), item("one")]);
      await under.queue.send([item("one")]);
      under.start(noting(), { workers: 3 });
      await under.pass(0);
      expect(ran).toEqual(["one"]);
    });

    rule("a key is never in flight twice, and an add during a run runs afterwards", async () => {
      const gates = [gate(), gate()];
      let now = 0;
      let most = 0;
      under.start(
        noting(async ({ key }) => {
          if (key.name !== "one") return done;
          now += 1;
          most = Math.max(most, now);
          await gates[ran.filter((one) => one === "one").length - 1]?.passed;
          now -= 1;
          return done;
        }),
        { workers: 3 },
      );
      await under.queue.send([item("one")]);
      await under.pass(0);
      await under.queue.send([{ ...item("one"), resourceVersion: "2" }, item("two")]);
      await under.pass(0);
      expect(ran, "the other key is not held back").toEqual(["one", "two"]);
      gates[0]?.open();
      await under.pass(0);
      expect(ran).toEqual(["one", "two", "one"]);
      gates[1]?.open();
      await under.pass(0);
      expect(most).toBe(1);
    });

    rule("a delayed key runs once, and not before its time", async () => {
      under.start(noting(), { workers: 1 });
      await under.queue.sendLater(item("one", "resync"), 60);
      await under.pass(59);
      expect(ran).toEqual([]);
      await under.pass(2);
      expect(ran).toEqual(["one"]);
      await under.pass(120);
      expect(ran).toEqual(["one"]);
    });

    rule("the earliest of several delays of a key wins", async () => {
      under.start(noting(), { workers: 1 });
      await under.queue.sendLater(item("one"), 60);
      await under.queue.sendLater(item("one"), 10);
      await under.queue.sendLater(item("two"), 10);
      await under.queue.sendLater(item("two"), 60);
      await under.pass(11);
      expect(ran.toSorted()).toEqual(["one", "two"]);
    });

    rule("a requeued key runs again after its delay", async () => {
      under.start(
        noting(
          async () => requeueAfter(30),
          async () => done,
        ),
        { workers: 1 },
      );
      await under.queue.send([item("one")]);
      await under.pass(29);
      expect(ran).toEqual(["one"]);
      await under.pass(2);
      expect(ran).toEqual(["one", "one"]);
    });

    test.each(["conflict", "throttled", "unreachable"] as const)(
      "the fault %s is retried until it passes, and is never dead-lettered",
      async (fault) => {
        const error = new ControllerError(fault, "not now");
        under.start(
          noting(...Array<Work>(9).fill(failing(error)), async () => done),
          { workers: 1 },
        );
        await under.queue.send([item("one")]);
        for (let round = 0; round < 20; round++) await under.pass(31);
        expect(ran).toHaveLength(10);
        expect(await under.deadLetters()).toEqual([]);
      },
    );

    rule("a permanent fault is not retried until the object changes", async () => {
      under.start(noting(failing(new ControllerError("forbidden", "no access"))), { workers: 1 });
      await under.queue.send([item("one")]);
      for (let round = 0; round < 10; round++) await under.pass(31);
      expect(ran).toEqual(["one"]);
      expect(await under.deadLetters()).toEqual([]);
    });

    rule("an unexpected error is dead-lettered at the fifth attempt with its cause", async () => {
      under.start(noting(failing(new TypeError("x is not a function"))), { workers: 1 });
      await under.queue.send([item("one")]);
      for (let round = 0; round < 10; round++) await under.pass(31);
      expect(ran).toHaveLength(5);
      const [deadLetter, ...more] = await under.deadLetters();
      expect(more).toEqual([]);
      expect(deadLetter?.key).toEqual(item("one").key);
      expect(deadLetter?.cause).toContain("x is not a function");
    });

    rule("a dead letter is reconciled after a change and after a redrive", async () => {
      under.start(
        noting(...Array<Work>(5).fill(failing(new TypeError("bug"))), async () => done),
        { workers: 1 },
      );
      await under.queue.send([item("one"), item("two")]);
      for (let round = 0; round < 10; round++) await under.pass(31);
      expect(await under.deadLetters()).toHaveLength(2);
      ran = ran.filter((one) => one === "two"); // from here the first key succeeds as if its bug were mended
      ran.push(...Array<string>(5).fill("one"));
      await under.queue.send([{ ...item("one"), resourceVersion: "2" }]);
      await under.pass(0);
      expect(ran.filter((one) => one === "one")).toHaveLength(6);
      await under.redrive();
      await under.pass(1);
      expect(ran.filter((one) => one === "two")).toHaveLength(6);
      expect(await under.deadLetters()).toEqual([]);
    });

    rule("a retry does not delay a new change of its key", async () => {
      const unreachable = failing(new ControllerError("unreachable", "no route"));
      under.start(
        noting(...Array<Work>(6).fill(unreachable), async () => done),
        { workers: 1 },
      );
      await under.queue.send([item("one")]);
      for (let round = 0; round < 200 && ran.length < 6; round++) await under.pass(1);
      expect(ran, "now it waits up to half a minute").toHaveLength(6);
      await under.queue.send([{ ...item("one"), resourceVersion: "2" }]);
      await under.pass(0);
      expect(ran).toHaveLength(7);
    });

    rule("a failing key does not delay another", async () => {
      under.start(
        noting(async ({ key }) => {
          if (key.name === "bad") throw new ControllerError("unreachable", "no route");
          return done;
        }),
        { workers: 1 },
      );
      await under.queue.send([item("bad"), item("good")]);
      await under.pass(0);
      expect(ran).toContain("good");
    });

    rule("a busy tenant does not delay another", async () => {
      const many = Array.from({ length: 100 }, (_, index) => item(`noisy-${index}`));
      await under.queue.send(many);
      await under.queue.send([item("quiet", "changed", "tenant-b")]);
      under.start(noting(), { workers: 1 });
      await under.pass(0);
      expect(ran).toHaveLength(101);
      expect(ran.indexOf("quiet")).toBeLessThan(20);
    });

    rule("a tenant whose reconciles hang leaves workers for others", async () => {
      const hanging = gate();
      under.start(
        noting(async ({ key }) => {
          if (key.logicalCluster === "tenant-a") await hanging.passed;
          return done;
        }),
        { workers: 3 },
      );
      try {
        await under.queue.send(Array.from({ length: 60 }, (_, index) => item(`slow-${index}`)));
        await under.pass(0);
        await under.queue.send([item("quiet", "changed", "tenant-b")]);
        await under.pass(0);
        expect(ran).toContain("quiet");
      } finally {
        hanging.open();
      }
      await under.pass(0);
      expect(ran).toHaveLength(61);
    });

    rule("a stop waits for keys in flight and loses no waiting key", async () => {
      const one = gate();
      let isDone = false;
      under.start(
        noting(async () => {
          await one.passed;
          isDone = true;
          return done;
        }),
        { workers: 1 },
      );
      await under.queue.send([item("one"), item("two")]);
      await under.pass(0);
      const stopped = under.stop();
      one.open();
      await stopped;
      expect(isDone).toBe(true);
      expect(ran).toEqual(["one"]);
      under.start(noting(), { workers: 1 });
      await under.pass(0);
      expect(ran).toEqual(["one", "two"]);
    });
  });
}
