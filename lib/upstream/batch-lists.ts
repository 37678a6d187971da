import { compareStrings } from "@tmc/kube/compare.ts";
import { unlessAborted } from "@tmc/kube/deadline.ts";
import { isNewer } from "@tmc/kube/informer/resource-version.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";

/**
 * Lists that are read once per batch of keys and shared by all reconciles of the batch. Objects that are read or written
 * meanwhile are merged into the lists, so a reconcile never gets a list that is older than its own write.
 */
export interface BatchLists {
  /** Drops all lists: decisions after this call use lists that are read after it. */
  clear(): void;
  /** The list with this id, sorted by namespace and name; calls `read` if the batch does not have it yet. */
  list(id: string, read: () => Promise<readonly KubeObject[]>, signal: AbortSignal): Promise<readonly KubeObject[]>;
  /** Drops one list: the next call reads it again. */
  invalidate(id: string): void;
  /** Merges an object that was read or written into a list, unless the list has a newer one. */
  upsert(id: string, object: KubeObject): void;
}

type BatchList = {
  readonly id: string;
  readonly reading: Promise<void>;
  /** Undefined until the list was read. */
  objects: readonly KubeObject[] | undefined;
  /** Objects that were read or written while the list was being read: the list may contain older versions. */
  readonly merged: Map<string, KubeObject>;
};

/** Creates the lists of a process that works on one batch after the other. */
export function createBatchLists(): BatchLists {
  const lists = new Map<string, BatchList>();
  /** Lists that are being read, also those of an earlier batch that is still running. */
  const inFlight = new Set<BatchList>();

  const start = (id: string, read: () => Promise<readonly KubeObject[]>): BatchList => {
    const fill = async (): Promise<void> => {
      try {
        // Without a signal: several callers wait for the list, and each of them may abort.
        const sorted = (await read()).toSorted((one, other) => compareStrings(idOf(one), idOf(other)));
        list.objects = [...list.merged.values()].reduce(withObject, sorted);
      } catch (error) {
        if (lists.get(id) === list) lists.delete(id); // the next caller retries
        throw error;
      } finally {
        inFlight.delete(list);
      }
    };
    const list: BatchList = { id, reading: Promise.resolve().then(fill), objects: undefined, merged: new Map() };
    lists.set(id, list);
    inFlight.add(list);
    return list;
  };

  return {
    clear: () => lists.clear(),
    invalidate: (id) => {
      lists.delete(id);
    },
    list: async (id, read, signal) => {
      const list = lists.get(id) ?? start(id, read);
      await unlessAborted(list.reading, signal);
      // Another batch may have read a newer list meanwhile. Callers that count by these lists must not get an older one.
      return lists.get(id)?.objects ?? list.objects ?? [];
    },
    upsert: (id, object) => {
      const list = lists.get(id);
      if (list?.objects !== undefined) list.objects = withObject(list.objects, object);
      const key = idOf(object);
      for (const each of inFlight) {
        if (each.id === id && isNewerThan(each.merged.get(key), object)) each.merged.set(key, object);
      }
    },
  };
}

const idOf = ({ metadata }: KubeObject): string => `${metadata.namespace ?? ""}/${metadata.name ?? ""}`;
const isNewerThan = (present: KubeObject | undefined, object: KubeObject): boolean =>
  present === undefined || isNewer(object, present);

/** The sorted list with an object inserted or replaced, unless it has a newer one; the same array if nothing changes. */
function withObject(objects: readonly KubeObject[], object: KubeObject): readonly KubeObject[] {
  const id = idOf(object);
  const found = objects.findIndex((present) => idOf(present) >= id);
  const index = found < 0 ? objects.length : found;
  const present = objects[index];
  if (present === undefined || idOf(present) !== id) return objects.toSpliced(index, 0, object);
  return isNewer(object, present) ? objects.with(index, object) : objects;
}
