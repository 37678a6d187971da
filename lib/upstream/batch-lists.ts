import { compareStrings } from "@tmc/kube/compare.ts";
import { unlessAborted } from "@tmc/kube/deadline.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { isNewer } from "@tmc/kube/resource-version.ts";

/**
 * Lists that are read once for all that work on the same batch, however many ask at once. Whatever is read or written
 * meanwhile takes its place in them: nobody sees a list that is behind his own write.
 */
export interface BatchLists {
  /** Forgets what was read: whatever is decided from now on is decided on lists that begin from now on. */
  begin(): void;
  /** The list of that name, in the order of namespaces and names; read by `read` where it was not in this batch. */
  list(id: string, read: () => Promise<readonly KubeObject[]>, signal: AbortSignal): Promise<readonly KubeObject[]>;
  /** Forgets one of them: whoever asks next gets one that begins then. */
  renew(id: string): void;
  /** Takes in what was seen of an object that belongs into a list. */
  note(id: string, object: KubeObject): void;
}

/** A list that was asked for in this batch. */
type Room = {
  readonly id: string;
  readonly listing: Promise<void>;
  /** Undefined until it has been read. */
  objects: readonly KubeObject[] | undefined;
  /** What was seen of single objects while it was being read: the list may be older. */
  readonly noted: Map<string, KubeObject>;
};

/** Creates the lists of a process that works on one batch after the other. */
export function createBatchLists(): BatchLists {
  const rooms = new Map<string, Room>();
  /** Lists on their way, of a batch that another has begun beside too: somebody waits for each. */
  const reading = new Set<Room>();

  const openRoom = (id: string, read: () => Promise<readonly KubeObject[]>): Room => {
    const fill = async (): Promise<void> => {
      try {
        // Nobody's signal: who waits for it are several, and each of them may leave.
        const sorted = (await read()).toSorted((one, other) => compareStrings(placeOf(one), placeOf(other)));
        room.objects = [...room.noted.values()].reduce(withObject, sorted);
      } catch (error) {
        if (rooms.get(id) === room) rooms.delete(id); // whoever asks next tries again
        throw error;
      } finally {
        reading.delete(room);
      }
    };
    const room: Room = { id, listing: Promise.resolve().then(fill), objects: undefined, noted: new Map() };
    rooms.set(id, room);
    reading.add(room);
    return room;
  };

  return {
    begin: () => rooms.clear(),
    renew: (id) => {
      rooms.delete(id);
    },
    list: async (id, read, signal) => {
      const room = rooms.get(id) ?? openRoom(id, read);
      await unlessAborted(room.listing, signal);
      // Another batch may have read a newer one meanwhile; who counts by these lists must not go back.
      return rooms.get(id)?.objects ?? room.objects ?? [];
    },
    note: (id, object) => {
      const room = rooms.get(id);
      if (room?.objects !== undefined) room.objects = withObject(room.objects, object);
      const place = placeOf(object);
      for (const each of reading) {
        if (each.id === id && isNewerThan(each.noted.get(place), object)) each.noted.set(place, object);
      }
    },
  };
}

const placeOf = ({ metadata }: KubeObject): string => `${metadata.namespace ?? ""}/${metadata.name ?? ""}`;
const isNewerThan = (present: KubeObject | undefined, object: KubeObject): boolean =>
  present === undefined || isNewer(object, present);

/** The list with an object in its place, unless a newer one stands there; the list itself when nothing changes. */
function withObject(objects: readonly KubeObject[], object: KubeObject): readonly KubeObject[] {
  const place = placeOf(object);
  const found = objects.findIndex((present) => placeOf(present) >= place);
  const at = found < 0 ? objects.length : found;
  const present = objects[at];
  if (present === undefined || placeOf(present) !== place) return objects.toSpliced(at, 0, object);
  return isNewer(object, present) ? objects.with(at, object) : objects;
}
