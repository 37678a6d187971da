import type { StorageChange } from "@tmc/embedded/storage/store.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { TransportRequest } from "@tmc/kube/transport/transport.ts";
import { formatKey, type ObjectKey } from "../../lib/model/key.ts";
import type { WorkItem } from "../../lib/model/work-item.ts";
import { ownerOf, syncedLabel } from "../../lib/sync/ownership/owner.ts";
import { type ActualState, candidatesFor, idOf } from "./actual-state.ts";
import { type Cause, causes } from "./cause.ts";
import type { HoldLaws } from "./confirmations.ts";
import { copiesOn, type FoundCopy, isRecorded, markOf, namespaceFor, namespacesOf } from "./copies.ts";
import { foreignAnnotation } from "./manual-change.ts";
import { type Servers, spareName, workloadNamespaces } from "./servers.ts";

/** Watches what happens on clusters. */
export interface ClusterMonitor {
  request(request: TransportRequest, cause: Cause | undefined, registration: ObjectKey): void;
  /** The most replicas of a workload that a cluster has ever said to be ready. */
  mostReady(tenant: string, id: string, physical: string): number;
  /** Whether a tenant's copies were left on a cluster when its registration went. */
  isAbandoned(tenant: string, physical: string): boolean;
  /** A registration has gone. */
  registrationGone(tenant: string, physical: string): void;
  /** Restores a server; notes the copies that no sync record may name afterwards. */
  restoring(server: string, restore: () => void): void;
  /** Whether a restore brought a copy back, or took away what kcp knew of it: TMC changes such a copy only where it is to be. */
  isForgotten(copy: FoundCopy): boolean;
  /** Whether a workload of a tenant has such a copy. */
  hasForgotten(tenant: string, key: WorkItem["key"]): boolean;
  /** Another server answers under the name of a cluster. */
  identityChanged(physical: string): void;
  end(): void;
}

export type ClusterMonitorOptions = Readonly<{
  servers: Servers;
  truth: ActualState;
  routes: ReadonlyMap<string, string>;
  holds: HoldLaws;
  /** The uids of objects that people have deleted. */
  mayGo: ReadonlySet<string>;
  isRestoring: () => boolean;
  log: (line: string) => void;
  broken: (law: number, message: string) => void;
  /** Hears of every change that a controller makes on a cluster. */
  onWrite: (text: string) => void;
}>;

/**
 * How long something may have been wanted again before a controller that has not heard of it removes it nevertheless: a list
 * that heals a silent watch comes every 150 s, and may itself be slow.
 */
const hearingMs = 240_000;

/** A probe per interval, and as long as it and a reconcile may take. */
const detectionMs = 65_000;

/** As long as a call takes to a slow cluster, and the second that times are rounded to. */
const onItsWayMs = 2_000;

type Health = { most: number; isHealthy: boolean; lastHealthyMs: number };

