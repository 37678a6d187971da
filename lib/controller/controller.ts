import type { KubeClient } from "@tmc/kube/client.ts";
import { type Clock, systemClock } from "@tmc/kube/clock.ts";
import { countedClient } from "@tmc/kube/counted-client.ts";
import { createSlimmer } from "@tmc/kube/slim-object.ts";
import type { WorkloadType } from "../api/workload-kinds.ts";
import { createConnections, type OpenTransport } from "../credentials/connections.ts";
import { type CredentialSource, createCredentialSource } from "../credentials/credentials.ts";
import { createFileCredentials } from "../credentials/file-credentials.ts";
import { pooledTransports } from "../credentials/pooled-transport.ts";
import { createSecretCredentials } from "../credentials/secret-credentials.ts";
import { createNews } from "../engine/event-recorder.ts";
import { logReconciles } from "../engine/reconcile-log.ts";
import { createReconcilers } from "../engine/reconcilers.ts";
import {
  type ControllerSettings,
  defaultControllerSettings,
  tenantConcurrencyOf,
  tenantShareOf,
} from "../engine/settings.ts";
import type { Hub } from "../model/hub.ts";
import type { WorkKey } from "../model/key.ts";
import type { Work, WorkQueue } from "../model/work-item.ts";
import { createHealth, type Health } from "../observe/health.ts";
import { createLog, type Log } from "../observe/log.ts";
import { createMetrics, type Metrics } from "../observe/metrics.ts";
import { hubRequestRecorder, queueEventRecorder, readQueueGauges } from "../observe/recorders.ts";

import { createMemoryQueue, type MemoryQueue } from "../queue/memory-queue.ts";
import type { QueueEvent } from "../queue/queue-event.ts";
import { isSharedByTenants, tenantRateOf } from "../queue/tenant-rate-limit.ts";
import { observeRelay } from "../relay/observation.ts";
import type { Relay } from "../relay/relay.ts";
import { createTerritory, type TerritoryChoice } from "../relay/scope.ts";
import { bothHear } from "../relay/upsync-subscriptions.ts";
import { createDuty, type ShardConfig } from "../sources/shard.ts";
import { createDirectHub } from "../upstream/direct-hub.ts";
import { createBindingReader, unseenThroughExport } from "../upstream/export/bindings.ts";
import { createFreshHub } from "../upstream/fresh-hub.ts";
import type { HubWrite } from "../upstream/hub-requests.ts";
import type { LogicalCluster } from "../upstream/logical-cluster.ts";
import { createObjectCache, type ObjectCache } from "../upstream/object-cache.ts";
import { reconciledTypes } from "../upstream/reconciled-types.ts";
import type { WorkloadCache } from "../upstream/workload-cache.ts";
import type { TellingWorkloadHub } from "../upstream/workload-hub.ts";
import { announceStart, landmarksOf } from "./announce.ts";
import {
  type ControllerSources,
  createClusterSources,
  onlyRegistrations,
  requireReach,
  workWhileEngaged,
} from "./cluster-sources.ts";

import { createHeartbeat } from "./heartbeat.ts";
import { createResync } from "./resync.ts";

import type { SharedQueue } from "./shared-queue.ts";
import { createSyncParts } from "./sync-parts.ts";
import { type ControllerWorkloads, createControllerWorkloads } from "./workloads.ts";

export type ControllerOptions = TerritoryChoice &
  Readonly<{
    /** A client for the hub; the controller looks below its server's root and leaves it open at the end. */
    client: KubeClient;
    /** Kubeconfigs that the operator has for clusters, by the name of the registration. @default none */
    clusterKubeconfigs?: ReadonlyMap<string, string> | undefined;
    /** In place of those kubeconfigs. */
    operatorCredentials?: CredentialSource | undefined;
    /** What makes clusters known, and where the credentials of those are that name none. @default registrations alone */
    clusterSources?: ControllerSources | undefined;
    /** The part of the clusters and placements that this process looks after, where several share them. @default all */
    shard?: ShardConfig | undefined;
    /** Types of workloads that an operator has added. @default only those that TMC offers itself */
    customWorkloads?: readonly WorkloadType[] | undefined;
    /** How clusters are reached. @default pooled connections, to servers that the rules for tenants allow */
    openTransport?: OpenTransport | undefined;
    settings?: Partial<ControllerSettings> | undefined;
    /** What this process is called where people read, by an Event, that it has started. @default nobody is told */
    announcedAs?: string | undefined;
    clock?: Clock | undefined;
    random?: (() => number) | undefined;
    /** @default silent */
    log?: Log | undefined;
    metrics?: Metrics | undefined;
    health?: Health | undefined;
  }>;

