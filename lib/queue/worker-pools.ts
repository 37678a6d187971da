import type { Clock } from "@tmc/kube/clock.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { Work } from "../model/work-item.ts";
import type { DelayHeap } from "./delay-heap.ts";

export type RunOptions = Readonly<{
  /** Keys that are reconciled concurrently, not counting pools with workers of their own. */
  workers: number;
  /** Ends the run: no new key is started, keys in flight may finish. */
  signal: AbortSignal;
  /** How long keys in flight may take after that. Then their own signal aborts and they return to the queue. @default 10 */
  graceSeconds?: number;
}>;

/** A source of work and the number of workers that take from it. */
export type WorkerPool<Entry> = Readonly<{
  /** The next entry to work on; undefined while none is ready. */
  next: () => Entry | undefined;
  /** Number of workers, given the number that the run was started with. */
  workersOf: (workers: number) => number;
}>;

export type WorkerPoolsOptions<Entry> = Readonly<{
  clock: Clock;
  pools: readonly WorkerPool<Entry>[];
  /** Started with the first run and stopped after the last, so that an idle process has no timer. */
  delays: Pick<DelayHeap, "start" | "stop">;
  /** Starts work on an entry. Must call `finish` once when the work has ended, with a function that applies the result. */
  start: (entry: Entry, run: ActiveRun, finish: (applyResult: () => void) => void) => void;
}>;

/** The part of a run that work on an entry needs. */
export type ActiveRun = Readonly<{ work: Work; signal: AbortSignal }>;

/** Hands entries to a bounded number of concurrent workers. */
export interface WorkerPools {
  /** Entries that are being worked on. */
  readonly inFlight: number;
  /** Starts ready entries on free workers, after the current task: entries that are added together are seen together. */
  pump(): void;
  /** Works until the signal aborts; resolves when everything in flight has ended. */
  run(work: Work, options: RunOptions): Promise<void>;
}

type Run<Entry> = {
  readonly work: Work;
  readonly workers: number;
  readonly abort: AbortController;
  readonly end: () => void;
  readonly busy: Map<WorkerPool<Entry>, number>;
  isDraining: boolean;
};

/** Creates worker pools. Nothing is started while no run is active. */
export function createWorkerPools<Entry>({ clock, pools, delays, start }: WorkerPoolsOptions<Entry>): WorkerPools {
  const yielder = createYielder(clock);
  const runs = new Set<Run<Entry>>();
  let inFlight = 0;
  let isPumpScheduled = false;

  const pump = (): void => {
    if (isPumpScheduled || runs.size === 0) return;
    isPumpScheduled = true;
    yielder.defer(() => {
      isPumpScheduled = false;
      for (const run of runs) for (const pool of pools) fillPool(run, pool);
    });
  };

  const fillPool = (run: Run<Entry>, pool: WorkerPool<Entry>): void => {
    while (!run.isDraining && busyIn(run, pool) < pool.workersOf(run.workers)) {
      const entry = pool.next();
      if (entry === undefined) return;
      run.busy.set(pool, busyIn(run, pool) + 1);
      inFlight += 1;
      start(entry, { work: run.work, signal: run.abort.signal }, (applyResult) => {
        run.busy.set(pool, busyIn(run, pool) - 1);
        inFlight -= 1;
        applyResult();
        if (run.isDraining && isIdle(run)) run.end();
        else pump();
      });
    }
  };

  return {
    get inFlight() {
      return inFlight;
    },
    pump,
    run: (work, { workers, signal, graceSeconds = 10 }) =>
      new Promise((resolve, reject) => {
        const invalid = pools
          .map(({ workersOf }) => workersOf(workers))
          .find((count) => !Number.isInteger(count) || count < 1);
        if (invalid !== undefined) {
          reject(new ControllerError("invalid", `queue: ${invalid} workers: must be a whole number, at least 1`));
          return;
        }
        if (signal.aborted) {
          resolve();
          return;
        }
        let cancelGrace = (): void => {};
        const run: Run<Entry> = {
          work,
          workers,
          abort: new AbortController(),
          busy: new Map(),
          isDraining: false,
          end: () => {
            cancelGrace();
            runs.delete(run);
            if (runs.size === 0) delays.stop();
            resolve();
          },
        };
        const drain = (): void => {
          run.isDraining = true;
          if (isIdle(run)) run.end();
          else cancelGrace = clock.after(graceSeconds * 1000, () => run.abort.abort());
        };
        signal.addEventListener("abort", drain, { once: true });
        runs.add(run);
        delays.start();
        pump();
      }),
  };
}

function busyIn<Entry>({ busy }: Run<Entry>, pool: WorkerPool<Entry>): number {
  return busy.get(pool) ?? 0;
}

function isIdle<Entry>({ busy }: Run<Entry>): boolean {
  return [...busy.values()].every((count) => count === 0);
}

/** Defers tasks so that the event loop can serve its sockets in between. */
export interface Yielder {
  /** Runs the task as a microtask; after pending input, if time has passed since the event loop last read its sockets. */
  defer(task: () => void): void;
}

/**
 * Creates a yielder.
 *
 * Reconciles that find nothing to do never wait for anything. Ten thousand of them in a row would keep the process from
 * its sockets for as long as they take, and delay the changes of every other tenant.
 */
export function createYielder({ monotonicMs, afterInput }: Pick<Clock, "monotonicMs" | "afterInput">): Yielder {
  if (afterInput === undefined) return { defer: queueMicrotask };
  /** When the event loop last read its sockets; undefined until the next call measures it. */
  let lastInputMs: number | undefined;
  return {
    defer: (task) => {
      if (lastInputMs === undefined) {
        lastInputMs = monotonicMs();
        afterInput(() => {
          lastInputMs = undefined;
        });
      }
      if (monotonicMs() > lastInputMs) afterInput(task);
      else queueMicrotask(task);
    },
  };
}