/** Watches the clusters of a run. */
export function createClusterMonitor({
  servers,
  truth,
  routes,
  holds,
  mayGo,
  isRestoring,
  log,
  broken,
  onWrite,
}: ClusterMonitorOptions): ClusterMonitor {
  /** When another server began to answer under the name of a cluster, for the last time. */
  const changedMs = new Map<string, number>();
  const health = new Map<string, Health>();
  const abandoned = new Set<string>();
  const forgotten = new Set<string>();
  const onceOurs = new Set<string>();
  const nowMs = (): number => servers.clock.now();
  const tenantByNamespace = new Map(
    servers.tenants.flatMap((tenant) =>
      workloadNamespaces.map((namespace) => [namespaceFor(tenant, namespace), { tenant, namespace }]),
    ),
  );
  /** Whose an object's place is, and what it is called in kcp. */
  const placeOf = (object: KubeObject): Readonly<{ tenant: string; id: string }> | undefined => {
    const { name = "", namespace = "" } = object.metadata;
    const home = tenantByNamespace.get(object.kind === "Namespace" ? name : namespace);
    if (home === undefined) return undefined;
    if (object.kind === "Namespace") return { tenant: home.tenant, id: `Namespace/${home.namespace}` };
    return { tenant: home.tenant, id: idOf({ ...object, metadata: { name, namespace: home.namespace } }) };
  };
  const isOurs = (object: KubeObject, tenant: string): boolean =>
    object.metadata.labels?.[syncedLabel] === markOf(tenant) &&
    (object.kind === "Namespace" || ownerOf(object)?.logicalCluster === tenant);

  const noteHealth = (physical: string, object: KubeObject, isGone: boolean): void => {
    const place = object.kind === "Deployment" ? placeOf(object) : undefined;
    if (place === undefined || !isOurs(object, place.tenant)) return;
    const key = `${place.tenant} ${place.id} ${physical}`;
    const known = health.get(key) ?? { most: 0, isHealthy: false, lastHealthyMs: Number.NEGATIVE_INFINITY };
    known.most = Math.max(known.most, readyReplicasOf(object));
    if (known.isHealthy) known.lastHealthyMs = nowMs();
    known.isHealthy = !isGone && isHealthy(object);
    health.set(key, known);
  };

  /** Where a copy that goes came from: the registration in its mark, and for a namespace all that lead to the cluster. */
  const registrationsOf = (object: KubeObject, tenant: string, physical: string): readonly string[] => {
    const origin = ownerOf(object);
    if (origin !== undefined) return [origin.registration];
    return [...truth.of(tenant).registrations.keys()].filter((name) => truth.physicalOf(tenant, name) === physical);
  };
  /** Whether nobody wanted a workload a moment ago, when what removes its copy was sent on its way. */
  const isJustPlaced = (tenant: string, workload: KubeObject): boolean => {
    const candidates = candidatesFor(truth.of(tenant).placements.values(), workload) ?? [];
    const isYoung = ({ metadata }: Pick<KubeObject, "metadata">): boolean =>
      nowMs() - Date.parse(metadata.creationTimestamp ?? "") < onItsWayMs;
    return candidates.length > 0 && candidates.every(isYoung);
  };
  const checkRemoval = (physical: string, object: KubeObject, cause: Cause): void => {
    const place = placeOf(object);
    const what = `${object.kind} ${object.metadata.namespace ?? ""}/${object.metadata.name ?? ""} on ${physical}`;
    const who = cause.work === undefined ? "nobody" : formatKey(cause.work.item.key);
    if (place === undefined || !isOurs(object, place.tenant)) {
      broken(3, `${what} has no mark of ours and was removed for ${who}`);
      return;
    }
    const { tenant, id } = place;
    const isOwnDoing = cause.work?.item.key.name.endsWith(`/${id.split("/").slice(1).join("/")}`) === true;
    const registrations = registrationsOf(object, tenant, physical);
    if (object.kind === "Deployment" || object.kind === "Service") {
      for (const registration of registrations) holds.removal(tenant, { id, registration });
    }
    const wantedBy = (registration: string): number | undefined => truth.wantedSince(tenant, id, registration);
    // An empty namespace goes for whoever leaves it; another that stands for the same cluster makes it again when it has something.
    if (object.kind === "Namespace" && registrations.some((each) => wantedBy(each) === undefined)) return;
    for (const registration of registrations) {
      // A ConfigMap that has had a placement of its own goes by that, and comes back with those that refer to it.
      if (isOwnDoing && (object.kind === "ConfigMap" || object.kind === "Secret")) continue;
      const sinceMs = wantedBy(registration);
      if (sinceMs !== undefined && nowMs() - sinceMs > hearingMs) {
        broken(3, `${what} was removed for ${who}, but has been wanted for ${nowMs() - sinceMs} ms`);
      }
    }
    const wanted = truth.of(tenant).workloads.get(id);
    const asksForSome = wanted !== undefined && replicasOf(wanted) > 0;
    const isWanted = asksForSome && truth.isWanted(tenant, id) && !isJustPlaced(tenant, wanted);
    if (object.kind === "Deployment" && isHealthy(object) && isWanted) {
      const others = servers.clusters.keys().filter((name) => name !== physical);
      const isReplaced = others.some((name) => {
        const other = health.get(`${tenant} ${id} ${name}`);
        return other !== undefined && (other.isHealthy || nowMs() - other.lastHealthyMs <= hearingMs);
      });
      if (!isReplaced) broken(3, `${what} was the last healthy copy and was removed for ${who}`);
    }
  };

  const onChange = (physical: string, { type, object, previous, key }: StorageChange): void => {
    const cause = causes.getStore();
    noteHealth(physical, object, type === "DELETED");
    const isStrangers = (previous ?? object).metadata.annotations?.[foreignAnnotation] !== undefined;
    if (isRestoring()) return;
    if (isStrangers && type === "DELETED" && !mayGo.has(object.metadata.uid ?? ""))
      broken(3, `${object.kind} ${key.name} of a stranger on ${physical} is gone`);
    if (cause === undefined) return;
    const where = `${object.kind} ${key.namespace}/${key.name} on ${physical}`;
    log(`${type} ${where}`);
    onWrite(`${type} ${where}`);
    const own = cause.work?.item.key;
    const place = placeOf(object);
    if (own === undefined || own.kind !== "Workload") {
      broken(4, `${where} was written for ${own === undefined ? "no key" : formatKey(own)}`);
    } else if (place?.tenant !== own.logicalCluster) {
      broken(4, `${where} was written for ${formatKey(own)}`);
    }
    const { uid = "" } = object.metadata;
    if (place !== undefined && previous !== undefined && !isOurs(previous, place.tenant)) {
      // Whose marks were taken off a moment ago may be written once more; it is never removed.
      const mayBeTaken = onceOurs.has(uid) || (truth.hasAdopted(place.tenant) && !isStrangers);
      if (type !== "MODIFIED" || !mayBeTaken) broken(3, `${where} has no mark of ours and was written`);
    }
    if (place !== undefined && isOurs(object, place.tenant)) onceOurs.add(uid);
    if (previous === undefined) return;
    const isGoing = type === "DELETED" || object.metadata.deletionTimestamp !== undefined;
    if (isGoing && previous.metadata.deletionTimestamp === undefined) checkRemoval(physical, previous, cause);
  };
  /** Law 3: nothing is written to a cluster that is not the registered one, once a probe has had time to find that out. */
  const checkIdentity = (
    { method, path }: Pick<TransportRequest, "method" | "path">,
    { logicalCluster, name }: ObjectKey,
  ): void => {
    const physical = truth.physicalOf(logicalCluster, name) ?? "";
    const sinceMs = changedMs.get(physical);
    const registered = truth.of(logicalCluster).registrations.get(name)?.status?.clusterUID;
    if (method === "GET" || sinceMs === undefined || registered === undefined) return;
    const store = servers.clusters.get(routes.get(`${logicalCluster} ${physical}`) ?? physical)?.store;
    const uid = store?.get({ storage: "namespaces", logicalCluster: "", namespace: "", name: "kube-system" })?.metadata
      .uid;
    if (uid !== registered && nowMs() - sinceMs > detectionMs) {
      broken(3, `${method} ${path} was sent to ${uid}, but ${logicalCluster}/${name} is ${registered}`);
    }
  };
  const unsubscribes = [...servers.clusters].map(([name, { store }]) =>
    store.subscribe((change) => onChange(name, change)),
  );

  return {
    request: ({ path, method }, cause, registration) => {
      checkIdentity({ path, method }, registration);
      const own = cause?.work?.item.key;
      const isOwn = own?.kind === "Workload" ? own.logicalCluster === registration.logicalCluster : undefined;
      const isProbe = own !== undefined && formatKey(own) === formatKey(registration);
      if (isOwn !== true && !isProbe) {
        const whom = own === undefined ? "no key" : formatKey(own);
        broken(4, `${path} was asked of ${formatKey(registration)} for ${whom}`);
      }
      const [, namespace] = /\/namespaces\/([^/?]+)/.exec(path) ?? [];
      // The uid of this namespace is the identity of the cluster.
      const isIdentity = method === "GET" && path.split("?")[0] === "/api/v1/namespaces/kube-system";
      if (
        namespace !== undefined &&
        !isIdentity &&
        !namespacesOf(registration.logicalCluster).includes(decodeURIComponent(namespace))
      ) {
        broken(4, `${method} ${path} for ${registration.logicalCluster} is about another's namespace`);
      }
      const [, selector] = /[?&]labelSelector=([^&]*)/.exec(path) ?? [];
      if (
        selector !== undefined &&
        decodeURIComponent(selector) !== `${syncedLabel}=${markOf(registration.logicalCluster)}`
      ) {
        broken(4, `${method} ${path} for ${registration.logicalCluster} lists another's copies`);
      }
      if (method !== "GET" && own?.kind !== "Workload") broken(4, `${method} ${path} was sent for no workload`);
    },
    // Where the address of a cluster has led to the spare one, the numbers may be of that.
    mostReady: (tenant, id, physical) =>
      Math.max(...[physical, spareName].map((name) => health.get(`${tenant} ${id} ${name}`)?.most ?? 0)),
    isAbandoned: (tenant, physical) => abandoned.has(`${tenant} ${physical}`),
    registrationGone: (tenant, physical) => {
      abandoned.add(`${tenant} ${physical}`);
    },
    restoring: (server, restore) => {
      const uidsNow = (): readonly string[] => allCopies(servers).map(({ copy }) => uidOf(copy));
      const before = new Set(uidsNow());
      restore();
      if (server !== "kcp") {
        for (const uid of uidsNow()) if (!before.has(uid)) forgotten.add(uid);
        return;
      }
      for (const { tenant, copy } of allCopies(servers)) {
        if (!isRecorded(truth.of(tenant).records, copy)) forgotten.add(uidOf(copy));
      }
    },
    isForgotten: (copy) => forgotten.has(uidOf(copy)),
    hasForgotten: (tenant, key) =>
      allCopies(servers).some(
        (each) =>
          each.tenant === tenant &&
          forgotten.has(uidOf(each.copy)) &&
          key.name.endsWith(`/${each.copy.namespace}/${each.copy.name}`),
      ),
    identityChanged: (physical) => {
      changedMs.set(physical, nowMs());
    },
    end: () => {
      for (const unsubscribe of unsubscribes) unsubscribe();
    },
  };
}

