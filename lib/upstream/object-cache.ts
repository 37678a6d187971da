import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { compareResourceVersions, isNewer } from "@tmc/kube/resource-version.ts";
import { createSlimmer } from "@tmc/kube/slim-object.ts";
import { type ObjectKey, type ReconciledKind, reconciledKinds } from "../model/key.ts";

/** Told to listeners: an object is another, or it is no longer there. */
export type CacheChange = Readonly<{ key: ObjectKey; object: KubeObject | undefined }>;

/**
 * What this process has seen of the reconciled kinds, one room per logical cluster.
 *
 * Nothing older ever takes the place of something newer, whichever way it comes. Objects given out are shared: nobody may
 * change them.
 */
export interface ObjectCache {
  get(key: ObjectKey): KubeObject | undefined;
  /** In the order of their names; the same list as long as nothing in it has changed. */
  list(kind: ReconciledKind, logicalCluster: string): readonly KubeObject[];
  /** The logical clusters that anything is known of. */
  clusters(): readonly string[];
  /** Whether both kinds of a logical cluster have been listed once. */
  isListed(logicalCluster: string): boolean;

  /**
   * Takes in a whole list. What was known and is not in it stays, in doubt, and is answered: not seen is not gone, so
   * someone must ask for each of these before it goes.
   */
  takeList(kind: ReconciledKind, logicalCluster: string, objects: readonly KubeObject[]): readonly ObjectKey[];
  /** Takes in what a watch said of an object. */
  takeSeen(kind: ReconciledKind, logicalCluster: string, object: KubeObject): void;
  /**
   * Takes in what a request answered, and gives the newest that is known. An object that the watch has not told of, or
   * has told the end of, is not let in this way: a late answer would bring back the dead.
   */
  takeAnswer(key: ObjectKey, object: KubeObject): KubeObject;
  /** Takes out an object that is known to be gone, unless a newer one of its name is there. */
  takeGone(key: ObjectKey, resourceVersion?: string): void;

  /** Forgets a logical cluster that is looked after no more: nothing is known of it, and nothing of it is gone by that. */
  drop(logicalCluster: string): void;

  /** Has the next read of a key ask the server. */
  doubt(key: ObjectKey): void;
  isDoubted(key: ObjectKey): boolean;
  trust(key: ObjectKey): void;

  /** How many placements other than the named one use each cluster, the reserved ones counted; it follows every change. */
  load(placement: ObjectKey): ReadonlyMap<string, number>;
  /**
   * Counts a decision as if it were seen, from before it is written until a newer object shows what became of it; the
   * answer takes it back when nothing will.
   */
  reserve(placement: ObjectKey, selectedClusters: readonly string[]): () => void;

  /** Hears of every change; the answer ends it. */
  onChange(listener: (change: CacheChange) => void): () => void;
}

type Entry = { object: KubeObject; reserved: readonly string[] | undefined; counted: readonly string[] };
type Room = {
  readonly entries: Map<string, Entry>;
  /** Sorted; undefined when a name has come or gone since. */
  names: readonly string[] | undefined;
  /** Undefined when an object has changed since. */
  objects: readonly KubeObject[] | undefined;
  listed: boolean;
  readonly doubted: Set<string>;
};
type Tenant = Readonly<{ rooms: Readonly<Record<ReconciledKind, Room>>; loads: Map<string, number> }>;

const nothing: readonly never[] = [];

