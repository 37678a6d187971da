import { createObjectStore, type ObjectStore, objectId } from "@tmc/kube/informer/object-store.ts";
import { createTrimmer } from "@tmc/kube/informer/trim-object.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { type TypeId, typeId, type WorkloadType } from "../api/workload-kinds.ts";
import type { WorkloadSync } from "../api/workload-sync.ts";
import type { WorkloadKey } from "../model/key.ts";
import type { ReferenceAddress } from "../sync/workload-hub.ts";
import { createReferenceIndex, type ReferenceIndex } from "./reference-index.ts";
import { isMetadataOnly, recordResource, type WatchedResource, watchedResources } from "./watched-resources.ts";

/** The address of a cached object; the namespace of a Namespace is empty. */
export type CachedAddress = Readonly<{ logicalCluster: string; type: ResourceType; namespace: string; name: string }>;

/**
 * The workloads of tenants as this process has read them, and everything that sync depends on: workloads and sync records
 * completely, of everything else the metadata. One partition per logical cluster and resource; the rules of `ObjectStore` apply.
 */
export interface WorkloadCache {
  /** The types of workloads that are cached. */
  readonly types: readonly WorkloadType[];
  get(address: CachedAddress): KubeObject | undefined;
  /** Sorted by namespace and name; the same array until an object changes. */
  list(type: ResourceType, logicalCluster: string): readonly KubeObject[];
  /** The logical clusters that have a partition. */
  logicalClusters(): readonly string[];
  /** Whether everything of a logical cluster, or one type of it, has been listed once. */
  isListed(logicalCluster: string, type?: ResourceType): boolean;

  /** Takes over a list and returns the addresses of cached objects that it lacks; these are stale now. */
  replace(
    type: ResourceType,
    logicalCluster: string,
    objects: readonly KubeObject[],
    resourceVersion?: string,
  ): readonly CachedAddress[];
  /** The server does not serve the type: that counts as a list, and says nothing about cached objects. */
  markListed(type: ResourceType, logicalCluster: string): void;
  /** Takes over an object from a watch event. */
  upsert(type: ResourceType, logicalCluster: string, object: KubeObject): void;
  /** Removes an object that is known to be gone, unless a newer one of its name is cached. */
  remove(address: CachedAddress, resourceVersion?: string): void;
  /** Announces a request for an object; the returned function takes the answer (`ObjectStore.request`). */
  request(address: CachedAddress): (answer: KubeObject | undefined) => KubeObject | undefined;
  /** Drops a logical cluster that is no longer a tenant. That does not mean that its objects are gone. */
  drop(logicalCluster: string): void;

  /** Marks an object stale: the next read goes to the server. */
  markStale(address: CachedAddress): void;
  isStale(address: CachedAddress): boolean;

  /** The workloads that refer to an object, by their own spec or by their sync record. */
  referrers(reference: ReferenceAddress): readonly WorkloadKey[];
  /** All sync records of a logical cluster. */
  records(logicalCluster: string): readonly WorkloadSync[];
  /** The sync records that name a registration among their clusters, sorted by name. */
  recordsOn(logicalCluster: string, registration: string): readonly WorkloadSync[];
  /** The sync records of workloads that a placement governs, sorted by name. */
  recordsUnder(logicalCluster: string, placement: string): readonly WorkloadSync[];
}

export type WorkloadCacheOptions = Readonly<{
  types: readonly WorkloadType[];
  /** Removes from each object what is not kept. @default what no reader needs */
  transform?: ((object: KubeObject) => KubeObject) | undefined;
}>;

type RecordIndex = "cluster" | "placement";
type Store = ObjectStore<KubeObject, RecordIndex>;
type Tenant = Readonly<{ stores: ReadonlyMap<TypeId, Store>; references: ReferenceIndex }>;

const none: readonly never[] = [];