/** Whether a request is a list or a watch of all of a tenant's copies, which nobody's work waits for. */
export function isInformerRequest({ path }: Pick<TransportRequest, "path">): boolean {
  return path.includes("labelSelector=");
}

function allCopies({ clusters, tenants }: Servers): readonly Readonly<{ tenant: string; copy: FoundCopy }>[] {
  return [...clusters.values()].flatMap((cluster) =>
    tenants.flatMap((tenant) => copiesOn(cluster, tenant).map((copy) => ({ tenant, copy }))),
  );
}

const uidOf = ({ object }: FoundCopy): string => object.metadata.uid ?? "";

/** How many replicas an object says are ready. */
export function readyReplicasOf({ status }: KubeObject): number {
  const { readyReplicas } = (status ?? {}) as Readonly<{ readyReplicas?: unknown }>;
  return typeof readyReplicas === "number" ? readyReplicas : 0;
}

/** How many replicas an object asks for. */
export function replicasOf({ spec }: KubeObject): number {
  const { replicas } = (spec ?? {}) as Readonly<{ replicas?: unknown }>;
  return typeof replicas === "number" ? replicas : 1;
}

function isHealthy(object: KubeObject): boolean {
  const ready = readyReplicasOf(object);
  return ready > 0 && ready >= replicasOf(object);
}
