import type { Clock } from "@tmc/kube/clock.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { formatKey, type WorkKey } from "../model/key.ts";
import { assertValidDelay, type Next } from "../model/next.ts";
import { coalesce, type Work, type WorkItem, type WorkQueue } from "../model/work-item.ts";

import { createCrowdShare } from "./cpu-share.ts";
import { createTimetable } from "./delay-heap.ts";
import { createFairLine, type FairLine } from "./fair-queue.ts";
import type { QueueEvent, SetAside } from "./queue-event.ts";
import { type AfterFailure, afterFailure, type FailureSort, readableCause, sortOfFailure } from "./retry-policy.ts";

import { createBreather } from "./yield.ts";

/** How much a queue in memory holds. */
export type QueueLimits = Readonly<{
  /** Keys that wait, run, or come back later. What is sent beyond is refused as throttled. @default 1,000,000 */
  keys?: number;
  /** Keys set aside; the one that has lain there longest makes room. @default 1,000 */
  setAside?: number;
}>;

export type MemoryQueueOptions = Readonly<{
  clock: Clock;
  /** From 0 up to 1; the spread of the waits between attempts. */
  random: () => number;
  limits?: QueueLimits;
  /** How many keys of one tenant are worked on at once, however many workers are free. @default as many as there are workers */
  tenantConcurrency?: number | undefined;
  /** Workers that workloads have to themselves: they mostly wait for clusters, and keep nothing else waiting. @default they are among the others */
  workloads?: Readonly<{ workers: number; tenantConcurrency?: number | undefined }> | undefined;
  /** The part of the process's time that a tenant has while others have something to do, from 0 to 1. @default all of it */
  tenantShare?: number | undefined;
  /** Told of everything that happens, after it has; for metrics and logs. What it throws is nobody's. */
  onEvent?: (event: QueueEvent) => void;
}>;

export type RunOptions = Readonly<{
  /** How many keys are worked on at once, besides those that have workers to themselves. */
  workers: number;
  /** Ends the run: nothing more is begun, what is in flight may finish. */
  signal: AbortSignal;
  /** How long what is in flight may take after that; then its own signal aborts and it is returned. @default 10 */
  graceSeconds?: number;
}>;

/** A work queue in this process's memory, with the workers that empty it. */
export interface MemoryQueue extends WorkQueue {
  /**
   * Works until the signal aborts, and is done when everything in flight has ended. What was cut off is in the queue
   * again, as is everything not begun. Nothing falls due while nobody runs.
   */
  run(work: Work, options: RunOptions): Promise<void>;
  /** Keys that wait for a worker. */
  readonly depth: number;
  /** Keys that are being worked on. */
  readonly inFlight: number;
  /** Keys that wait for a time. */
  readonly waiting: number;
  /** Keys that have failed since they last succeeded and will be tried again. */
  readonly failing: number;
  /** How long the key that has waited longest for a worker has done so. */
  oldestAgeSeconds(): number;
  /** What was given up, longest ago first. A key leaves the list when its work succeeds. */
  setAside(): readonly SetAside[];
  /** Sends again what was set aside, or only that key; answers how many. */
  redrive(key?: WorkKey): number;
}

type Later = Readonly<{ atMs: number; cancel: () => void }>;

/** All that is known of a key. There is none for a key that neither waits nor runs nor comes back. */
type Entry = {
  readonly key: WorkKey;
  readonly text: string;
  readonly crew: Crew;
  /** What to run next. While nothing runs, the entry is then in line. */
  pending: Readonly<{ item: WorkItem; sinceMs: number }> | undefined;
  running: boolean;
  /** The earliest time that a sender asked for. */
  asked: Later | undefined;
  /** What the last run wants: a retry or a look later. A newer run knows better, so its beginning takes this back. */
  own: Later | undefined;
  /** Failures since the last success, each sort by itself. */
  failures: Map<FailureSort, number> | undefined;
};

/** Keys that the same workers work on, in the order of their line. */
type Crew = Readonly<{ line: FairLine<Entry>; workersOf: (run: Run) => number }>;

