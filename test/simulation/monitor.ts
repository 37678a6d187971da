import { isDeepStrictEqual } from "node:util";
import type { ClusterRegistration } from "../../lib/api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../lib/api/workload-placement.ts";
import type { ControllerSettings } from "../../lib/controller/settings.ts";
import type { Change } from "../../lib/embedded/store.ts";
import type { TransportRequest } from "../../lib/kube/transport.ts";
import { findCondition } from "../../lib/model/condition.ts";
import { formatKey, type ObjectKey } from "../../lib/model/key.ts";
import type { WorkItem } from "../../lib/queue/work-queue.ts";
import { clusterFinalizer } from "../../lib/registration/reconcile.ts";
import { type Cause, causes } from "./cause.ts";
import { type Servers, startMs, tokensOf } from "./servers.ts";

/** A law that was broken, by its number; 0 for what no law need say. */
export type Violation = Readonly<{ law: number; atMs: number; message: string }>;

/** Watches a run from its first moment for whatever no moment may show. */
export interface Monitor {
  readonly violations: readonly Violation[];
  broken(law: number, message: string): void;
  /** The user has deleted this object. */
  mayGo(uid: string): void;

  kcpRequest(request: TransportRequest, cause: Cause | undefined): void;
  clusterRequest(request: TransportRequest, cause: Cause | undefined, key: ObjectKey): void;
  clusterAnswer(
    request: TransportRequest,
    answer: Readonly<{ status: number | undefined; cause: Cause | undefined; key: ObjectKey }>,
  ): void;
  sent(items: readonly WorkItem[], cause: Cause | undefined): void;
  works(item: WorkItem): void;
  stoppedWithTimers(name: string, timers: number): void;

  /** When a registered cluster last answered well. */
  lastSuccessMs(key: ObjectKey): number | undefined;
  /** From now on nobody does anything: counts what happens nevertheless. */
  beginRest(): Rest;
  /** From now on only others do anything: tells what this tenant's keys are worked on for. */
  beginNeighbour(tenant: string): () => readonly WorkItem[];
  end(): void;
}

/** What happened while there was nothing to do. */
export interface Rest {
  /** Changes of the store, but for heartbeats that were due. */
  readonly writes: readonly string[];
  /** Works that asked a cluster anything, by the registration's key. */
  readonly probes: ReadonlyMap<string, number>;
}

type Success = Readonly<{ process: string; atMs: number }>;

const healthPaths: ReadonlySet<string> = new Set(["/readyz", "/livez", "/version"]);
/** Times are written in whole seconds. */
const roundingMs = 1_000;

