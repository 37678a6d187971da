import { systemClock } from "@tmc/kube/clock.ts";
import { defaultControllerSettings, tenantConcurrencyOf, tenantCpuShareOf } from "../engine/settings.ts";
import type { WorkKey } from "../model/key.ts";
import type { Check } from "../observe/health.ts";
import { createMetrics } from "../observe/metrics.ts";
import { registerQueueGauges } from "../observe/recorders.ts";
import { createMemoryQueue, type MemoryQueue } from "../queue/memory-queue.ts";
import type { QueueEvent } from "../queue/queue-event.ts";
import { isMultiTenant } from "../queue/tenant-rate-limit.ts";
import type { Relay } from "../relay/relay.ts";
import { awaitAnswer } from "../upstream/await-workspace.ts";
import { createDirectHub } from "../upstream/direct-hub.ts";
import { createFreshHub } from "../upstream/fresh-hub.ts";
import { hubControllersError, readHubControllers } from "../upstream/hub-controllers.ts";
import { ensureHubIdentity } from "../upstream/hub-record.ts";
import type { LogicalCluster } from "../upstream/logical-cluster.ts";
import type { ObjectCache } from "../upstream/object-cache.ts";
import type { WorkloadCache } from "../upstream/workload-cache.ts";
import { announcementTargets, announceStart } from "./announce.ts";
import { type ControllerOptions, type ControllerParts, createControllerParts, isPlainHub } from "./parts.ts";
import { type ControllerRun, startRun } from "./run.ts";
import type { SharedQueue } from "./shared-queue.ts";

/** Relay, queue and reconcilers in one process. */
export interface Controller {
  /**
   * Finds the workspaces and the id of the hub, and starts. Fails at once, with a one-line error, if a workspace does not exist
   * or the id is not certain; an upstream that cannot be reached is retried.
   */
  start(): Promise<void>;
  /** Starts no more work, lets running reconciles finish within the drain time, and closes connections and timers. */
  stop(): Promise<void>;
  /** Enqueues an object on demand; a cluster is probed for it. */
  reconcile(key: WorkKey): Promise<void>;
  /** Whether everything has been listed, the queue is empty and no key is being retried. */
  isSettled(): boolean;
  /** Resolves as soon as `isSettled` is true. */
  whenSettled(): Promise<void>;
  readonly cache: ObjectCache;
  /** Undefined if workloads are not synced. */
  readonly workloads: WorkloadCache | undefined;
  /** The logical clusters that are reconciled; none before the start. */
  readonly logicalClusters: readonly LogicalCluster[];
  readonly queue: MemoryQueue;
}

/** A controller that shares its queue with other processes: it cannot know when all work is done. */
export type SharingController = Omit<Controller, "queue" | "isSettled" | "whenSettled">;

/** Up to this many waiting and running keys the controller does not count as busy. */
const maxIdleKeys = 8;

/** Creates a controller with a queue in memory. Two controllers on the same objects do not disturb each other: they converge on the same state. */
export function createController(options: ControllerOptions): Controller {
  const { clock = systemClock, random = Math.random, metrics = createMetrics() } = options;
  const waiters = new Set<() => void>();
  const notifyIfSettled = (): void => {
    if (waiters.size > 0 && isSettled()) for (const notify of [...waiters]) notify();
  };
  let onEvent: (event: QueueEvent) => void = () => {};
  const settings = { ...defaultControllerSettings, ...options.settings };
  const isShared = isMultiTenant(options);
  const { workers, syncWorkers } = settings;
  const queue = createMemoryQueue({
    clock,
    random,
    tenantConcurrency: tenantConcurrencyOf(settings, { workers, isShared }),
    workloads: {
      workers: syncWorkers,
      tenantConcurrency: tenantConcurrencyOf(settings, { workers: syncWorkers, isShared }),
    },
    tenantCpuShare: tenantCpuShareOf(settings, isShared),
    onEvent: (event) => {
      onEvent(event);
      if (event.kind === "ended") notifyIfSettled();
    },
  });
  const parts = createControllerParts({ ...options, clock, random, metrics }, (tools) => {
    onEvent = tools.onEvent;
    const { client, cache, onWrite } = tools;
    return {
      queue,
      hub: createDirectHub({ client, cache, onWrite }),
      readsFromCache: true,
      run: async (work, runOptions) => {
        const removeGauges = registerQueueGauges(metrics, queue);
        await queue.run(work, runOptions);
        removeGauges();
      },
      onListed: notifyIfSettled,
      isBusy: () => queue.depth + queue.inFlight > maxIdleKeys,
      workloads: tools.workloads?.cachedHub(),
    };
  });
  const { controller, relay } = createLifecycle(parts);
  const isSettled = (): boolean =>
    relay()?.unsent === 0 &&
    relay()?.unlisted().length === 0 &&
    queue.depth === 0 &&
    queue.inFlight === 0 &&
    queue.failing === 0;
  // Not spread: a spread would evaluate the getter `logicalClusters` once.
  return Object.assign(controller, {
    queue,
    isSettled,
    whenSettled: () =>
      new Promise<void>((resolve) => {
        if (isSettled()) {
          resolve();
          return;
        }
        const notify = (): void => {
          waiters.delete(notify);
          resolve();
        };
        waiters.add(notify);
      }),
  });
}

