import { isDeepStrictEqual } from "node:util";
import type { StorageChange } from "@tmc/embedded/storage/store.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { TransportRequest } from "@tmc/kube/transport/transport.ts";
import type { ClusterRegistration } from "../../lib/api/cluster-registration.ts";
import { allWorkloadTypes } from "../../lib/api/workload-kinds.ts";
import type { WorkloadPlacement } from "../../lib/api/workload-placement.ts";
import type { WorkloadSync } from "../../lib/api/workload-sync.ts";
import type { ControllerSettings } from "../../lib/engine/settings.ts";
import { findCondition } from "../../lib/model/condition.ts";
import { formatKey, type ObjectKey, parseWorkloadKey, workloadKey } from "../../lib/model/key.ts";
import type { WorkItem } from "../../lib/model/work-item.ts";
import { clusterFinalizer } from "../../lib/registration/reconcile.ts";
import { defaultDeletionGuardSettings } from "../../lib/sync/eviction/deletion-guard.ts";
import { syncFinalizer } from "../../lib/sync/ownership/record.ts";
import { type UpsyncOrigin, upsyncOriginOf } from "../../lib/sync/ownership/upsync-origin.ts";
import { type ActualState, createActualState, idOf } from "./actual-state.ts";
import { type Cause, causes } from "./cause.ts";
import { type ClusterMonitor, createClusterMonitor, isIdentityRead, isInformerRequest } from "./cluster-monitor.ts";
import { createHoldLaws } from "./confirmations.ts";
import { copiesOn } from "./copies.ts";
import { isPlacedKind } from "./desired-workloads.ts";
import { isExportRequest, logicalClusterOfPath } from "./export-requests.ts";
import { originalOf, originalsNamespace } from "./originals.ts";
import { registrationsKnownTo } from "./process-view.ts";
import { type Servers, startMs, tokensOf } from "./servers.ts";
import { createStatusLaws } from "./status-laws.ts";

/** A law that was broken, by its number; 0 for what no law need say. */
export type Violation = Readonly<{ law: number; atMs: number; message: string }>;

/** Watches a run from its first moment for whatever no moment may show. */
export interface Monitor {
  readonly violations: readonly Violation[];
  readonly truth: ActualState;
  readonly clusters: ClusterMonitor;
  broken(law: number, message: string): void;
  /** The user has deleted this object. */
  mayGo(uid: string): void;
  /** Whether kcp deletes all objects of a tenant, because its binding was deleted. */
  mayGoAll(tenant: string, may: boolean): void;

  kcpRequest(request: TransportRequest, cause: Cause | undefined): void;
  clusterRequest(request: TransportRequest, cause: Cause | undefined, key: ObjectKey): void;
  clusterAnswer(
    request: TransportRequest,
    answer: Readonly<{ status: number | undefined; cause: Cause | undefined; key: ObjectKey }>,
  ): void;
  sent(items: readonly WorkItem[], cause: Cause | undefined): void;
  works(item: WorkItem): void;
  /** A function has asked for another reconcile of the key. */
  requeued(item: WorkItem): void;
  stoppedWithTimers(name: string, timers: number): void;

  /** When a registered cluster last answered well. */
  lastSuccessMs(key: ObjectKey): number | undefined;
  /** From now on nobody does anything: counts what happens nevertheless. */
  beginRest(): Rest;
  /** Restores a server: changes meanwhile have no cause, and only what is stored afterwards counts. */
  restoring(server: string, restore: () => void): void;
  /** Notes what users have deleted; the answer goes back to that. */
  save(): () => void;
  /** From now on only other tenants act: reports why keys of this tenant are reconciled. */
  beginNeighbour(tenant: string): () => readonly WorkItem[];
  end(): void;
}

/** What happened while there was nothing to do. */
export interface Rest {
  /** Changes of the store, but for heartbeats that were due. */
  readonly writes: readonly string[];
  /** Works that asked a cluster anything, by the registration's key. */
  readonly probes: ReadonlyMap<string, number>;
  /** What was asked of kcp and of clusters for workloads, and their requeues, by the workload's key. */
  readonly reads: ReadonlyMap<string, readonly string[]>;
}

type Success = Readonly<{ process: string; atMs: number }>;