/** Creates an empty cache; `slim` takes from each object what is not kept of it. */
export function createObjectCache(slim: (object: KubeObject) => KubeObject = createSlimmer()): ObjectCache {
  const tenants = new Map<string, Tenant>();
  const listeners = new Set<(change: CacheChange) => void>();

  const tenantOf = (logicalCluster: string): Tenant => {
    const known = tenants.get(logicalCluster);
    if (known !== undefined) return known;
    const made: Tenant = {
      rooms: { ClusterRegistration: emptyRoom(), WorkloadPlacement: emptyRoom() },
      loads: new Map(),
    };
    tenants.set(logicalCluster, made);
    return made;
  };
  const roomOf = (kind: ReconciledKind, logicalCluster: string): Room => tenantOf(logicalCluster).rooms[kind];
  const entryOf = ({ logicalCluster, kind, name }: ObjectKey): Entry | undefined =>
    tenants.get(logicalCluster)?.rooms[kind].entries.get(name);

  const tell = (key: ObjectKey, object: KubeObject | undefined): void => {
    for (const listener of listeners) listener({ key, object });
  };

  const count = ({ loads }: Tenant, entry: Entry, selected: readonly string[]): void => {
    for (const name of entry.counted) {
      const left = (loads.get(name) ?? 0) - 1;
      if (left > 0) loads.set(name, left);
      else loads.delete(name);
    }
    for (const name of selected) loads.set(name, (loads.get(name) ?? 0) + 1);
    entry.counted = selected;
  };
  const recount = (key: ObjectKey, entry: Entry): void => {
    if (key.kind !== "WorkloadPlacement") return;
    count(tenantOf(key.logicalCluster), entry, entry.reserved ?? selectionOf(entry.object));
  };

  /** Gives the entry as it is then; an older object changes nothing. */
  const put = (key: ObjectKey, object: KubeObject): Entry => {
    const room = roomOf(key.kind, key.logicalCluster);
    let entry = room.entries.get(key.name);
    if (entry === undefined) {
      entry = { object: slim(object), reserved: undefined, counted: nothing };
      room.entries.set(key.name, entry);
      room.names = undefined;
    } else {
      if (!isNewer(object, entry.object)) return entry;
      entry.object = slim(object);
      // What was decided on the older one is written by now, or never will be.
      entry.reserved = undefined;
    }
    room.objects = undefined;
    recount(key, entry);
    tell(key, entry.object);
    return entry;
  };

  const keyOf = (kind: ReconciledKind, logicalCluster: string, object: KubeObject): ObjectKey => ({
    logicalCluster,
    kind,
    name: object.metadata.name ?? "",
  });

  return {
    get: (key) => entryOf(key)?.object,
    list: (kind, logicalCluster) => {
      const room = tenants.get(logicalCluster)?.rooms[kind];
      if (room === undefined) return nothing;
      room.names ??= [...room.entries.keys()].toSorted();
      room.objects ??= room.names.flatMap((name) => room.entries.get(name)?.object ?? nothing);
      return room.objects;
    },
    clusters: () => [...tenants.keys()],
    isListed: (logicalCluster) =>
      reconciledKinds.every((kind) => tenants.get(logicalCluster)?.rooms[kind].listed === true),

    takeList: (kind, logicalCluster, objects) => {
      const room = roomOf(kind, logicalCluster);
      const missing = new Set(room.entries.keys());
      for (const object of objects) {
        const key = keyOf(kind, logicalCluster, object);
        missing.delete(key.name);
        put(key, object);
      }
      room.listed = true;
      for (const name of missing) room.doubted.add(name);
      return [...missing].map((name) => ({ logicalCluster: logicalCluster, kind, name }));
    },
    takeSeen: (kind, logicalCluster, object) => {
      put(keyOf(kind, logicalCluster, object), object);
    },
    takeAnswer: (key, object) => (entryOf(key) === undefined ? slim(object) : put(key, object).object),
    takeGone: (key, resourceVersion) => {
      const room = roomOf(key.kind, key.logicalCluster);
      const entry = room.entries.get(key.name);
      room.doubted.delete(key.name);
      if (entry === undefined) return;
      const seen = entry.object.metadata.resourceVersion;
      if (resourceVersion !== undefined && compareResourceVersions(seen, resourceVersion) > 0) return;
      room.entries.delete(key.name);
      room.names = undefined;
      room.objects = undefined;
      count(tenantOf(key.logicalCluster), entry, nothing);
      tell(key, undefined);
    },

    drop: (logicalCluster) => {
      const tenant = tenants.get(logicalCluster);
      tenants.delete(logicalCluster);
      for (const kind of reconciledKinds) {
        for (const name of tenant?.rooms[kind].entries.keys() ?? []) tell({ logicalCluster, kind, name }, undefined);
      }
    },

    doubt: ({ logicalCluster, kind, name }) => {
      roomOf(kind, logicalCluster).doubted.add(name);
    },
    isDoubted: ({ logicalCluster, kind, name }) => tenants.get(logicalCluster)?.rooms[kind].doubted.has(name) === true,
    trust: ({ logicalCluster, kind, name }) => {
      tenants.get(logicalCluster)?.rooms[kind].doubted.delete(name);
    },

    load: (placement) => {
      const { loads } = tenantOf(placement.logicalCluster);
      const own = (name: string): number => (entryOf(placement)?.counted.includes(name) ? 1 : 0);
      return liveLoads(loads, own);
    },
    reserve: (placement, selectedClusters) => {
      const entry = entryOf(placement);
      if (entry === undefined) return () => {};
      entry.reserved = selectedClusters;
      recount(placement, entry);
      return () => {
        // Not when a later decision has reserved anew, nor when the placement has gone meanwhile.
        if (entry.reserved !== selectedClusters) return;
        entry.reserved = undefined;
        if (entryOf(placement) === entry) recount(placement, entry);
      };
    },

    onChange: (listener) => {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
  };
}

function emptyRoom(): Room {
  return { entries: new Map(), names: undefined, objects: undefined, listed: false, doubted: new Set() };
}

function selectionOf({ status }: KubeObject): readonly string[] {
  if (typeof status !== "object" || status === null || !("selectedClusters" in status)) return nothing;
  const selected = status.selectedClusters;
  return Array.isArray(selected) ? selected.filter((name): name is string => typeof name === "string") : nothing;
}

/** The loads without one placement's own share, read when they are asked for and not before. */
function liveLoads(all: ReadonlyMap<string, number>, own: (name: string) => number): ReadonlyMap<string, number> {
  const others = (name: string): number => (all.get(name) ?? 0) - own(name);
  const entries = function* (): MapIterator<[string, number]> {
    for (const name of all.keys()) yield [name, others(name)];
  };
  const view: ReadonlyMap<string, number> = {
    get size() {
      return all.size;
    },
    has: (name) => all.has(name),
    get: (name) => (all.has(name) ? others(name) : undefined),
    keys: () => all.keys(),
    values: function* (): MapIterator<number> {
      for (const [, value] of entries()) yield value;
    },
    entries,
    [Symbol.iterator]: entries,
    forEach: (visit) => {
      for (const [name, value] of entries()) visit(value, name, view);
    },
  };
  return view;
}
