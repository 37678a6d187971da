import type { Clock } from "@tmc/kube/clock.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { formatKey, type WorkKey } from "../model/key.ts";
import type { Work, WorkItem, WorkQueue } from "../model/work-item.ts";
import { assertValidDelay, type Next } from "../model/work-item.ts";
import { type CpuShare, createCpuShare } from "./cpu-share.ts";
import { createDelayHeap } from "./delay-heap.ts";
import { createFairQueue, type FairQueue } from "./fair-queue.ts";
import { createQueueEntries, type PendingItem, type QueueEntries, type QueueEntry } from "./queue-entries.ts";
import { type DeadLettered, ignoreListenerErrors, type QueueEvent } from "./queue-event.ts";
import {
  decideFailureAction,
  type FailureAction,
  type FailureKind,
  failureKindOf,
  readableCause,
} from "./retry-policy.ts";
import { type ActiveRun, createWorkerPools, type RunOptions, type WorkerPool } from "./worker-pools.ts";

export type QueueLimits = Readonly<{
  /** Keys that wait, run or are delayed. Sends beyond this are rejected as throttled. @default 1,000,000 */
  keys?: number;
  /** Dead letters that are kept; the oldest is dropped first. @default 1,000 */
  deadLetters?: number;
}>;

export type MemoryQueueOptions = Readonly<{
  clock: Clock;
  /** From 0 up to 1; jitter of the delays between attempts. */
  random: () => number;
  limits?: QueueLimits;
  /** Keys of one tenant that are reconciled concurrently, however many workers are free. @default no limit */
  tenantConcurrency?: number | undefined;
  /** A separate worker pool for workloads. They mostly wait for clusters and would block other keys. @default one pool for all kinds */
  workloads?: Readonly<{ workers: number; tenantConcurrency?: number | undefined }> | undefined;
  /** The share of the process's CPU time that one tenant may use while other tenants have work, from 0 to 1. @default no limit */
  tenantCpuShare?: number | undefined;
  /** Called after every event, for metrics and logs. Errors it throws are ignored. */
  onEvent?: (event: QueueEvent) => void;
}>;

/** A work queue in the memory of this process, with its workers. */
export interface MemoryQueue extends WorkQueue {
  /**
   * Works until the signal aborts; resolves when everything in flight has ended. Keys that were cut off, and keys that were
   * not started, stay in the queue. Delays do not expire while no run is active.
   */
  run(work: Work, options: RunOptions): Promise<void>;
  /** Keys that wait for a worker. */
  readonly depth: number;
  /** Keys that are being reconciled. */
  readonly inFlight: number;
  /** Keys with a delay that has not expired. */
  readonly delayed: number;
  /** Keys that failed, have not succeeded since, and will be retried. */
  readonly failing: number;
  /** How long the oldest waiting key has waited for a worker. */
  oldestAgeSeconds(): number;
  /** Dead letters, oldest first. A key is removed when its reconcile succeeds. */
  deadLetters(): readonly DeadLettered[];
  /** Sends all dead letters again, or only this key; returns how many. */
  redrive(key?: WorkKey): number;
}

/** The result of a run; undefined for a run that was cut off, which says nothing about the key. */
type RunResult = Readonly<{ next: Next } | RunFailure> | undefined;
type RunFailure = Readonly<{ error: unknown; failureKind: FailureKind; attempts: number; action: FailureAction }>;

type StartedItem = PendingItem & Readonly<{ startedMs: number }>;