type Run = {
  readonly work: Work;
  readonly workers: number;
  readonly cut: AbortController;
  readonly ended: () => void;
  /** How many of each crew are at work. */
  readonly busy: Map<Crew, number>;
  draining: boolean;
};

type Ending = Readonly<{ next: Next } | { error: unknown; sort: FailureSort; attempts: number; after: AfterFailure }>;

/** Creates a work queue in memory. Time comes from the clock alone; the same sends and the same random numbers give the same order. */
export function createMemoryQueue(options: MemoryQueueOptions): MemoryQueue {
  const { clock, random, limits = {}, tenantShare: share, onEvent } = options;
  const mostKeys = limits.keys ?? 1_000_000;
  const mostSetAside = limits.setAside ?? 1_000;
  const entries = new Map<string, Entry>();
  const { busyMs } = clock;
  const crowd = share === undefined || busyMs === undefined ? undefined : createCrowdShare({ clock, busyMs, share });
  const crewOf = (mostServed: number | undefined, workersOf: Crew["workersOf"]): Crew => {
    if (mostServed !== undefined && !(mostServed >= 1)) {
      throw new ControllerError("invalid", `queue: ${mostServed} keys of a tenant at once: at least 1 is needed`);
    }
    const wakeAfter = (ms: number, wake: () => void): void => {
      clock.after(ms, () => {
        wake();
        pump();
      });
    };
    return { line: createFairLine<Entry>({ mostServed, restMs: crowd?.restMs, wakeAfter }), workersOf };
  };
  const everyone = crewOf(options.tenantConcurrency, ({ workers }) => workers);
  const forWorkloads =
    options.workloads === undefined
      ? everyone
      : crewOf(options.workloads.tenantConcurrency, given(options.workloads.workers));
  const crews = [...new Set([everyone, forWorkloads])];
  const timetable = createTimetable(clock);
  const breather = createBreather(clock);
  const asideByKey = new Map<string, SetAside>();
  const runs = new Set<Run>();
  let inFlight = 0;
  let isPumping = false;

  const tell = (event: QueueEvent): void => {
    try {
      onEvent?.(event);
    } catch {
      // Whoever only listens must not be able to stop the work.
    }
  };

  const entryOf = (key: WorkKey): Entry => {
    const text = formatKey(key);
    const known = entries.get(text);
    if (known !== undefined) return known;
    const entry: Entry = {
      key,
      text,
      crew: key.kind === "Workload" ? forWorkloads : everyone,
      pending: undefined,
      running: false,
      asked: undefined,
      own: undefined,
      failures: undefined,
    };
    entries.set(text, entry);
    return entry;
  };

  const forgetIfIdle = (entry: Entry): void => {
    const { pending, running, asked, own } = entry;
    if (!running && pending === undefined && asked === undefined && own === undefined) entries.delete(entry.text);
  };

  const refuseBeyondLimit = (items: readonly WorkItem[]): void => {
    if (entries.size + items.length <= mostKeys) return;
    const fresh = new Set(items.map(({ key }) => formatKey(key)).filter((text) => !entries.has(text)));
    if (entries.size + fresh.size <= mostKeys) return;
    throw new ControllerError("throttled", `queue: ${fresh.size} more keys are too many beside ${entries.size}`);
  };

  const add = (entry: Entry, item: WorkItem, sinceMs: number): void => {
    const { pending } = entry;
    if (pending === undefined) {
      entry.pending = { item, sinceMs };
      if (!entry.running) joinLine(entry, item);
    } else {
      entry.pending = { item: coalesce(pending.item, item), sinceMs: pending.sinceMs };
      if (pending.item.isLowPriority === true && item.isLowPriority !== true)
        entry.crew.line.hurry(entry.key.logicalCluster, entry);
    }
    tell({ kind: "added", item, collapsed: pending !== undefined });
    pump();
  };

  const joinLine = (entry: Entry, { isLowPriority = false }: WorkItem): void => {
    entry.crew.line.join(entry.key.logicalCluster, entry, { isPatient: isLowPriority });
  };

  const addLater = (entry: Entry, slot: "asked" | "own", item: WorkItem, afterSeconds: number): void => {
    const atMs = clock.now() + afterSeconds * 1000;
    const present = entry[slot];
    if (present !== undefined && present.atMs <= atMs) return;
    present?.cancel();
    const cancel = timetable.book(atMs, () => {
      entry[slot] = undefined;
      add(entry, item, atMs);
    });
    entry[slot] = { atMs, cancel };
    tell({ kind: "delayed", item, afterSeconds });
  };

  /** Gives work to whoever is free; after the present step, so that what is sent together is seen together. */
  const pump = (): void => {
    if (isPumping || runs.size === 0) return;
    isPumping = true;
    breather.soon(() => {
      isPumping = false;
      for (const run of runs) for (const crew of crews) employ(run, crew);
    });
  };

  const employ = (run: Run, crew: Crew): void => {
    while (!run.draining && (run.busy.get(crew) ?? 0) < crew.workersOf(run)) {
      const entry = crew.line.next();
      if (entry === undefined) return;
      begin(run, entry);
    }
  };

  const begin = (run: Run, entry: Entry): void => {
    const { pending } = entry;
    if (pending === undefined) return; // who is in line has something pending
    entry.own?.cancel();
    entry.own = undefined;
    entry.pending = undefined;
    entry.running = true;
    run.busy.set(entry.crew, (run.busy.get(entry.crew) ?? 0) + 1);
    inFlight += 1;
    crowd?.begun(entry.key.logicalCluster);
    const startedMs = clock.now();
    tell({ kind: "started", item: pending.item, waitedSeconds: Math.max(0, startedMs - pending.sinceMs) / 1000 });
    void perform(run, entry, pending.item).then((ending) => end(run, entry, { ...pending, startedMs }, ending));
  };

  const perform = async (run: Run, entry: Entry, item: WorkItem): Promise<Ending | undefined> => {
    try {
      const next = await run.work(item, run.cut.signal);
      if (next.kind === "requeue") assertValidDelay(next.afterSeconds);
      return { next };
    } catch (error) {
      if (run.cut.signal.aborted) return undefined; // it was cut off: that says nothing about the key
      const sort = sortOfFailure(error);
      const failures = entry.failures ?? new Map<FailureSort, number>();
      const attempts = (failures.get(sort) ?? 0) + 1;
      entry.failures = failures.set(sort, attempts);
      return { error, sort, attempts, after: afterFailure(error, attempts, random()) };
    }
  };

  const end = (
    run: Run,
    entry: Entry,
    begun: Readonly<{ item: WorkItem; sinceMs: number; startedMs: number }>,
    ending: Ending | undefined,
  ): void => {
    const { item } = begun;
    entry.running = false;
    run.busy.set(entry.crew, (run.busy.get(entry.crew) ?? 0) - 1);
    inFlight -= 1;
    entry.crew.line.done(entry.key.logicalCluster);
    if (ending === undefined) entry.pending ??= begun;
    // It goes behind those who came while it ran: another of its tenant's keys is not held back by it.
    if (entry.pending !== undefined) joinLine(entry, entry.pending.item);
    if (ending !== undefined && "next" in ending) succeed(entry, item, ending.next);
    else if (ending !== undefined) fail(entry, item, ending);
    forgetIfIdle(entry);

    const durationSeconds = Math.max(0, clock.now() - begun.startedMs) / 1000;
    if (ending === undefined) tell({ kind: "ended", item, durationSeconds, outcome: "returned" });
    else if ("next" in ending) tell({ kind: "ended", item, durationSeconds, outcome: ending.next.kind });
    else {
      const { error, sort, attempts, after } = ending;
      const afterSeconds = after.kind === "retry" ? after.afterSeconds : undefined;
      tell({ kind: "ended", item, durationSeconds, outcome: after.kind, error, sort, attempts, afterSeconds });
    }
    if (run.draining && isIdle(run)) run.ended();
    else pump();
  };

  const succeed = (entry: Entry, item: WorkItem, next: Next): void => {
    entry.failures = undefined;
    asideByKey.delete(entry.text);
    // Also a wait of no time goes through the clock: a key that always wants to run must not keep others from the processor.
    if (next.kind === "requeue") addLater(entry, "own", againFor(item, "requeue"), next.afterSeconds);
  };

  const fail = (entry: Entry, item: WorkItem, failure: Exclude<Ending, { next: Next }>): void => {
    const { after, attempts, error } = failure;
    switch (after.kind) {
      case "retry": {
        const again = againFor(item, "retry");
        if (after.afterSeconds > 0) addLater(entry, "own", again, after.afterSeconds);
        // A fresh change that came meanwhile is tried at once anyway, and says more.
        else if (entry.pending === undefined) add(entry, again, clock.now());
        return;
      }
      case "drop":
        entry.failures = undefined;
        return;
      case "dead-letter":
        entry.failures = undefined;
        asideByKey.delete(entry.text);
        asideByKey.set(entry.text, { item, cause: readableCause(error), attempts, atMs: clock.now() });
        for (const longest of asideByKey.keys()) {
          if (asideByKey.size <= mostSetAside) break;
          asideByKey.delete(longest);
        }
    }
  };

  return {
    send: async (items) => {
      refuseBeyondLimit(items);
      for (const item of items) add(entryOf(item.key), item, clock.now());
    },
    sendLater: async (item, afterSeconds) => {
      assertValidDelay(afterSeconds);
      refuseBeyondLimit([item]);
      if (afterSeconds <= 0) add(entryOf(item.key), item, clock.now());
      else addLater(entryOf(item.key), "asked", item, afterSeconds);
    },
    run: (work, { workers, signal, graceSeconds = 10 }) =>
      new Promise((resolve, reject) => {
        const strange = [workers, options.workloads?.workers ?? 1].find((each) => !Number.isInteger(each) || each < 1);
        if (strange !== undefined) {
          reject(new ControllerError("invalid", `queue: ${strange} workers: a whole number from 1 on is needed`));
          return;
        }
        if (signal.aborted) {
          resolve();
          return;
        }
        let disarm = (): void => {};
        const run: Run = {
          work,
          workers,
          cut: new AbortController(),
          busy: new Map(),
          draining: false,
          ended: () => {
            disarm();
            runs.delete(run);
            if (runs.size === 0) timetable.stop();
            resolve();
          },
        };
        const drain = (): void => {
          run.draining = true;
          if (isIdle(run)) run.ended();
          else disarm = clock.after(graceSeconds * 1000, () => run.cut.abort());
        };
        signal.addEventListener("abort", drain, { once: true });
        runs.add(run);
        timetable.start();
        pump();
      }),
    get depth() {
      return crews.reduce((sum, { line }) => sum + line.length, 0);
    },
    get inFlight() {
      return inFlight;
    },
    get waiting() {
      let waiting = 0;
      for (const { asked, own } of entries.values()) if (asked !== undefined || own !== undefined) waiting += 1;
      return waiting;
    },
    get failing() {
      let failing = 0;
      for (const { failures } of entries.values()) if (failures !== undefined) failing += 1;
      return failing;
    },
    oldestAgeSeconds: () => {
      let oldestMs = clock.now();
      for (const { pending } of entries.values()) oldestMs = Math.min(oldestMs, pending?.sinceMs ?? oldestMs);
      return (clock.now() - oldestMs) / 1000;
    },
    setAside: () => [...asideByKey.values()],
    redrive: (key) => {
      const chosen = key === undefined ? [...asideByKey.keys()] : [formatKey(key)];
      let redriven = 0;
      for (const text of chosen) {
        const aside = asideByKey.get(text);
        if (aside === undefined) continue;
        asideByKey.delete(text);
        add(entryOf(aside.item.key), { ...aside.item, reason: "retry" }, clock.now());
        redriven += 1;
      }
      return redriven;
    },
  };
}

const given = (workers: number) => (): number => workers;

const isIdle = ({ busy }: Run): boolean => [...busy.values()].every((count) => count === 0);

/** What has been looked at has something to wait for, and is patient no more. */
function againFor({ isLowPriority: _, ...item }: WorkItem, reason: WorkItem["reason"]): WorkItem {
  return { ...item, reason };
}
