import type { KubeClient } from "@tmc/kube/client.ts";
import { type Clock, systemClock } from "@tmc/kube/clock.ts";
import { countedClient } from "@tmc/kube/counted-client.ts";
import { createTrimmer } from "@tmc/kube/informer/trim-object.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { WorkloadType } from "../api/workload-kinds.ts";
import type { OpenTransport } from "../credentials/connections.ts";
import type { CredentialSource } from "../credentials/credentials.ts";
import { createEventRecorder, type EventRecorder } from "../engine/event-recorder.ts";
import { logReconciles } from "../engine/reconcile-log.ts";
import { type ControllerSettings, defaultControllerSettings } from "../engine/settings.ts";
import type { Hub } from "../model/hub.ts";
import type { Work, WorkQueue } from "../model/work-item.ts";
import { createHealthChecks, type HealthChecks } from "../observe/health.ts";
import { createLog, type Log } from "../observe/log.ts";
import { createMetrics, type Metrics } from "../observe/metrics.ts";
import { queueEventRecorder, upstreamRequestRecorder } from "../observe/recorders.ts";
import type { QueueEvent } from "../queue/queue-event.ts";
import { createScope, type Scope, type ScopeChoice } from "../relay/scope.ts";
import { createKeyShardFilter, type ShardConfig, type ShardFilter } from "../sources/shard.ts";
import type { HubWrite } from "../upstream/hub-requests.ts";
import { createObjectCache, type ObjectCache } from "../upstream/object-cache.ts";
import type { FlushableWorkloadHub } from "../upstream/workload-hub.ts";
import {
  assertSourcesSupported,
  type ClusterSources,
  type ControllerSources,
  createClusterSources,
  onlyRegistrations,
} from "./cluster-sources.ts";
import { type ControllerWorkloads, createControllerWorkloads } from "./workloads.ts";

export type ControllerOptions = ScopeChoice &
  Readonly<{
    /** A client for the upstream. The controller uses paths below the root of its server, and does not close it. */
    client: KubeClient;
    /** The id of the hub; undefined to read it from the hub, where the first start stores it. */
    hubId: string | undefined;
    /** Whether a plain cluster may be the hub although its own controllers seem to run workloads. @default false */
    ignoresHubControllers?: boolean | undefined;
    /** Kubeconfigs of the operator, by `workspace/registration` or by `registration` for all workspaces. @default none */
    clusterKubeconfigs?: ReadonlyMap<string, string> | undefined;
    /** Replaces `clusterKubeconfigs`. */
    operatorCredentials?: CredentialSource | undefined;
    /** The kinds that describe clusters, and the secret template. @default ClusterRegistrations alone */
    clusterSources?: ControllerSources | undefined;
    /** The part of the registrations and placements that this process reconciles. @default all */
    shard?: ShardConfig | undefined;
    /** Workload types that the operator has added. @default the built-in types alone */
    customWorkloads?: readonly WorkloadType[] | undefined;
    /** How clusters are reached. @default pooled connections, to the servers that the endpoint rules for tenants allow */
    openTransport?: OpenTransport | undefined;
    settings?: Partial<ControllerSettings> | undefined;
    /** The name of this process in the Event that it has started. @default no Event */
    announcedAs?: string | undefined;
    clock?: Clock | undefined;
    random?: (() => number) | undefined;
    /** @default no output */
    log?: Log | undefined;
    metrics?: Metrics | undefined;
    health?: HealthChecks | undefined;
  }>;

/** Whether the upstream server is a plain Kubernetes cluster. */
export function isPlainHub({ workspaces, apiExport }: ScopeChoice): boolean {
  return workspaces === undefined && apiExport === undefined;
}

/** What a backend can be created from. */
export type BackendTools = Readonly<{
  client: KubeClient;
  cache: ObjectCache;
  onWrite: (write: HubWrite) => void;
  onEvent: (event: QueueEvent) => void;
  workloads: ControllerWorkloads | undefined;
}>;

export type BackendRunOptions = Readonly<{
  workers: number;
  signal: AbortSignal;
  graceSeconds: number;
  /** Called when keys of other processes have been received, before the first of them is reconciled. */
  onBatch: () => void;
}>;