const healthPaths: ReadonlySet<string> = new Set(["/readyz", "/livez", "/version"]);
/** Times are written in whole seconds. */
const roundingMs = 1_000;

/** Makes the monitor of one run. */
export function createMonitor({
  servers,
  settings,
  readsForResync,
  seesAllTenants,
  routes,
  log,
}: Readonly<{
  servers: Servers;
  settings: ControllerSettings;
  /** Whether a resync and a requeue read from the servers: a function has no cache. */
  readsForResync: boolean;
  /** Whether each process knows the clusters of all tenants: a function knows those of one. */
  seesAllTenants: boolean;
  /** `tenant physical` → the cluster that answers there, where it is another one. */
  routes: ReadonlyMap<string, string>;
  log: (line: string) => void;
}>): Monitor {
  const violations: Violation[] = [];
  const mayGo = new Set<string>();
  const unbound = new Set<string>();
  let isRestoring = false;
  const everSeen = new Set<string>();
  const successes = new Map<string, Success[]>();
  let rest: { writes: string[]; probing: Map<string, Set<unknown>>; reads: Map<string, string[]> } | undefined;
  let neighbour: { tenant: string; works: WorkItem[] } | undefined;
  const nowMs = (): number => servers.clock.now();

  const broken = (law: number, message: string): void => {
    violations.push({ law, atMs: nowMs() - startMs, message });
    log(`law ${law} broken: ${message}`);
  };

  const checkStatus = (key: ObjectKey, { object, previous }: StorageChange, cause: Cause | undefined): void => {
    // What a server stores under these names is what the kind's schema lets in.
    const [now, before] = [
      object as unknown as ClusterRegistration,
      previous as unknown as ClusterRegistration | undefined,
    ];
    if (cause === undefined) return;
    const seen = (successes.get(formatKey(key)) ?? []).filter(({ process }) => process === cause.process.name);
    const limitMs = settings.reconcileSeconds * 1000;
    const heartbeat = now.status?.lastHeartbeat;
    if (heartbeat !== undefined && heartbeat !== before?.status?.lastHeartbeat) {
      const probesMs = [...cause.process.skewsMs].map((skewMs) => Date.parse(heartbeat) - skewMs);
      if (probesMs.every((probeMs) => probeMs > nowMs())) {
        broken(5, `${formatKey(key)}: lastHeartbeat ${heartbeat} has not come yet`);
      }
      const isSeen = (probeMs: number): boolean =>
        seen.some(({ atMs }) => atMs >= probeMs - roundingMs && atMs <= probeMs + roundingMs + limitMs);
      if (!probesMs.some(isSeen)) {
        broken(5, `${formatKey(key)}: lastHeartbeat ${heartbeat}, but no answer was seen then`);
      }
    }
    const becameReady = isReady(now) && !(before !== undefined && isReady(before));
    if (becameReady && !seen.some(({ atMs }) => atMs >= nowMs() - limitMs)) {
      broken(5, `${formatKey(key)} became Ready, but no answer was seen`);
    }
  };

  const truth = createActualState();
  const limits = settings.syncSettings?.deletionGuard ?? defaultDeletionGuardSettings;
  const { alwaysAllowed, maxPercent } = limits;
  const holds = createHoldLaws({
    truth,
    tenants: seesAllTenants ? servers.tenants : [],
    alwaysAllowed,
    maxPercent,
    nowMs,
    broken,
  });
  const clusters = createClusterMonitor({
    servers,
    truth,
    routes,
    holds,
    mayGo,
    isRestoring: () => isRestoring,
    log,
    broken,
    limits: settings.syncSettings?.deletionGuard ?? defaultDeletionGuardSettings,
    onWrite: (text) => rest?.writes.push(text),
  });
  const statusLaws = createStatusLaws(broken);
  const noteRead = ({ key, reason }: WorkItem, text: string): void => {
    // Nothing withdraws a message: a requeue from before the rest is still delivered, and then it must not send another one.
    const isAllowed = readsForResync && (reason === "resync" || reason === "requeue");
    if (key.kind === "Workload" && !isAllowed) noteAtRest(key, text);
  };
  const noteAtRest = (key: WorkItem["key"], text: string): void => {
    if (rest === undefined) return;
    const reads = rest.reads.get(formatKey(key)) ?? [];
    rest.reads.set(formatKey(key), reads);
    reads.push(text);
  };

  /** Workloads belong to their owners: controllers write status and one finalizer, and let go when no copy is left. */
  const checkWorkload = (change: StorageChange, cause: Cause | undefined): void => {
    const { type, key, object, previous } = change;
    const id = idOf(object);
    const text = `${key.logicalCluster}/${id}`;
    const { uid = "", deletionTimestamp, finalizers = [] } = object.metadata;
    const origin = upsyncOriginOf(object, key.logicalCluster);
    const isGoing = type === "DELETED" || deletionTimestamp !== undefined;
    if (isGoing && (isNamespaceGoing(key) || isMirrorOfNothing(key.logicalCluster, origin))) mayGo.add(uid);
    if (type === "DELETED" && !mayGo.has(uid)) broken(3, `${text} is gone, and nobody has deleted it`);
    if (deletionTimestamp !== undefined && !mayGo.has(uid)) broken(3, `${text} is being deleted by nobody`);
    if (cause === undefined) return;
    log(`${type} ${text} ${finalizers.join(",")} ${JSON.stringify(withoutChance(object.status))}`);
    if (origin === undefined && !isDeepStrictEqual(saidOf(object), previous && saidOf(previous))) {
      broken(3, `${text}: what its owner says was changed`);
    }
    statusLaws.workload(change, cause);
    const isLetGo =
      previous?.metadata.finalizers?.includes(syncFinalizer) === true && !finalizers.includes(syncFinalizer);
    if (isLetGo) checkLetGo(key.logicalCluster, id);
  };
  const isNamespaceGoing = ({ logicalCluster, namespace }: StorageChange["key"]): boolean =>
    truth.of(logicalCluster).namespaces.get(namespace)?.metadata.deletionTimestamp !== undefined;
  const isMirrorOfNothing = (tenant: string, origin: UpsyncOrigin | undefined): boolean =>
    origin !== undefined && originalOf(servers, truth, tenant, origin) === undefined;
  const checkLetGo = (tenant: string, id: string): void => {
    const { registrations: known, records } = truth.of(tenant);
    if (records.get(id)?.spec.deleted === true) return;
    for (const name of known.keys()) {
      const physicalName = truth.physicalOf(tenant, name) ?? "";
      const physical = servers.clusters.get(physicalName);
      // A registration that went before it could be asked leaves what is there, and who comes back does not know of it.
      const isKnown = physical !== undefined && !clusters.isAbandoned(tenant, physicalName);
      const left = isKnown ? copiesOn(physical, tenant) : [];
      for (const copy of left) {
        const isIts =
          `${copy.kind}/${copy.namespace}/${copy.name}` === id &&
          copy.registration === name &&
          !clusters.isForgotten(copy);
        if (isIts) broken(3, `${tenant}/${id} was let go while ${name} has a copy`);
      }
    }
  };
  const checkRecord = (change: StorageChange, cause: Cause | undefined): void => {
    const { type, key, object } = change;
    const { spec, status } = object as unknown as WorkloadSync; // the server holds it to the kind's schema
    const id = `${spec.workload.kind}/${key.namespace}/${spec.workload.name}`;
    if (cause === undefined) return;
    const states =
      status?.clusters?.map(({ name, state, reason, readyReplicas: ready }) => [name, state, reason, ready]) ?? [];
    log(
      `${type} record of ${key.logicalCluster}/${id} ${JSON.stringify([spec.placement, spec.clusters, spec.references, states])}`,
    );
    statusLaws.record(change, cause);
  };

  const onChange = (change: StorageChange): void => {
    const { type, key, object, previous } = change;
    const { kind } = object;
    const cause = causes.getStore();
    if (!servers.tenants.includes(key.logicalCluster)) return;
    truth.take(change);
    if (unbound.has(key.logicalCluster)) mayGo.add(object.metadata.uid ?? "");
    const served = workloadTypesByKind.get(kind);
    if (served !== undefined) {
      everSeen.add(
        formatKey(workloadKey(key.logicalCluster, { type: served, namespace: key.namespace, name: key.name })),
      );
    }
    if (served !== undefined || kind === "WorkloadSync") holds.written(object);
    if (isRestoring) return;
    if (kind !== "ClusterRegistration" && kind !== "WorkloadPlacement") {
      if (isPlacedKind(kind)) checkWorkload(change, cause);
      else if (kind === "WorkloadSync") checkRecord(change, cause);
      else if (kind !== "Event" && cause !== undefined) {
        broken(3, `${cause.process.name} wrote ${kind} ${key.logicalCluster}/${key.name}`);
      }
      if (kind !== "Event" && cause?.work !== undefined && cause.work.item.key.logicalCluster !== key.logicalCluster) {
        broken(4, `${kind} ${key.logicalCluster}/${key.name} was written for ${formatKey(cause.work.item.key)}`);
      }
      rest?.writes.push(`${type} ${kind} ${key.logicalCluster}/${key.name} ${differenceOf(change)}`);
      return;
    }
    if (kind === "ClusterRegistration" && type === "DELETED") {
      clusters.registrationGone(key.logicalCluster, truth.physicalOf(key.logicalCluster, key.name) ?? "");
    }
    const objectKey: ObjectKey = { logicalCluster: key.logicalCluster, kind, name: key.name };
    const text = formatKey(objectKey);
    everSeen.add(text);
    const { uid = "", deletionTimestamp, finalizers = [] } = object.metadata;
    log(`${type} ${text} ${finalizers.join(",")} ${JSON.stringify(object.status ?? {})}`);
    if (type === "DELETED" && !mayGo.has(uid)) broken(3, `${text} is gone, and nobody has deleted it`);
    if (deletionTimestamp !== undefined && !mayGo.has(uid)) broken(3, `${text} is being deleted by nobody`);
    const guarded = previous?.metadata.finalizers?.includes(clusterFinalizer) === true;
    if (type === "MODIFIED" && guarded && !finalizers.includes(clusterFinalizer) && deletionTimestamp === undefined) {
      broken(3, `${text} has lost its finalizer, and nobody deletes it`);
    }
    if (cause?.work !== undefined && cause.work.item.key.logicalCluster !== key.logicalCluster) {
      broken(4, `${text} was written for ${formatKey(cause.work.item.key)}`);
    }
    if (cause !== undefined && !isDeepStrictEqual(object.spec, previous?.spec))
      broken(3, `${text}: its spec was changed`);
    if (kind === "ClusterRegistration" && type === "MODIFIED") checkStatus(objectKey, change, cause);
    if (kind === "WorkloadPlacement" && type === "MODIFIED" && cause !== undefined) checkPlacement(text, change, cause);
    if (rest !== undefined && !isDueHeartbeat(change)) rest.writes.push(`${type} ${text} ${differenceOf(change)}`);
  };
  const checkPlacement = (text: string, { object, previous, key }: StorageChange, { process }: Cause): void => {
    const { spec, status } = object as unknown as WorkloadPlacement;
    holds.decision(
      key.logicalCluster,
      previous as unknown as WorkloadPlacement | undefined,
      object as unknown as WorkloadPlacement,
      { skewsMs: process.skewsMs, registrationsOf: (tenant) => registrationsKnownTo(process.view, tenant) },
    );
    for (const { cluster, selected } of status?.decisions ?? []) {
      const known = everSeen.has(
        formatKey({ logicalCluster: key.logicalCluster, kind: "ClusterRegistration", name: cluster }),
      );
      if (!known && (selected || spec.clusterNames?.includes(cluster) !== true)) {
        broken(5, `${text} speaks of ${cluster}, which was never registered there`);
      }
    }
  };
  /** Whether registrations share a cluster is decided with a detection, every ten minutes: that may be after the system came to rest. */
  const isSharedClusterFound = (now: ClusterRegistration, before: ClusterRegistration): boolean => {
    const [shared, known] = [now, before].map(({ status }) =>
      findCondition(status?.conditions, "ClusterIdentityUnique"),
    );
    return (
      shared !== undefined &&
      !isDeepStrictEqual(shared, known) &&
      isDeepStrictEqual(withoutTimes(withoutUnique(now)), withoutTimes(withoutUnique(before)))
    );
  };
  /** Deletions are logged for a time, which may end when the system is at rest. */
  const isLogExpired = (now: ClusterRegistration, before: ClusterRegistration): boolean => {
    const [left, known] = [now, before].map(({ status }) => status?.upsync?.recentDeletions?.length ?? 0);
    return (
      (left ?? 0) < (known ?? 0) &&
      isDeepStrictEqual(withoutTimes(withoutDeletionLog(now)), withoutTimes(withoutDeletionLog(before)))
    );
  };
  const isDueHeartbeat = ({ object, previous }: StorageChange): boolean => {
    if (object.kind !== "ClusterRegistration" || previous === undefined) return false;
    const [now, before] = [object as unknown as ClusterRegistration, previous as unknown as ClusterRegistration];
    const age = nowMs() - Date.parse(before.status?.lastHeartbeat ?? "");
    const isSame = isDeepStrictEqual(withoutTimes(now), withoutTimes(before));
    return (
      (isSame && age >= settings.heartbeatWriteSeconds * 1000) ||
      isSharedClusterFound(now, before) ||
      isLogExpired(now, before)
    );
  };
  const unsubscribe = servers.kcp.store.subscribe(onChange);
  for (const type of workloadTypesByKind.values()) {
    if (type.group !== "") continue;
    for (const tenant of servers.tenants) {
      for (const { metadata } of servers.kcp.store.list(type.plural, { logicalCluster: tenant })) {
        const { namespace = "", name = "" } = metadata;
        everSeen.add(formatKey(workloadKey(tenant, { type, namespace, name })));
      }
    }
  }

  return {
    violations,
    broken,
    truth,
    clusters,
    mayGo: (uid) => {
      mayGo.add(uid);
    },
    mayGoAll: (tenant, may) => {
      if (may) unbound.add(tenant);
      else unbound.delete(tenant);
    },
    kcpRequest: ({ method, path }, cause) => {
      const where = logicalClusterOfPath(path);
      const key = cause?.work?.item.key;
      if (isExportRequest({ method, path }, key)) return;
      // Events are written two at a time, so a finished reconcile may write the Event of another key.
      const isEvent = method !== "DELETE" && /\/events[/?]/.test(path);
      if (key !== undefined && key.logicalCluster !== where && !isEvent)
        broken(4, `${method} ${path} was sent for ${formatKey(key)}`);
      if (method !== "GET" && key === undefined) broken(4, `${method} ${path} was sent for no key`);
      const isOwnKind = /\/events(\?|$)/.test(path) || (key?.kind === "Workload" && /\/workloadsyncs(\?|$)/.test(path));
      const isMirror = key?.kind === "Workload" && path.includes(`/namespaces/${originalsNamespace}/`);
      if (!isMirror && (method === "DELETE" || (method === "POST" && !isOwnKind)))
        broken(3, `${method} ${path}: controllers only write status and finalizers`);
      // Watches of clusters, too, read credentials, and go on in the name of who wanted them first.
      const isCredential = path.includes("/namespaces/default/secrets/");
      if (cause?.work !== undefined && !isCredential) noteRead(cause.work.item, `${method} ${path}`);
      // Whose workspace answers that nothing is there asks whether the server is well.
      const isHealth = method === "GET" && path === "/readyz";
      const isOwn = servers.tenants.includes(where) || isHealth || /\/logicalclusters\/cluster$/.test(path);
      if (!isOwn) broken(4, `${method} ${path} goes to no tenant`);
    },
    clusterRequest: (request, cause, key) => {
      const { headers, path } = request;
      const own = cause?.work?.item.key;
      clusters.request(request, cause, key);
      const others = servers.tenants.flatMap((tenant, index) => (tenant === key.logicalCluster ? [] : tokensOf(index)));
      if (others.includes((headers.authorization ?? "").replace("Bearer ", ""))) {
        broken(4, `${path} was asked of ${formatKey(key)} with another tenant's token`);
      }
      if (rest === undefined || isInformerRequest(request)) return;
      if (own?.kind === "Workload") {
        if (cause?.work !== undefined) noteRead(cause.work.item, `${request.method} ${path} of ${key.name}`);
        return;
      }
      if (own === undefined && isIdentityRead(request)) return; // of a watch
      const works = rest.probing.get(formatKey(key)) ?? new Set();
      rest.probing.set(formatKey(key), works.add(cause?.work));
    },
    clusterAnswer: ({ path }, { status, cause, key }) => {
      if (status !== 200 || !healthPaths.has(path) || cause === undefined) return;
      const seen = successes.get(formatKey(key)) ?? [];
      seen.push({ process: cause.process.name, atMs: nowMs() });
      successes.set(formatKey(key), seen.slice(-50));
    },
    sent: (items, cause) => {
      const own = cause?.work?.item.key;
      for (const { key } of items) {
        if (own !== undefined && own.logicalCluster !== key.logicalCluster) {
          broken(4, `${formatKey(own)} has sent ${formatKey(key)}`);
        }
        // Of an original only its cluster may have said that there is one.
        const isOriginal = key.kind === "Workload" && parseWorkloadKey(key)?.namespace === originalsNamespace;
        if (!isOriginal && !everSeen.has(formatKey(key)))
          broken(4, `${formatKey(key)} was sent, but there never was one`);
      }
    },
    works: (item) => {
      if (neighbour?.tenant === item.key.logicalCluster) neighbour.works.push(item);
    },
    requeued: ({ key }) => {
      if (key.kind === "Workload") noteAtRest(key, "is requeued");
    },
    stoppedWithTimers: (name, timers) => broken(0, `${name} has stopped and still holds ${timers} timers`),
    lastSuccessMs: (key) => successes.get(formatKey(key))?.at(-1)?.atMs,
    beginRest: () => {
      const begun = { writes: [], probing: new Map<string, Set<unknown>>(), reads: new Map<string, string[]>() };
      rest = begun;
      return {
        writes: begun.writes,
        reads: begun.reads,
        get probes() {
          return new Map([...begun.probing].map(([key, works]) => [key, works.size]));
        },
      };
    },
    restoring: (server, restore) => {
      isRestoring = true;
      clusters.restoring(server, restore);
      isRestoring = false;
    },
    save: () => {
      const saved = [...mayGo];
      return () => {
        mayGo.clear();
        for (const uid of saved) mayGo.add(uid);
      };
    },
    beginNeighbour: (tenant) => {
      rest = undefined;
      const begun = { tenant, works: [] };
      neighbour = begun;
      return () => begun.works;
    },
    end: () => {
      unsubscribe();
      clusters.end();
    },
  };
}