/** Everything in one process: what the relay sees is queued, reconciled and written. */
export interface Controller {
  /**
   * Finds the workspaces and begins. Fails at once, in one line, for a workspace that is not there; a hub that cannot be
   * reached is asked again until it can.
   */
  start(): Promise<void>;
  /** Begins nothing more, lets what is under way finish within its time, and gives up connections and timers. */
  stop(): Promise<void>;
  /** Has an object reconciled now; a cluster is probed for it. */
  reconcile(key: WorkKey): Promise<void>;
  /** Whether everything has been listed and nothing is left to do or to try again. */
  isSettled(): boolean;
  /** Resolves the next time that this is so. */
  whenSettled(): Promise<void>;
  /** What has been seen, for whoever shows it. */
  readonly cache: ObjectCache;
  /** The same of workloads, where they are looked after. */
  readonly workloads: WorkloadCache | undefined;
  /** The logical clusters that are worked on; none before the start. */
  readonly clusters: readonly LogicalCluster[];
  readonly queue: MemoryQueue;
}

/** A controller that shares its queue with others: it cannot know when everything is done. */
export type SharingController = Omit<Controller, "queue" | "isSettled" | "whenSettled">;

type Running = Readonly<{ relay: Relay; stop: () => Promise<void> }>;

/** Creates a controller that does nothing yet. Two of them on the same objects change nothing: what is there is right for both. */
export function createController(options: ControllerOptions): Controller {
  const { clock = systemClock, random = Math.random, metrics = createMetrics() } = options;
  const waiting = new Set<() => void>();
  const tellIfSettled = (): void => {
    if (waiting.size > 0 && isSettled()) for (const tell of [...waiting]) tell();
  };
  let onEvent: (event: QueueEvent) => void = () => {};
  const settings = { ...defaultControllerSettings, ...options.settings };
  const isShared = isSharedByTenants(options);
  const { workers, syncWorkers } = settings;
  const queue = createMemoryQueue({
    clock,
    random,
    tenantConcurrency: tenantConcurrencyOf(settings, { workers, isShared }),
    workloads: {
      workers: syncWorkers,
      tenantConcurrency: tenantConcurrencyOf(settings, { workers: syncWorkers, isShared }),
    },
    tenantShare: tenantShareOf(settings, isShared),
    onEvent: (event) => {
      onEvent(event);
      if (event.kind === "ended") tellIfSettled();
    },
  });
  const { controller, relay } = assemble({ ...options, clock, random, metrics }, (tools) => {
    onEvent = tools.onEvent;
    const { client, cache, onWrite } = tools;
    return {
      queue,
      hub: createDirectHub({ client, cache, onWrite }),
      dealsFromCache: true,
      run: async (work, runOptions) => {
        const endGauges = readQueueGauges(metrics, queue);
        await queue.run(work, runOptions);
        endGauges();
      },
      onListed: tellIfSettled,
      isBusy: () => queue.depth + queue.inFlight > fewKeys,
      workloads: tools.workloads?.cachedHub(),
    };
  });
  const isSettled = (): boolean =>
    relay()?.unsent === 0 &&
    relay()?.unlisted().length === 0 &&
    queue.depth === 0 &&
    queue.inFlight === 0 &&
    queue.failing === 0;
  // Not spread: `clusters` is asked for anew each time.
  return Object.assign(controller, {
    queue,
    isSettled,
    whenSettled: () =>
      new Promise<void>((resolved) => {
        if (isSettled()) {
          resolved();
          return;
        }
        const tell = (): void => {
          waiting.delete(tell);
          resolved();
        };
        waiting.add(tell);
      }),
  });
}

/**
 * Creates a controller on a queue that other processes send to and work on as well. What they tell may be ahead of what this one
 * has seen, so its reconcilers read from the hub itself, as functions do.
 */
