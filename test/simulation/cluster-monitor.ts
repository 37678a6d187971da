import type { StorageChange } from "@tmc/embedded/storage/store.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { TransportRequest } from "@tmc/kube/transport/transport.ts";
import { upsyncSelector } from "../../lib/downstream/upsync-projection.ts";
import { formatKey, type ObjectKey } from "../../lib/model/key.ts";
import type { WorkItem } from "../../lib/model/work-item.ts";
import { ownerOf, syncedLabel } from "../../lib/sync/ownership/owner.ts";
import { type ActualState, idOf } from "./actual-state.ts";
import { type Cause, causes } from "./cause.ts";
import type { HoldLaws } from "./confirmations.ts";
import { copiesOn, type FoundCopy, isRecorded, markOf, namespaceFor, namespacesOf } from "./copies.ts";
import type { GuardLimits } from "./guard-law.ts";
import { foreignAnnotation } from "./manual-change.ts";
import { originalsNamespace } from "./originals.ts";
import { recordBeforeRemoval } from "./removal-laws.ts";
import { createRequestLaws, deletionId, workloadOf } from "./request-laws.ts";
import { identityKey, type Servers, tenantNamespaces } from "./servers.ts";
import { copyViolation } from "./workload-laws.ts";
import { createWorkloadView } from "./workload-view.ts";

/** Watches what happens on clusters. */
export interface ClusterMonitor {
  request(request: TransportRequest, cause: Cause | undefined, registration: ObjectKey): void;
  /** Whether a tenant's copies were left on a cluster when its registration went. */
  isAbandoned(tenant: string, physical: string): boolean;
  /** A registration has gone. */
  registrationGone(tenant: string, physical: string): void;
  /** Restores a server; notes the copies that no sync record may name afterwards. */
  restoring(server: string, restore: () => void): void;
  /** Whether a restore brought a copy back, or took away what kcp knew of it: TMC changes such a copy only where it is to be. */
  isForgotten(copy: Pick<FoundCopy, "object">): boolean;
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
  /** How many copies may go at once without a confirmation. */
  limits: GuardLimits;
  /** Hears of every change that a controller makes on a cluster. */
  onWrite: (text: string) => void;
}>;

/** A probe per interval, and as long as it and a reconcile may take. */
const detectionMs = 65_000;

