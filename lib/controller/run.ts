import { type Connections, createConnections } from "../credentials/connections.ts";
import { type CredentialSource, createCredentialSource } from "../credentials/credentials.ts";
import { createFileCredentials } from "../credentials/file-credentials.ts";
import { pooledTransports } from "../credentials/pooled-transport.ts";
import { createSecretCredentials } from "../credentials/secret-credentials.ts";
import { createReconcilers } from "../engine/reconcilers.ts";
import type { SpreadSchedule } from "../engine/spread-schedule.ts";
import type { Work } from "../model/work-item.ts";
import { isMultiTenant, tenantRateOf } from "../queue/tenant-rate-limit.ts";
import { combineListeners } from "../relay/downstream/upsync-subscriptions.ts";
import type { RelayListener } from "../relay/listener.ts";
import { observeRelay } from "../relay/observe/observe-relay.ts";
import type { Relay } from "../relay/relay.ts";
import { createBindingReader, readBindingsThroughExport } from "../upstream/export/bindings.ts";
import { type HubControllersWatch, watchHubControllers } from "../upstream/hub-controllers.ts";
import { reconciledTypes } from "../upstream/watched-resources.ts";
import { skipDisengaged } from "./cluster-sources.ts";
import { type ControllerParts, isPlainHub } from "./parts.ts";
import { createHeartbeat } from "./periodic.ts";
import { createResync } from "./resync.ts";
import { createSyncParts, type SyncParts, type SyncPartsOptions } from "./sync-parts.ts";

/** A started controller: its relay, and how to stop everything. */
export type ControllerRun = Readonly<{ relay: Relay; stop: () => Promise<void> }>;

/** How the clusters are reached. */
type ClusterAccess = Readonly<{ connections: Connections; credentials: CredentialSource }>;

/**
 * After this time the rule about mass failures goes by what has been listed: a workspace that cannot be listed must not hold the
 * evictions of the others for longer.
 */
const maxListSeconds = 60;

/** Starts workers, relay, heartbeat and resync. The workspaces and the id of the hub must have been found. */
export function startRun(parts: ControllerParts, hubId: string): ControllerRun {
  const { settings, clock, log, metrics, health, scope, cache, workloads, backend, events } = parts;
  const { drainSeconds, workers } = settings;
  const access = createClusterAccess(parts);
  const hubControllers = watchHub(parts);
  const syncParts = createRunSyncParts(parts, access, { hubId, hubBlocker: hubControllers?.blocker });
  let isCacheComplete = false;
  const work = createRunWork(parts, access, { syncParts, isCacheComplete: () => isCacheComplete });
  const observed = observeRelay({ log, metrics, health }, cache, {
    pathOf: scope.pathOf,
    onSecretChanged: (registration) => access.credentials.invalidate(registration),
    relay: () => relay,
    workloads: workloads?.cache,
  });
  const relay: Relay = createRunRelay(parts, (syncParts?.listeners ?? []).reduce(combineListeners, observed.listener));
  const schedules = createSchedules(parts);
  const drain = new AbortController();
  const onBatch = (): void => syncParts?.beginBatch();
  const worked = backend.run(work, { workers, signal: drain.signal, graceSeconds: drainSeconds, onBatch });
  relay.start();
  for (const schedule of schedules) schedule.start();
  const cancelWait = clock.after(maxListSeconds * 1000, () => {
    isCacheComplete = true;
  });
  void relay.whenListed().then(() => {
    // A stop ends the wait too.
    isCacheComplete ||= relay.unlisted().length === 0;
    backend.onListed();
  });
  return {
    relay,
    stop: async () => {
      cancelWait();
      for (const schedule of schedules) schedule.stop();
      hubControllers?.stop();
      // The relay stops before the workers: afterwards no worker would take the keys that it still has to send.
      await relay.stop(drainSeconds * 1000);
      drain.abort();
      await worked;
      await syncParts?.stop();
      await backend.workloads?.whenFlushed();
      await events.flush();
      await access.connections.close();
      await scope.close();
      observed.end();
    },
  };
}

function createClusterAccess({
  options,
  settings,
  clock,
  random,
  hub,
  scope,
  sources,
}: ControllerParts): ClusterAccess {
  const { allowPrivateEndpoints, allowedEndpoints } = settings;
  const rules = { allowPrivateEndpoints, allowedRanges: allowedEndpoints };
  const connections = createConnections({
    openTransport: options.openTransport ?? pooledTransports(rules),
    clock,
    random,
  });
  const credentials = sources.credentials(
    createCredentialSource({
      secretRef: createSecretCredentials({ hub, rules, clock, random }),
      default:
        options.operatorCredentials ??
        createFileCredentials({
          kubeconfigs: options.clusterKubeconfigs ?? new Map(),
          workspaceOf: scope.pathOf,
          clock,
        }),
    }),
  );
  return { connections, credentials };
}