/** Creates a work queue in memory. Time comes only from the clock: the same sends and random numbers give the same order. */
export function createMemoryQueue(options: MemoryQueueOptions): MemoryQueue {
  const { clock, random, limits = {} } = options;
  const emit = ignoreListenerErrors(options.onEvent);
  const cpuShare = cpuShareOf(options);
  const ready = createReadyQueues(options, cpuShare, () => workers.pump());
  const delays = createDelayHeap(clock);
  const deadLetters = createDeadLetterList(limits.deadLetters ?? 1_000);
  const entries = createQueueEntries({
    clock,
    delays,
    maxKeys: limits.keys ?? 1_000_000,
    readyQueueOf: ready.of,
    emit,
    onAdded: () => workers.pump(),
  });
  const workers = createWorkerPools<QueueEntry>({
    clock,
    pools: ready.pools,
    delays,
    start: (entry, run, finish) => {
      const pending = entries.begin(entry);
      // Cannot happen: an entry in a ready queue has a pending item.
      if (pending === undefined) return finish(() => {});
      cpuShare?.started(entry.key.logicalCluster);
      const startedMs = clock.monotonicMs();
      emit({ kind: "started", item: pending.item, waitedSeconds: Math.max(0, startedMs - pending.sinceMs) / 1000 });
      void runItem(run, { entry, item: pending.item, random }).then((result) => {
        finish(() => end(entry, { ...pending, startedMs }, result));
      });
    },
  });
  const applyResult = createResultHandler({ clock, entries, deadLetters });

  const end = (entry: QueueEntry, { startedMs, ...pending }: StartedItem, result: RunResult): void => {
    const { item } = pending;
    entries.end(entry, result === undefined ? pending : undefined);
    if (result !== undefined) applyResult(entry, item, result);
    entries.removeIfIdle(entry);
    emit(endedEvent(item, Math.max(0, clock.monotonicMs() - startedMs) / 1000, result));
  };

  return {
    send: async (items) => {
      entries.assertCapacity(items);
      for (const item of items) entries.add(entries.of(item.key), item, clock.monotonicMs());
    },
    sendLater: async (item, afterSeconds) => {
      assertValidDelay(afterSeconds);
      entries.assertCapacity([item]);
      if (afterSeconds <= 0) entries.add(entries.of(item.key), item, clock.monotonicMs());
      else entries.addLater(entries.of(item.key), "sentLater", { item, afterSeconds });
    },
    run: workers.run,
    get depth() {
      return ready.depth();
    },
    get inFlight() {
      return workers.inFlight;
    },
    get delayed() {
      return entries.delayed;
    },
    get failing() {
      return entries.failing;
    },
    oldestAgeSeconds: entries.oldestAgeSeconds,
    deadLetters: deadLetters.list,
    redrive: (key) => {
      const redriven = deadLetters.takeOut(key === undefined ? undefined : formatKey(key));
      for (const { item } of redriven)
        entries.add(entries.of(item.key), { ...item, reason: "retry" }, clock.monotonicMs());
      return redriven.length;
    },
  };
}

/** Creates the queues in which keys wait for a worker, one per worker pool. `pump` starts waiting keys if workers are free. */
function createReadyQueues(
  { clock, tenantConcurrency, workloads }: MemoryQueueOptions,
  cpuShare: CpuShare | undefined,
  pump: () => void,
) {
  const create = (maxInFlight: number | undefined): FairQueue<QueueEntry> => {
    if (maxInFlight !== undefined && !(maxInFlight >= 1)) {
      throw new ControllerError("invalid", `queue: tenant concurrency ${maxInFlight}: must be at least 1`);
    }
    return createFairQueue<QueueEntry>({
      maxInFlight,
      waitMs: cpuShare?.waitMs,
      retryAfter: (ms, retry) => {
        clock.after(ms, () => {
          retry();
          pump();
        });
      },
    });
  };
  const ready = create(tenantConcurrency);
  const pools: WorkerPool<QueueEntry>[] = [{ next: ready.next, workersOf: (count) => count }];
  if (workloads === undefined) return { pools, of: () => ready, depth: () => ready.length };
  const readyWorkloads = create(workloads.tenantConcurrency);
  pools.push({ next: readyWorkloads.next, workersOf: () => workloads.workers });
  return {
    pools,
    of: ({ kind }: WorkKey): FairQueue<QueueEntry> => (kind === "Workload" ? readyWorkloads : ready),
    depth: () => ready.length + readyWorkloads.length,
  };
}

type RunningItem = Readonly<{ entry: QueueEntry; item: WorkItem; random: () => number }>;

