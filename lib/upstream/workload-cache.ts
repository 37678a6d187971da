import { byKey } from "@tmc/kube/compare.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { compareResourceVersions, isNewer } from "@tmc/kube/resource-version.ts";
import { type BackwardIndex, createBackwardIndex } from "@tmc/kube/reverse-index.ts";
import { createSlimmer } from "@tmc/kube/slim-object.ts";
import type { WorkloadType } from "../api/workload-kinds.ts";
import { typeId } from "../api/workload-kinds.ts";
import type { WorkloadSync } from "../api/workload-sync.ts";
import type { WorkloadKey } from "../model/key.ts";
import type { ReferenceAddress } from "../sync/workload-hub.ts";
import { createWorkloadTies, type WorkloadTies } from "./reference-index.ts";
import { isMetadataOnly, recordLane, type WorkloadLane, workloadLanes } from "./watched-resources.ts";

/** Where something is that was seen; a namespace itself is in none. */
export type SeenAddress = Readonly<{ logicalCluster: string; type: ResourceType; namespace: string; name: string }>;

/**
 * What this process has seen of tenants' workloads, and of what it takes to work on them: workloads and TMC's records whole, of
 * everything else no more than the metadata.
 *
 * As with `ObjectCache`, nothing older ever takes the place of something newer, and objects given out are shared: nobody may
 * change them.
 */
export interface WorkloadCache {
  /** The types of workloads that are kept. */
  readonly types: readonly WorkloadType[];
  get(address: SeenAddress): KubeObject | undefined;
  /** In the order of namespaces and names; the same list as long as nothing in it has changed. */
  list(type: ResourceType, logicalCluster: string): readonly KubeObject[];
  /** The logical clusters that anything is known of. */
  clusters(): readonly string[];
  /** Whether everything of a logical cluster, or a type there, has been listed once. */
  isListed(logicalCluster: string, type?: ResourceType): boolean;

  /** Takes in a whole list. What was known and is not in it stays, in doubt, and is answered: not seen is not gone. */
  takeList(type: ResourceType, logicalCluster: string, objects: readonly KubeObject[]): readonly SeenAddress[];
  /** A type is not served there: that counts as a list, and says nothing of what was known. */
  takeAbsent(type: ResourceType, logicalCluster: string): void;
  /** Takes in what a watch said of an object. */
  takeSeen(type: ResourceType, logicalCluster: string, object: KubeObject): void;
  /**
   * Takes in what a request answered, and gives the newest that is known. An object that no watch has told of is not let in
   * this way: a late answer would bring back the dead.
   */
  takeAnswer(address: SeenAddress, object: KubeObject): KubeObject;
  /** Takes out an object that is known to be gone, unless a newer one of its name is there. */
  takeGone(address: SeenAddress, resourceVersion?: string): void;
  /**
   * Says, before the request, that an object is about to be created. The answer takes in what the server said, so that it is
   * known at once; unless a watch has told of its end meanwhile. Nothing when there was no object.
   */
  admit(address: SeenAddress): (created?: KubeObject) => void;

  /** Forgets a logical cluster that is looked after no more: nothing is known of it, and nothing of it is gone by that. */
  drop(logicalCluster: string): void;

  /** Has the next read of an object ask the server. */
  doubt(address: SeenAddress): void;
  isDoubted(address: SeenAddress): boolean;
  trust(address: SeenAddress): void;

  /** The workloads that refer to something, by what they say themselves and by their records. */
  referrers(reference: ReferenceAddress): readonly WorkloadKey[];
  /** All records of a logical cluster. */
  records(logicalCluster: string): readonly WorkloadSync[];
  /** The records that name a registration among their clusters, in the order of their names. */
  recordsOn(logicalCluster: string, registration: string): readonly WorkloadSync[];
  /** The records of workloads that a placement governs, in the order of their names. */
  recordsUnder(logicalCluster: string, placement: string): readonly WorkloadSync[];
}

export type WorkloadCacheOptions = Readonly<{
  types: readonly WorkloadType[];
  /** Takes from each object what is not kept of it. @default what nobody reads */
  slim?: ((object: KubeObject) => KubeObject) | undefined;
}>;