function isReady({ status }: ClusterRegistration): boolean {
  return findCondition(status?.conditions, "Ready")?.status === "True";
}

function withoutTimes({ metadata, spec, status = {} }: ClusterRegistration): object {
  const { lastHeartbeat: _, capabilitiesDetected: __, nextProbeTime: ___, ...rest } = status;
  const { resourceVersion: ____, managedFields: _____, ...kept } = metadata;
  return { metadata: kept, spec, status: rest };
}

/** The types of which keys of workloads are sent. */
const workloadTypesByKind = new Map(allWorkloadTypes().map(({ kind, type }) => [kind, type]));

/** What the owner of a workload says. */
function saidOf({ spec, metadata }: KubeObject): object {
  const { labels, annotations, finalizers = [] } = metadata;
  return { spec, labels, annotations, finalizers: finalizers.filter((each) => each !== syncFinalizer) };
}

/** Without what servers number as they go. */
function withoutChance(status: unknown): unknown {
  const { observedGeneration: _, ...rest } = (status ?? {}) as Readonly<Record<string, unknown>>;
  return rest;
}

/** Servers go on counting from run to run, so versions differ where nothing else does. */
function textOf(status: unknown): string {
  return (
    JSON.stringify(status, (name, value: unknown) => (name === "marker" || name === "references" ? "…" : value)) ?? ""
  );
}

function differenceOf({ object, previous }: StorageChange): string {
  const [now, before] = [textOf(object.status), textOf(previous?.status)];
  return now === before ? "not its status" : `status ${before} → ${now}`;
}

function withoutDeletionLog(registration: ClusterRegistration): ClusterRegistration {
  const { upsync: { recentDeletions: _, ...upsync } = {}, ...status } = registration.status ?? {};
  return { ...registration, status: Object.keys(upsync).length === 0 ? status : { ...status, upsync } };
}

function withoutUnique(registration: ClusterRegistration): ClusterRegistration {
  const conditions = registration.status?.conditions?.filter(({ type }) => type !== "ClusterIdentityUnique");
  return { ...registration, status: { ...registration.status, ...(conditions && { conditions }) } };
}