/** Runs the work on one item and counts a failure. Never throws; undefined if the run was cut off. */
async function runItem({ work, signal }: ActiveRun, { entry, item, random }: RunningItem): Promise<RunResult> {
  try {
    const next = await work(item, signal);
    if (next.kind === "requeue") assertValidDelay(next.afterSeconds);
    return { next };
  } catch (error) {
    if (signal.aborted) return undefined;
    const failureKind = failureKindOf(error);
    const failures = entry.failures ?? new Map<FailureKind, number>();
    const attempts = (failures.get(failureKind) ?? 0) + 1;
    entry.failures = failures.set(failureKind, attempts);
    return { error, failureKind, attempts, action: decideFailureAction(error, attempts, random()) };
  }
}

/** Returns the function that requeues, retries, drops or dead-letters a key after its run. */
function createResultHandler({
  clock,
  entries,
  deadLetters,
}: Readonly<{ clock: Clock; entries: QueueEntries; deadLetters: DeadLetterList }>) {
  const applySuccess = (entry: QueueEntry, item: WorkItem, next: Next): void => {
    entry.failures = undefined;
    deadLetters.remove(entry.text);
    if (next.kind !== "requeue") return;
    // A delay of zero goes through the clock too: a key that always requeues itself must not starve the others.
    entries.addLater(entry, "requeued", { item: withReason(item, "requeue"), afterSeconds: next.afterSeconds });
  };
  const applyFailure = (entry: QueueEntry, item: WorkItem, { action, attempts, error }: RunFailure): void => {
    switch (action.kind) {
      case "retry": {
        const retry = withReason(item, "retry");
        if (action.afterSeconds > 0)
          entries.addLater(entry, "requeued", { item: retry, afterSeconds: action.afterSeconds });
        // A change that arrived during the run is pending already: it runs at once and carries more information.
        else if (entry.pending === undefined) entries.add(entry, retry, clock.monotonicMs());
        return;
      }
      case "drop":
        entry.failures = undefined;
        return;
      case "dead-letter":
        entry.failures = undefined;
        deadLetters.put(entry.text, { item, cause: readableCause(error), attempts, atMs: clock.now() });
    }
  };
  return (entry: QueueEntry, item: WorkItem, result: NonNullable<RunResult>): void => {
    if ("next" in result) applySuccess(entry, item, result.next);
    else applyFailure(entry, item, result);
  };
}

/** The CPU share of tenants, where one is configured and the clock can measure it. */
function cpuShareOf({ clock, tenantCpuShare: share }: MemoryQueueOptions): CpuShare | undefined {
  const { busyMs } = clock;
  return share === undefined || busyMs === undefined ? undefined : createCpuShare({ clock, busyMs, share });
}

function endedEvent(item: WorkItem, durationSeconds: number, result: RunResult): QueueEvent {
  if (result === undefined) return { kind: "ended", item, durationSeconds, outcome: "returned" };
  if ("next" in result) return { kind: "ended", item, durationSeconds, outcome: result.next.kind };
  const { error, failureKind, attempts, action } = result;
  const afterSeconds = action.kind === "retry" ? action.afterSeconds : undefined;
  return { kind: "ended", item, durationSeconds, outcome: action.kind, error, failureKind, attempts, afterSeconds };
}

/** A key that comes back after a run waits for something specific, so it loses its low priority. */
function withReason({ isLowPriority: _, ...item }: WorkItem, reason: WorkItem["reason"]): WorkItem {
  return { ...item, reason };
}

type DeadLetterList = ReturnType<typeof createDeadLetterList>;

/** Dead letters by key, oldest first; at most `maxSize`. */
function createDeadLetterList(maxSize: number) {
  const letters = new Map<string, DeadLettered>();
  return {
    list: (): readonly DeadLettered[] => [...letters.values()],
    put: (keyText: string, letter: DeadLettered): void => {
      letters.delete(keyText);
      letters.set(keyText, letter);
      for (const oldest of letters.keys()) {
        if (letters.size <= maxSize) break;
        letters.delete(oldest);
      }
    },
    remove: (keyText: string): void => {
      letters.delete(keyText);
    },
    /** Removes and returns the letter of a key, or all. */
    takeOut: (keyText: string | undefined): readonly DeadLettered[] => {
      const texts = keyText === undefined ? [...letters.keys()] : [keyText];
      const found = texts.map((text) => letters.get(text)).filter((letter) => letter !== undefined);
      for (const text of texts) letters.delete(text);
      return found;
    },
  };
}