/** The queue and the hubs of a controller. The two kinds of controllers differ only in these. */
export type ControllerBackend = Readonly<{
  queue: WorkQueue;
  hub: Hub;
  /** Undefined if workloads are not synced. */
  workloads: FlushableWorkloadHub | undefined;
  /** Whether reconcilers read from the cache. They may if only this process sends keys, so the cache is never behind a key. */
  readsFromCache: boolean;
  run: (work: Work, options: BackendRunOptions) => Promise<void>;
  /** Called when everything has been listed once. */
  onListed: () => void;
  /** Whether many keys wait or run. @default unknown */
  isBusy?: (() => boolean) | undefined;
}>;

/** Everything of a controller that exists before it starts. */
export type ControllerParts = Readonly<{
  options: ControllerOptions;
  settings: ControllerSettings;
  clock: Clock;
  random: () => number;
  log: Log;
  metrics: Metrics;
  health: HealthChecks;
  /** A client for the root of the upstream server that counts requests. */
  rootClient: KubeClient;
  /** Aborts what has not finished starting. */
  stopping: AbortController;
  scope: Scope;
  trim: (object: KubeObject) => KubeObject;
  cache: ObjectCache;
  workloads: ControllerWorkloads | undefined;
  backend: ControllerBackend;
  sources: ClusterSources;
  /** The hub of the backend, with clusters of other kinds. */
  hub: Hub;
  delayPlacements: (work: Work) => Work;
  events: EventRecorder;
  isInShard: ShardFilter;
}>;

/** Creates the parts of a controller. Nothing runs yet, and no request is sent. */
export function createControllerParts(
  options: ControllerOptions,
  createBackend: (tools: BackendTools) => ControllerBackend,
): ControllerParts {
  const { apiExport, clock = systemClock, random = Math.random, metrics = createMetrics() } = options;
  const { log = createLog({ level: 0, write: () => {}, clock }), health = createHealthChecks({ clock }) } = options;
  const settings: ControllerSettings = { ...defaultControllerSettings, ...options.settings };
  const rootClient = withRequestMetrics(options.client, metrics, clock);
  const trim = createTrimmer();
  const cache = createObjectCache(trim);
  const stopping = new AbortController();
  const scope = createScope({
    client: rootClient,
    workspaces: options.workspaces,
    apiExport: apiExport && {
      ...apiExport,
      openEndpoint: async (url) => withRequestMetrics(await apiExport.openEndpoint(url), metrics, clock),
    },
    clock,
    random,
    log,
    health,
    signal: stopping.signal,
    checksExport: true,
  });
  const { client } = scope;
  const custom = options.customWorkloads;
  const workloads = settings.sync
    ? createControllerWorkloads({ client, custom, trim, clock, log, metrics })
    : undefined;
  const onWrite = ({ key, part }: HubWrite): void => metrics.add("tmc_upstream_writes_total", { kind: key.kind, part });
  const recordMetrics = queueEventRecorder(metrics);
  const logReconcile = logReconciles(log, cache);
  const backend = createBackend({
    client,
    cache,
    workloads,
    onWrite,
    onEvent: (event) => {
      recordMetrics(event);
      logReconcile(event);
      events.onQueueEvent(event);
    },
  });
  const { clusterSources = onlyRegistrations } = options;
  assertSourcesSupported(clusterSources, {
    isDirect: apiExport === undefined,
    isAlone: backend.readsFromCache && options.shard === undefined,
  });
  const sources = createClusterSources({
    config: clusterSources,
    cache,
    client,
    clock,
    onWrite,
    onRejected: ({ logicalCluster, name }, error) =>
      log.warn("cluster status refused", { logicalCluster, name, error }),
  });
  const { hub, delayPlacements } = sources.extend(backend.hub);
  const events = createEventRecorder({ client, clock, hub, workloads: backend.workloads, log, metrics });
  const isInShard = createKeyShardFilter(options.shard, cache);
  return {
    options,
    settings,
    clock,
    random,
    log,
    metrics,
    health,
    rootClient,
    stopping,
    scope,
    trim,
    cache,
    workloads,
    backend,
    sources,
    hub,
    delayPlacements,
    events,
    isInShard,
  };
}

function withRequestMetrics(client: KubeClient, metrics: Metrics, clock: Clock): KubeClient {
  return countedClient(client, upstreamRequestRecorder(metrics), clock);
}