/** Creates an empty cache. */
export function createWorkloadCache({ types, transform = createTrimmer() }: WorkloadCacheOptions): WorkloadCache {
  const resources = watchedResources(types);
  const tenants = new Map<string, Tenant>();

  const createStore = (
    resource: WatchedResource,
    onChange: (id: string, object: KubeObject | undefined) => void,
  ): Store => {
    const { apiVersion, kind } = resource;
    return createObjectStore<KubeObject, RecordIndex>({
      // A server calls metadata-only objects by another kind.
      transform: isMetadataOnly(resource)
        ? ({ metadata }) => transform({ apiVersion, kind, metadata })
        : (object) => transform(object),
      versionOf: ({ metadata }) => metadata.resourceVersion,
      uidOf: ({ metadata }) => metadata.uid,
      indexers: resource.role === "record" ? recordIndexers : undefined,
      onChange: ({ id, after }) => onChange(id, after),
    });
  };
  const createTenant = (): Tenant => {
    const references = createReferenceIndex(types);
    const setReferences = (resource: WatchedResource, id: string, object: KubeObject | undefined): void => {
      if (resource.role === "workload") {
        references.setWorkload(`${resource.id}/${id}`, id.slice(0, id.indexOf("/")), object);
      } else if (resource.role === "record") references.setRecord(id, object && asRecord(object));
    };
    const storeOf = (resource: WatchedResource): Store =>
      createStore(resource, (id, object) => setReferences(resource, id, object));
    return { stores: new Map(resources.map((resource) => [resource.id, storeOf(resource)])), references };
  };
  const tenantOf = (logicalCluster: string): Tenant => {
    const tenant = tenants.get(logicalCluster) ?? createTenant();
    tenants.set(logicalCluster, tenant);
    return tenant;
  };
  const find = ({ logicalCluster, type }: Pick<CachedAddress, "logicalCluster" | "type">): Store | undefined =>
    tenants.get(logicalCluster)?.stores.get(typeId(type));

  const list = (type: ResourceType, logicalCluster: string): readonly KubeObject[] =>
    find({ logicalCluster, type })?.list() ?? none;
  const recordsBy = (logicalCluster: string, index: RecordIndex, value: string): readonly WorkloadSync[] => {
    const store = find({ logicalCluster, type: recordResource.type });
    return (store?.byIndex(index, value) ?? none).flatMap((id) => store?.get(id) ?? none).map(asRecord);
  };

  return {
    types,
    get: (address) => find(address)?.get(idOf(address)),
    list,
    logicalClusters: () => [...tenants.keys()],
    isListed: (logicalCluster, type) => {
      if (type !== undefined) return find({ logicalCluster, type })?.isListed === true;
      const stores = tenants.get(logicalCluster)?.stores;
      return stores !== undefined && [...stores.values()].every(({ isListed }) => isListed);
    },

    replace: (type, logicalCluster, objects, resourceVersion) => {
      tenantOf(logicalCluster);
      const missing = find({ logicalCluster, type })?.replace(objects, resourceVersion) ?? none;
      return missing.map((id) => addressOf(logicalCluster, type, id));
    },
    markListed: (type, logicalCluster) => {
      tenantOf(logicalCluster);
      find({ logicalCluster, type })?.markListed();
    },
    upsert: (type, logicalCluster, object) => {
      tenantOf(logicalCluster);
      find({ logicalCluster, type })?.upsert(object);
    },
    remove: (address, resourceVersion) => find(address)?.remove(idOf(address), resourceVersion),
    request: (address) =>
      find(address)?.request(idOf(address)) ?? ((answer) => (answer === undefined ? undefined : transform(answer))),
    drop: (logicalCluster) => void tenants.delete(logicalCluster),

    markStale: (address) => find(address)?.markStale(idOf(address)),
    isStale: (address) => find(address)?.isStale(idOf(address)) === true,

    referrers: ({ logicalCluster, ...reference }) => {
      const names = [...(tenants.get(logicalCluster)?.references.referrers(reference) ?? none)];
      return names.toSorted().map((name) => ({ logicalCluster, kind: "Workload", name }));
    },
    // The same array until a record changes; see asRecord for the type.
    records: (logicalCluster) => list(recordResource.type, logicalCluster) as readonly WorkloadSync[],
    recordsOn: (logicalCluster, registration) => recordsBy(logicalCluster, "cluster", registration),
    recordsUnder: (logicalCluster, placement) => recordsBy(logicalCluster, "placement", placement),
  };
}

/** The server validates records against the kind's schema. */
function asRecord(object: KubeObject): WorkloadSync {
  return object as WorkloadSync;
}

const recordIndexers: Readonly<Record<RecordIndex, (record: KubeObject) => readonly string[]>> = {
  cluster: (record) => asRecord(record).spec.clusters ?? none,
  placement: (record) => {
    const { placement } = asRecord(record).spec;
    return placement === undefined ? none : [placement];
  },
};

function idOf({ namespace, name }: Pick<CachedAddress, "namespace" | "name">): string {
  return objectId({ metadata: { namespace, name } });
}

function addressOf(logicalCluster: string, type: ResourceType, id: string): CachedAddress {
  const slash = id.indexOf("/");
  return { logicalCluster, type, namespace: slash < 0 ? "" : id.slice(0, slash), name: id.slice(slash + 1) };
}