/** Watches a plain hub for controllers that run workloads; undefined for kcp, whose workspaces have none. */
function watchHub({ options, clock, log, scope }: ControllerParts): HubControllersWatch | undefined {
  if (!isPlainHub(options) || options.ignoresHubControllers === true) return undefined;
  return watchHubControllers({
    client: scope.client,
    clock,
    onChange: (evidence) => {
      if (evidence === undefined) log.info("the hub runs no workloads itself any more");
      else log.error("the hub runs workloads itself; they are not synced", { evidence });
    },
    onFailure: (error) => log.warn("controllers of the hub cannot be detected", { error }),
  });
}

function createRunSyncParts(
  parts: ControllerParts,
  access: ClusterAccess,
  { hubId, hubBlocker }: Pick<SyncPartsOptions, "hubId" | "hubBlocker">,
): SyncParts | undefined {
  const { options, settings, clock, random, log, metrics, cache, workloads, backend, hub, isInShard } = parts;
  const { readsFromCache } = backend;
  if (workloads === undefined || backend.workloads === undefined) return undefined;
  return createSyncParts({
    hub,
    workloads: backend.workloads,
    cache: workloads.cache,
    ...access,
    queue: backend.queue,
    isInShard: options.shard && isInShard,
    isBusy: backend.isBusy,
    hubId,
    hubBlocker,
    settings: settings.syncSettings,
    upsync: {
      upsyncHub: backend.workloads,
      // Reconcilers that read from the server do not depend on the lists of the relay.
      isListed: (logicalCluster) =>
        !readsFromCache || (cache.isListed(logicalCluster) && workloads.cache.isListed(logicalCluster)),
      isShared: !readsFromCache,
    },
    relistSeconds: settings.relistSeconds,
    clock,
    random,
    log,
    metrics,
  });
}

function createRunWork(
  parts: ControllerParts,
  access: ClusterAccess,
  { syncParts, isCacheComplete }: Readonly<{ syncParts: SyncParts | undefined; isCacheComplete: () => boolean }>,
): Work {
  const { options, settings, clock, log, metrics, scope, cache, backend, hub } = parts;
  const { queue, readsFromCache } = backend;
  const reconcile = createReconcilers({
    hub,
    sync: syncParts?.sync,
    cache: readsFromCache ? cache : undefined,
    isCacheComplete,
    queue,
    ...access,
    readBindings: options.apiExport === undefined ? createBindingReader(scope.client) : readBindingsThroughExport,
    clock,
    metrics,
    settings,
    watches: syncParts?.watches,
    onProbeFailed: (key) => syncParts?.relistSoon(key),
    onReadyChange: (key, { type, reason, message }) => {
      const fields = { cluster: key.logicalCluster, name: key.name, reason, detail: message };
      if (type === "Normal") log.info("cluster changed", fields);
      else {
        log.warn("cluster changed", fields);
        syncParts?.unsubscribe(key);
      }
    },
    recordEvent: parts.events.record,
  });
  // The cache drops the objects of a disengaged logical cluster; a reconciler that reads it would take them for deleted.
  return readsFromCache ? skipDisengaged(parts.delayPlacements(reconcile), scope.isEngaged) : reconcile;
}

function createRunRelay(parts: ControllerParts, listener: RelayListener): Relay {
  const { options, settings, clock, random, metrics, scope, trim, workloads, backend, sources, isInShard } = parts;
  return scope.createRelay({
    types: reconciledTypes,
    queue: {
      send: async (all) => {
        const items = all.filter(({ key }) => isInShard(key));
        for (const { key } of items)
          metrics.add("tmc_relay_keys_total", { kind: key.kind, tenant: key.logicalCluster });
        if (items.length > 0) await backend.queue.send(items);
      },
    },
    watchClusterSources: sources.watchClusterSources,
    clock,
    random,
    listener,
    transform: trim,
    workloads: workloads?.relayed,
    relistSeconds: settings.relistSeconds,
    tenantRate: tenantRateOf({ perSecond: settings.tenantEventsPerSecond, isShared: isMultiTenant(options) }),
  });
}

function createSchedules(parts: ControllerParts): readonly SpreadSchedule[] {
  const { settings, clock, log, cache, workloads, isInShard } = parts;
  const { queue } = parts.backend;
  const onFailure = (error: unknown, keys: number): void => log.warn("queue rejected keys", { keys, error });
  return [
    createHeartbeat({ periodSeconds: settings.heartbeatSeconds, cache, queue, clock, isInShard, onFailure }),
    createResync({
      periodSeconds: settings.resyncSeconds,
      cache,
      workloads: workloads?.cache,
      queue,
      clock,
      isInShard,
      onFailure,
    }),
  ];
}