export function createSharingController(options: ControllerOptions, shared: SharedQueue): SharingController {
  return assemble(options, ({ client, onWrite, onEvent, ...tools }) => {
    const hub = createFreshHub({ client, onWrite });
    const workloads = tools.workloads?.freshHub();
    return {
      queue: shared,
      hub,
      workloads,
      dealsFromCache: false,
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
  }).controller;
}

/** So many keys at once are nothing to wait for. */
const fewKeys = 8;

/** What a queue and the hub that fits it may be made of. */
type Tools = Readonly<{
  client: KubeClient;
  cache: ObjectCache;
  onWrite: (write: HubWrite) => void;
  onEvent: (event: QueueEvent) => void;
  workloads: ControllerWorkloads | undefined;
}>;

type RunOptions = Readonly<{
  workers: number;
  signal: AbortSignal;
  graceSeconds: number;
  /** Called when keys have come from others, and before the first of them is worked on. */
  onBatch: () => void;
}>;

/** In which the two kinds of controllers differ. */
type Engine = Readonly<{
  queue: WorkQueue;
  hub: Hub;
  /** The hub of workloads, where they are looked after. */
  workloads: TellingWorkloadHub | undefined;
  /** Whether what the relay has seen is as new as what the queue tells. */
  dealsFromCache: boolean;
  run: (work: Work, options: RunOptions) => Promise<void>;
  /** Everything has been listed once. */
  onListed: () => void;
  /** Whether many keys are worked on or wait. @default it cannot be known */
  isBusy?: (() => boolean) | undefined;
}>;

function assemble(
  options: ControllerOptions,
  createEngine: (tools: Tools) => Engine,
): Readonly<{ controller: SharingController; relay: () => Relay | undefined }> {
  const { workspaces, apiExport, clock = systemClock, random = Math.random, metrics = createMetrics() } = options;
  const { log = createLog({ level: 0, write: () => {}, clock }), health = createHealth({ clock }) } = options;
  const settings: ControllerSettings = { ...defaultControllerSettings, ...options.settings };
  const counted = (client: KubeClient): KubeClient => countedClient(client, hubRequestRecorder(metrics), clock);
  const slim = createSlimmer();
  const cache = createObjectCache(slim);
  const end = new AbortController();
  const territory = createTerritory({
    client: counted(options.client),
    workspaces,
    apiExport: apiExport && {
      ...apiExport,
      openEndpoint: async (url) => counted(await apiExport.openEndpoint(url)),
    },
    clock,
    random,
    log,
    health,
    signal: end.signal,
    checksExport: true,
  });
  let running: Running | undefined;

  const record = queueEventRecorder(metrics);
  const logEnd = logReconciles(log, cache);
  const onWrite = ({ key, part }: HubWrite): void => metrics.add("tmc_upstream_writes_total", { kind: key.kind, part });
  const workloads = settings.sync
    ? createControllerWorkloads({
        client: territory.client,
        custom: options.customWorkloads,
        slim,
        clock,
        log,
        metrics,
      })
    : undefined;
  const engine = createEngine({
    client: territory.client,
    cache,
    workloads,
    onWrite,
    onEvent: (event) => {
      record(event);
      logEnd(event);
      news.take(event);
    },
  });
  const { queue, dealsFromCache, run: runWork, onListed } = engine;
  const { clusterSources = onlyRegistrations } = options;
  requireReach(clusterSources, {
    isDirect: apiExport === undefined,
    isAlone: dealsFromCache && options.shard === undefined,
  });
  const sources = createClusterSources({
    config: clusterSources,
    cache,
    client: territory.client,
    clock,
    onWrite,
    onRefused: ({ logicalCluster, name }, error) => log.warn("cluster status refused", { logicalCluster, name, error }),
  });
  const { hub, whileKnown } = sources.engage(engine.hub);
  const news = createNews({ client: territory.client, clock, hub, workloads: engine.workloads, log, metrics });
  const isMine = createDuty(options.shard, cache);

  const run = (): Running => {
    const { relistSeconds, drainSeconds, workers } = settings;
    const rules = { allowPrivateEndpoints: settings.allowPrivateEndpoints };
    const connections = createConnections({
      openTransport: options.openTransport ?? pooledTransports(rules),
      clock,
      random,
    });
    const credentials = sources.credentials(
      createCredentialSource({
        secretRef: createSecretCredentials({ hub, rules, clock, random }),
        otherwise:
          options.operatorCredentials ??
          createFileCredentials({ kubeconfigs: options.clusterKubeconfigs ?? new Map(), clock }),
      }),
    );
    const syncParts =
      workloads === undefined || engine.workloads === undefined
        ? undefined
        : createSyncParts({
            hub,
            workloads: engine.workloads,
            cache: workloads.cache,
            connections,
            credentials,
            queue,
            isBusy: engine.isBusy,
            settings: settings.syncSettings,
            upsync: {
              born: engine.workloads,
              // Who reads fresh need not have seen anything.
              isListed: (logicalCluster) =>
                !dealsFromCache || (cache.isListed(logicalCluster) && workloads.cache.isListed(logicalCluster)),
              isShared: !dealsFromCache,
            },
            relistSeconds,
            clock,
            random,
            log,
            metrics,
          });
    const reconcile = createReconcilers({
      hub,
      sync: syncParts?.sync,
      cache: dealsFromCache ? cache : undefined,
      queue,
      connections,
      credentials,
      readBindings: apiExport === undefined ? createBindingReader(territory.client) : unseenThroughExport,
      clock,
      metrics,
      settings,
      onEvent: (key, { type, reason, message }) => {
        const fields = { cluster: key.logicalCluster, name: key.name, reason, detail: message };
        if (type === "Normal") log.info("cluster changed", fields);
        else {
          log.warn("cluster changed", fields);
          syncParts?.disregard(key);
        }
      },
      tell: news.tell,
    });
    // Who reads from the cache takes what it has forgotten for gone; others ask.
    const work = dealsFromCache ? workWhileEngaged(whileKnown(reconcile), territory.isEngaged) : reconcile;
    const observed = observeRelay({ log, metrics, health }, cache, {
      pathOf: territory.pathOf,
      onSecretChanged: (registration) => credentials.forget(registration),
      relay: () => relay,
      workloads: workloads?.cache,
    });
    const relay: Relay = territory.createRelay({
      types: reconciledTypes,
      queue: {
        send: async (all) => {
          const items = all.filter(({ key }) => isMine(key));
          for (const { key } of items)
            metrics.add("tmc_relay_keys_total", { kind: key.kind, tenant: key.logicalCluster });
          if (items.length > 0) await queue.send(items);
        },
      },
      followClusters: sources.followClusters,
      clock,
      random,
      listener: syncParts?.births === undefined ? observed.listener : bothHear(observed.listener, syncParts.births),
      slim,
      workloads: workloads?.relayed,
      relistSeconds,
      tenantRate: tenantRateOf({
        perSecond: settings.tenantEventsPerSecond,
        isShared: isSharedByTenants({ workspaces, apiExport }),
      }),
    });
    const onTrouble = (error: unknown, keys: number): void => log.warn("queue refused keys", { keys, error });
    const rounds = [
      createHeartbeat({ periodSeconds: settings.heartbeatSeconds, cache, queue, clock, isMine, onTrouble }),
      createResync({
        periodSeconds: settings.resyncSeconds,
        cache,
        workloads: workloads?.cache,
        queue,
        clock,
        isMine,
        onTrouble,
      }),
    ];
    const drain = new AbortController();
    const onBatch = (): void => syncParts?.beginBatch();
    const worked = runWork(work, { workers, signal: drain.signal, graceSeconds: drainSeconds, onBatch });
    relay.start();
    for (const round of rounds) round.start();
    void relay.whenListed().then(onListed);
    return {
      relay,
      stop: async () => {
        for (const round of rounds) round.stop();
        // Nobody takes what the relay still has when the workers have gone, so it goes first.
        await relay.stop(drainSeconds * 1000);
        drain.abort();
        await worked;
        await syncParts?.stop();
        await engine.workloads?.whenTold();
        await news.whenTold();
        await connections.close();
        await territory.close();
        observed.end();
      },
    };
  };

  const announce = async (who: string): Promise<void> => {
    const landmarks = landmarksOf({
      apiExport: apiExport?.address,
      workspaces: workspaces === undefined ? undefined : territory.clusters(),
    });
    const onTrouble = (
      error: unknown,
      { logicalCluster, name }: Readonly<{ logicalCluster: string; name: string }>,
    ): void => log.debug("event not written", { logicalCluster, name, error });
    // Of an export it is the provider's own workspace, which no tenant's way leads to.
    const to = { client: counted(options.client), clock, onTrouble };
    await announceStart(to, { who, landmarks, signal: end.signal });
  };

  let announced: Promise<void> | undefined;
  let started: Promise<void> | undefined;
  let stopped: Promise<void> | undefined;
  const controller: SharingController = {
    cache,
    workloads: workloads?.cache,
    get clusters() {
      return territory.clusters();
    },
    start: () => {
      started ??= (async () => {
        const check = health.register("workspaces");
        try {
          check.pass(await territory.find());
        } catch (error) {
          check.fail(error instanceof Error ? error.message : "unknown failure");
          end.abort(); // nobody waits for the other workspaces any more
          throw error;
        }
        if (end.signal.aborted) return;
        running = run();
        if (options.announcedAs !== undefined) announced = announce(options.announcedAs);
      })();
      return started;
    },
    stop: () => {
      stopped ??= (async () => {
        end.abort();
        await started?.catch(() => {}); // who started it has heard
        await running?.stop();
        await announced;
      })();
      return stopped;
    },
    reconcile: (key) => queue.send([{ key, reason: "on-demand" }]),
  };
  return { controller, relay: () => running?.relay };
}