/**
 * Creates a controller on a queue that other processes send to and receive from. Their keys can be ahead of the cache of this
 * process, so its reconcilers read from the upstream server, as functions do.
 */
export function createSharingController(options: ControllerOptions, shared: SharedQueue): SharingController {
  const parts = createControllerParts(options, ({ client, onWrite, onEvent, ...tools }) => {
    const hub = createFreshHub({ client, onWrite });
    const workloads = tools.workloads?.freshHub();
    return {
      queue: shared,
      hub,
      workloads,
      readsFromCache: false,
      run: (work, runOptions) => {
        const onBatch = (): void => {
          hub.beginBatch();
          workloads?.beginBatch();
          runOptions.onBatch();
        };
        return shared.run(work, { ...runOptions, onBatch, onEvent });
      },
      onListed: () => {},
    };
  });
  return createLifecycle(parts).controller;
}

/** Creates start and stop of a controller, each of which runs at most once. */
function createLifecycle(
  parts: ControllerParts,
): Readonly<{ controller: SharingController; relay: () => Relay | undefined }> {
  const { options, health, cache, workloads, scope, stopping, backend } = parts;
  let run: ControllerRun | undefined;
  let announced: Promise<void> | undefined;
  let check: Check | undefined;
  let started: Promise<void> | undefined;
  let stopped: Promise<void> | undefined;
  const controller: SharingController = {
    cache,
    workloads: workloads?.cache,
    get logicalClusters() {
      return scope.logicalClusters();
    },
    start: () => {
      started ??= (async () => {
        check = health.register("workspaces");
        try {
          const found = await scope.find();
          if (stopping.signal.aborted) return;
          const hubId = options.hubId ?? (await findHubId(parts));
          if (hubId === undefined) return;
          await assertHubRunsNoWorkloads(parts);
          if (stopping.signal.aborted) return;
          run = startRun(parts, hubId);
          // Not earlier: the checks of the relay exist from now on, and without them the controller would count as ready.
          check.pass(found);
        } catch (error) {
          check.fail(error instanceof Error ? error.message : "unknown failure");
          stopping.abort(); // ends the search for the other workspaces
          throw error;
        }
        if (options.announcedAs !== undefined) announced = announce(parts, options.announcedAs);
      })();
      return started;
    },
    stop: () => {
      stopped ??= (async () => {
        stopping.abort();
        await started?.catch(() => {}); // the caller of start has the error
        await run?.stop();
        await announced;
        // Another controller of this process may follow.
        check?.remove();
      })();
      return stopped;
    },
    reconcile: (key) => backend.queue.send([{ key, reason: "on-demand" }]),
  };
  return { controller, relay: () => run?.relay };
}

/** Reads the id of the hub, and waits while it is unreachable; undefined if the controller stops first. */
function findHubId(parts: ControllerParts): Promise<string | undefined> {
  const { options, rootClient, stopping } = parts;
  const part = { workspaces: options.workspaces, apiExport: options.apiExport?.address };
  return whenReachable(parts, () => ensureHubIdentity({ client: rootClient, part, signal: stopping.signal }));
}

/** Fails if the hub is a plain cluster that runs workloads itself: each of them would run there and on its clusters. */
async function assertHubRunsNoWorkloads(parts: ControllerParts): Promise<void> {
  const { options, settings, clock, rootClient, stopping } = parts;
  if (!settings.sync || !isPlainHub(options) || options.ignoresHubControllers === true) return;
  const evidence = await whenReachable(parts, () => readHubControllers(rootClient, { clock, signal: stopping.signal }));
  if (evidence !== undefined) throw hubControllersError(evidence);
}

/** The answer to a first request to the upstream, however long it is unreachable; undefined if the controller stops first. */
async function whenReachable<T>(
  { clock, random, log, rootClient, stopping: { signal } }: ControllerParts,
  request: () => Promise<T>,
): Promise<T | undefined> {
  const onWait = (error: unknown, retryInMs: number): void =>
    log.warn("upstream is unreachable", { retryInSeconds: retryInMs / 1000, error });
  try {
    return await awaitAnswer(rootClient, request, { clock, random, signal, onWait });
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

async function announce(parts: ControllerParts, processName: string): Promise<void> {
  const { options, clock, log, rootClient, scope, stopping } = parts;
  const targets = announcementTargets({
    apiExport: options.apiExport?.address,
    workspaces: options.workspaces === undefined ? undefined : scope.logicalClusters(),
  });
  const onFailure = (
    error: unknown,
    { logicalCluster, name }: Readonly<{ logicalCluster: string; name: string }>,
  ): void => log.debug("event not written", { logicalCluster, name, error });
  // The root client, because the virtual workspace of an export does not lead to the provider's own workspace.
  await announceStart({ client: rootClient, clock, onFailure }, { processName, targets, signal: stopping.signal });
}