/** Watches the clusters of a run. */
export function createClusterMonitor(options: ClusterMonitorOptions): ClusterMonitor {
  const { servers, truth, routes, holds, mayGo, isRestoring, log, broken, onWrite } = options;
  const nowMs = (): number => servers.clock.now();
  /** When another server began to answer under the name of a cluster, for the last time. */
  const changedMs = new Map<string, number>();
  const abandoned = new Set<string>();
  const forgotten = new Set<string>();
  const onceOurs = new Set<string>();
  const tenantByNamespace = new Map(
    servers.tenants.flatMap((tenant) =>
      tenantNamespaces.map((namespace) => [namespaceFor(tenant, namespace), { tenant, namespace }]),
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

  const requests = createRequestLaws(options);
  /** What is removed must be ours, and its deletion must have been asked for: then it was judged by what the process knew. */
  const checkRemoval = (physical: string, object: KubeObject, { process, work }: Cause): void => {
    const place = placeOf(object);
    const { name = "", namespace = "" } = object.metadata;
    const what = `${object.kind} ${namespace}/${name} on ${physical}`;
    const who = work === undefined ? "nobody" : formatKey(work.item.key);
    if (place === undefined || !isOurs(object, place.tenant)) {
      broken(3, `${what} has no mark of ours and was removed for ${who}`);
    } else if (work?.deletions.has(deletionId({ kind: object.kind, namespace, name })) !== true) {
      broken(3, `${what} was removed for ${who}, which has not asked for it`);
    } else {
      const registration = ownerOf(object)?.registration;
      const isOfWorkload = object.kind === "Deployment" || object.kind === "Service";
      const workload = workloadOf(work);
      if (!isOfWorkload || registration === undefined || workload === undefined) return;
      const view = createWorkloadView(process.view, work, place.tenant);
      const known = recordBeforeRemoval({ view, workload, registration });
      holds.removal(place.tenant, { id: place.id, registration, known });
    }
  };

  const onChange = (physical: string, { type, object, previous, key }: StorageChange): void => {
    const cause = causes.getStore();
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
    if (place !== undefined && isOurs(object, place.tenant)) {
      onceOurs.add(uid);
      const change = { type, object, ...(previous !== undefined && { previous }) };
      const violation = copyViolation({
        change,
        state: truth.of(place.tenant),
        id: place.id,
        nowMs: servers.clock.now(),
      });
      if (violation !== undefined) broken(3, `${where} ${violation}`);
    }
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
    const uid = store?.get(identityKey)?.metadata.uid;
    if (uid !== registered && nowMs() - sinceMs > detectionMs) {
      broken(3, `${method} ${path} was sent to ${uid}, but ${logicalCluster}/${name} is ${registered}`);
    }
  };
  const unsubscribes = [...servers.clusters].map(([name, { store }]) =>
    store.subscribe((change) => onChange(name, change)),
  );

  return {
    request: (request, cause, registration) => {
      const { path, method } = request;
      checkIdentity({ path, method }, registration);
      const own = cause?.work?.item.key;
      const isOwn = own?.kind === "Workload" ? own.logicalCluster === registration.logicalCluster : undefined;
      const isProbe = own !== undefined && formatKey(own) === formatKey(registration);
      // A shard watches originals because it was told of a registration, which another shard may reconcile.
      const isForWatch = own === undefined && (isOriginalsWatch(path) || isIdentityRead({ method, path }));
      if (isOwn !== true && !isProbe && !isForWatch) {
        const whom = own === undefined ? "no key" : formatKey(own);
        broken(4, `${path} was asked of ${formatKey(registration)} for ${whom}`);
      }
      const [, namespace] = /\/namespaces\/([^/?]+)/.exec(path) ?? [];
      if (
        namespace !== undefined &&
        !isIdentityRead({ method, path }) &&
        !(method === "GET" && namespace === originalsNamespace) &&
        !namespacesOf(registration.logicalCluster).includes(decodeURIComponent(namespace))
      ) {
        broken(4, `${method} ${path} for ${registration.logicalCluster} is about another's namespace`);
      }
      const selector = selectorIn(path);
      if (
        selector !== undefined &&
        selector !== upsyncSelector &&
        selector !== `${syncedLabel}=${markOf(registration.logicalCluster)}`
      ) {
        broken(4, `${method} ${path} for ${registration.logicalCluster} lists another's copies`);
      }
      if (method !== "GET" && own?.kind !== "Workload") broken(4, `${method} ${path} was sent for no workload`);
      if (cause !== undefined && isOwn === true) requests.check(request, cause, registration);
    },
    isAbandoned: (tenant, physical) => abandoned.has(`${tenant} ${physical}`),
    registrationGone: (tenant, physical) => {
      abandoned.add(`${tenant} ${physical}`);
    },
    restoring: (server, restore) => {
      const uidsNow = (): readonly string[] => [
        ...allCopies(servers).map(({ copy }) => uidOf(copy)),
        ...namespaceUids(servers),
      ];
      const before = new Set(uidsNow());
      restore();
      if (server !== "kcp") {
        for (const uid of uidsNow()) if (!before.has(uid)) forgotten.add(uid);
        return;
      }
      for (const { tenant, copy } of allCopies(servers)) {
        if (!isRecorded(truth.of(tenant).records, copy)) forgotten.add(uidOf(copy));
      }
      // A namespace is deleted by the work on the last workload there, which finds the cluster in its record.
      for (const object of unrecordedNamespaces(servers, truth)) forgotten.add(uidOf({ object }));
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

const selectorIn = (path: string): string | undefined => {
  const [, selector] = /[?&]labelSelector=([^&]*)/.exec(path) ?? [];
  return selector === undefined ? undefined : decodeURIComponent(selector);
};

const isOriginalsWatch = (path: string): boolean => selectorIn(path) === upsyncSelector;

/** Whether this reads the namespace whose uid is the identity of the cluster. */
export function isIdentityRead({ method, path }: Pick<TransportRequest, "method" | "path">): boolean {
  return method === "GET" && path.split("?")[0] === "/api/v1/namespaces/kube-system";
}

function allCopies({ clusters, tenants }: Servers): readonly Readonly<{ tenant: string; copy: FoundCopy }>[] {
  return [...clusters.values()].flatMap((cluster) =>
    tenants.flatMap((tenant) => copiesOn(cluster, tenant).map((copy) => ({ tenant, copy }))),
  );
}

const uidOf = ({ object }: Pick<FoundCopy, "object">): string => object.metadata.uid ?? "";

/** The namespaces of tenants on clusters that no sync record of the upstream namespace names. */
function unrecordedNamespaces({ clusters, tenants }: Servers, truth: ActualState): readonly KubeObject[] {
  return [...clusters].flatMap(([physical, { store }]) =>
    tenants.flatMap((tenant) =>
      tenantNamespaces.flatMap((namespace) => {
        const name = namespaceFor(tenant, namespace);
        const found = store.get({ storage: "namespaces", logicalCluster: "", namespace: "", name });
        const isNamed = [...truth.of(tenant).records.values()].some(
          ({ metadata, spec }) =>
            metadata.namespace === namespace &&
            spec.clusters?.some((registration) => truth.physicalOf(tenant, registration) === physical) === true,
        );
        return found === undefined || isNamed ? [] : [found];
      }),
    ),
  );
}

function namespaceUids({ clusters }: Servers): readonly string[] {
  return [...clusters.values()].flatMap(({ store }) =>
    store.list("namespaces", { logicalCluster: "" }).map(({ metadata }) => metadata.uid ?? ""),
  );
}