type Room = {
  readonly lane: WorkloadLane;
  /** By namespace and name. */
  readonly entries: Map<string, KubeObject>;
  /** Undefined when an object has changed since. */
  objects: readonly KubeObject[] | undefined;
  listed: boolean;
  readonly doubted: Set<string>;
  /** Objects that are being created, and whether a watch has told of the end of one of that name since. */
  readonly coming: Map<string, Set<{ isOver: boolean }>>;
};

type Tenant = Readonly<{
  rooms: ReadonlyMap<string, Room>;
  ties: WorkloadTies;
  recordClusters: BackwardIndex;
  recordPlacements: BackwardIndex;
}>;

const nothing: readonly never[] = [];

/** Creates an empty cache. */
export function createWorkloadCache({ types, slim = createSlimmer() }: WorkloadCacheOptions): WorkloadCache {
  const lanes = workloadLanes(types);
  const tenants = new Map<string, Tenant>();

  const tenantOf = (logicalCluster: string): Tenant => {
    const known = tenants.get(logicalCluster);
    if (known !== undefined) return known;
    const made: Tenant = {
      rooms: new Map(lanes.map((lane) => [lane.id, emptyRoom(lane)])),
      ties: createWorkloadTies(types),
      recordClusters: createBackwardIndex(),
      recordPlacements: createBackwardIndex(),
    };
    tenants.set(logicalCluster, made);
    return made;
  };
  const roomOf = ({ logicalCluster: cluster, type }: Pick<SeenAddress, "logicalCluster" | "type">): Room | undefined =>
    tenants.get(cluster)?.rooms.get(typeId(type));

  const kept = ({ lane }: Room, object: KubeObject): KubeObject => {
    const { apiVersion, kind } = lane;
    // What answers requests for metadata alone calls it by another name.
    return slim(isMetadataOnly(lane) ? { apiVersion, kind, metadata: object.metadata } : object);
  };
  const reindex = (tenant: Tenant, room: Room, id: string, object: KubeObject | undefined): void => {
    if (room.lane.role === "workload") {
      tenant.ties.takeWorkload(`${room.lane.id}/${id}`, id.slice(0, id.indexOf("/")), object);
    }
    if (room.lane.role !== "record") return;
    const record = object === undefined ? undefined : asRecord(object);
    const { clusters = nothing, placement } = record?.spec ?? {};
    tenant.ties.takeRecord(id, record);
    tenant.recordClusters.set(id, clusters);
    tenant.recordPlacements.set(id, placement === undefined ? nothing : [placement]);
  };
  /** Gives the object as it is then; an older one changes nothing. */
  const put = (tenant: Tenant, room: Room, id: string, object: KubeObject): KubeObject => {
    const present = room.entries.get(id);
    if (present !== undefined && !isNewer(object, present)) return present;
    const slimmed = kept(room, object);
    room.entries.set(id, slimmed);
    room.objects = undefined;
    reindex(tenant, room, id, slimmed);
    return slimmed;
  };

  const recordsBy = (logicalCluster: string, index: "recordClusters" | "recordPlacements", name: string) => {
    const tenant = tenants.get(logicalCluster);
    const room = tenant?.rooms.get(recordLane.id);
    return [...(tenant?.[index].owners(name) ?? nothing)]
      .toSorted()
      .flatMap((id) => room?.entries.get(id) ?? nothing)
      .map(asRecord);
  };
  const list = (type: ResourceType, logicalCluster: string): readonly KubeObject[] => {
    const room = roomOf({ logicalCluster, type });
    if (room === undefined) return nothing;
    room.objects ??= [...room.entries].toSorted(byKey).map(([, each]) => each);
    return room.objects;
  };

  return {
    types,
    get: (address) => roomOf(address)?.entries.get(idOf(address)),
    list,
    clusters: () => [...tenants.keys()],
    isListed: (logicalCluster, type) => {
      if (type !== undefined) return roomOf({ logicalCluster, type })?.listed === true;
      const rooms = tenants.get(logicalCluster)?.rooms;
      return rooms !== undefined && [...rooms.values()].every(({ listed }) => listed);
    },

    takeList: (type, logicalCluster, objects) => {
      const tenant = tenantOf(logicalCluster);
      const room = roomOf({ logicalCluster, type });
      if (room === undefined) return nothing;
      const missing = new Set(room.entries.keys());
      for (const object of objects) {
        const id = idOfObject(object);
        missing.delete(id);
        put(tenant, room, id, object);
      }
      room.listed = true;
      for (const id of missing) room.doubted.add(id);
      return [...missing].map((id) => addressOf(logicalCluster, type, id));
    },
    takeAbsent: (type, logicalCluster) => {
      tenantOf(logicalCluster);
      const room = roomOf({ logicalCluster, type });
      if (room !== undefined) room.listed = true;
    },
    takeSeen: (type, logicalCluster, object) => {
      const tenant = tenantOf(logicalCluster);
      const room = roomOf({ logicalCluster, type });
      if (room !== undefined) put(tenant, room, idOfObject(object), object);
    },
    takeAnswer: (address, object) => {
      const [tenant, room, id] = [tenants.get(address.logicalCluster), roomOf(address), idOf(address)];
      if (tenant === undefined || room === undefined) return slim(object);
      return room.entries.has(id) ? put(tenant, room, id, object) : kept(room, object);
    },
    takeGone: (address, resourceVersion) => {
      const [tenant, room, id] = [tenants.get(address.logicalCluster), roomOf(address), idOf(address)];
      if (tenant === undefined || room === undefined) return;
      for (const each of room.coming.get(id) ?? nothing) each.isOver = true;
      room.doubted.delete(id);
      const seen = room.entries.get(id)?.metadata.resourceVersion;
      if (resourceVersion !== undefined && compareResourceVersions(seen, resourceVersion) > 0) return;
      if (!room.entries.delete(id)) return;
      room.objects = undefined;
      reindex(tenant, room, id, undefined);
    },
    admit: (address) => {
      const [tenant, room, id] = [tenants.get(address.logicalCluster), roomOf(address), idOf(address)];
      if (tenant === undefined || room === undefined) return () => {};
      const own = { isOver: false };
      const all = room.coming.get(id) ?? new Set();
      room.coming.set(id, all.add(own));
      return (created) => {
        all.delete(own);
        if (all.size === 0) room.coming.delete(id);
        const isForgotten = tenants.get(address.logicalCluster) !== tenant;
        if (created !== undefined && !own.isOver && !isForgotten) put(tenant, room, id, created);
      };
    },

    drop: (logicalCluster) => void tenants.delete(logicalCluster),

    doubt: (address) => void roomOf(address)?.doubted.add(idOf(address)),
    isDoubted: (address) => roomOf(address)?.doubted.has(idOf(address)) === true,
    trust: (address) => void roomOf(address)?.doubted.delete(idOf(address)),

    referrers: ({ logicalCluster, ...reference }) => {
      const names = [...(tenants.get(logicalCluster)?.ties.referrers(reference) ?? nothing)];
      return names.toSorted().map((name) => ({ logicalCluster: logicalCluster, kind: "Workload", name }));
    },
    // The server holds them to the kind's schema.
    records: (logicalCluster) => list(recordLane.type, logicalCluster) as readonly WorkloadSync[],
    recordsOn: (logicalCluster, registration) => recordsBy(logicalCluster, "recordClusters", registration),
    recordsUnder: (logicalCluster, placement) => recordsBy(logicalCluster, "recordPlacements", placement),
  };
}

/** What is in the room of records came from a server that holds it to the kind's schema. */
function asRecord(object: KubeObject): WorkloadSync {
  return object as WorkloadSync;
}

function emptyRoom(lane: WorkloadLane): Room {
  return {
    lane,
    entries: new Map(),
    objects: undefined,
    listed: false,
    doubted: new Set(),
    coming: new Map(),
  };
}

const idOf = ({ namespace, name }: Pick<SeenAddress, "namespace" | "name">): string => `${namespace}/${name}`;
const idOfObject = ({ metadata }: KubeObject): string => `${metadata.namespace ?? ""}/${metadata.name ?? ""}`;

function addressOf(logicalCluster: string, type: ResourceType, id: string): SeenAddress {
  const at = id.indexOf("/");
  return { logicalCluster, type, namespace: id.slice(0, at), name: id.slice(at + 1) };
}