/** Makes the monitor of one run. */
export function createMonitor({
  servers,
  settings,
  log,
}: Readonly<{ servers: Servers; settings: ControllerSettings; log: (line: string) => void }>): Monitor {
  const violations: Violation[] = [];
  const mayGo = new Set<string>();
  const everSeen = new Set<string>();
  const successes = new Map<string, Success[]>();
  let rest: { writes: string[]; probing: Map<string, Set<unknown>> } | undefined;
  let neighbour: { tenant: string; works: WorkItem[] } | undefined;
  const nowMs = (): number => servers.clock.now();

  const broken = (law: number, message: string): void => {
    violations.push({ law, atMs: nowMs() - startMs, message });
    log(`law ${law} broken: ${message}`);
  };

  const checkStatus = (key: ObjectKey, { object, previous }: Change, cause: Cause | undefined): void => {
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
      const lookMs = Date.parse(heartbeat) - cause.process.skewMs;
      if (lookMs > nowMs()) broken(5, `${formatKey(key)}: lastHeartbeat ${heartbeat} has not come yet`);
      if (!seen.some(({ atMs }) => atMs >= lookMs - roundingMs && atMs <= lookMs + roundingMs + limitMs)) {
        broken(5, `${formatKey(key)}: lastHeartbeat ${heartbeat}, but no answer was seen then`);
      }
    }
    const becameReady = isReady(now) && !(before !== undefined && isReady(before));
    if (becameReady && !seen.some(({ atMs }) => atMs >= nowMs() - limitMs)) {
      broken(5, `${formatKey(key)} became Ready, but no answer was seen`);
    }
  };

  const onChange = (change: Change): void => {
    const { type, key, object, previous } = change;
    const { kind } = object;
    const cause = causes.getStore();
    if (!servers.tenants.includes(key.cluster)) return;
    if (kind !== "ClusterRegistration" && kind !== "WorkloadPlacement") {
      if (cause !== undefined) broken(3, `${cause.process.name} wrote ${kind} ${key.cluster}/${key.name}`);
      return;
    }
    const objectKey: ObjectKey = { cluster: key.cluster, kind, name: key.name };
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
    if (cause?.work !== undefined && cause.work.item.key.cluster !== key.cluster) {
      broken(4, `${text} was written for ${formatKey(cause.work.item.key)}`);
    }
    if (cause !== undefined && !isDeepStrictEqual(object.spec, previous?.spec))
      broken(3, `${text}: its spec was changed`);
    if (kind === "ClusterRegistration" && type === "MODIFIED") checkStatus(objectKey, change, cause);
    if (kind === "WorkloadPlacement" && type === "MODIFIED" && cause !== undefined) checkPlacement(text, change);
    if (rest !== undefined && !isDueHeartbeat(change)) rest.writes.push(`${type} ${text} ${differenceOf(change)}`);
  };
  const checkPlacement = (text: string, { object, key }: Change): void => {
    const { spec, status } = object as unknown as WorkloadPlacement;
    for (const { cluster, selected } of status?.decisions ?? []) {
      const known = everSeen.has(formatKey({ cluster: key.cluster, kind: "ClusterRegistration", name: cluster }));
      if (!known && (selected || spec.clusterNames?.includes(cluster) !== true)) {
        broken(5, `${text} speaks of ${cluster}, which was never registered there`);
      }
    }
  };
  const isDueHeartbeat = ({ object, previous }: Change): boolean => {
    if (object.kind !== "ClusterRegistration" || previous === undefined) return false;
    const [now, before] = [object as unknown as ClusterRegistration, previous as unknown as ClusterRegistration];
    const age = nowMs() - Date.parse(before.status?.lastHeartbeat ?? "");
    return isDeepStrictEqual(withoutTimes(now), withoutTimes(before)) && age >= settings.heartbeatWriteSeconds * 1000;
  };
  const unsubscribe = servers.kcp.store.subscribe(onChange);

  return {
    violations,
    broken,
    mayGo: (uid) => {
      mayGo.add(uid);
    },
    kcpRequest: ({ method, path }, cause) => {
      const [, where = ""] = /^\/clusters\/([^/]+)\//.exec(path) ?? [];
      const key = cause?.work?.item.key;
      if (key !== undefined && key.cluster !== where) broken(4, `${method} ${path} was sent for ${formatKey(key)}`);
      if (method !== "GET" && key === undefined) broken(4, `${method} ${path} was sent for no key`);
      if (method === "DELETE" || method === "POST")
        broken(3, `${method} ${path}: controllers only write status and finalizers`);
      const isOwn = servers.tenants.includes(where) || /\/logicalclusters\/cluster$/.test(path);
      if (!isOwn) broken(4, `${method} ${path} goes to no tenant`);
    },
    clusterRequest: ({ headers, path }, cause, key) => {
      const own = cause?.work?.item.key;
      if (own === undefined || formatKey(own) !== formatKey(key)) {
        broken(4, `${path} was asked of ${formatKey(key)} for ${own === undefined ? "no key" : formatKey(own)}`);
      }
      const others = servers.tenants.flatMap((tenant, index) => (tenant === key.cluster ? [] : tokensOf(index)));
      if (others.includes((headers.authorization ?? "").replace("Bearer ", ""))) {
        broken(4, `${path} was asked of ${formatKey(key)} with another tenant's token`);
      }
      if (rest === undefined) return;
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
        if (own !== undefined && own.cluster !== key.cluster) {
          broken(4, `${formatKey(own)} has sent ${formatKey(key)}`);
        }
        if (!everSeen.has(formatKey(key))) broken(4, `${formatKey(key)} was sent, but there never was one`);
      }
    },
    works: (item) => {
      if (neighbour?.tenant === item.key.cluster) neighbour.works.push(item);
    },
    stoppedWithTimers: (name, timers) => broken(0, `${name} has stopped and still holds ${timers} timers`),
    lastSuccessMs: (key) => successes.get(formatKey(key))?.at(-1)?.atMs,
    beginRest: () => {
      const begun = { writes: [], probing: new Map<string, Set<unknown>>() };
      rest = begun;
      return {
        writes: begun.writes,
        get probes() {
          return new Map([...begun.probing].map(([key, works]) => [key, works.size]));
        },
      };
    },
    beginNeighbour: (tenant) => {
      rest = undefined;
      const begun = { tenant, works: [] };
      neighbour = begun;
      return () => begun.works;
    },
    end: unsubscribe,
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

function differenceOf({ object, previous }: Change): string {
  const [now, before] = [JSON.stringify(object.status), JSON.stringify(previous?.status)];
  return now === before ? "not its status" : `status ${before} → ${now}`;
}
