import type { KubeClient } from "../kube/client.ts";
import { unlessAborted } from "../kube/deadline.ts";
import type { Hub } from "../model/hub.ts";
import type { ObjectKey, ReconciledKind } from "../model/key.ts";
import type { KubeObject } from "../model/kube-object.ts";
import { pageByPage } from "../relay/page-by-page.ts";
import { createHubRequests, finalizersPatch, type HubWrite, statusPatch, troubleOfHub } from "./hub-requests.ts";
import { clientOf } from "./logical-cluster.ts";
import { isNewer } from "./object-cache.ts";
import { reconciledTypes } from "./reconciled-types.ts";
import { createSlimmer } from "./slim-object.ts";
import type { MergePatch } from "./status-patch.ts";

/** A hub that keeps nothing from one batch of work to the next. */
export interface FreshHub extends Hub {
  /** Forgets the lists that were read: whatever is decided from now on is decided on a list that begins from now on. */
  beginBatch(): void;
}

export type FreshHubOptions = Readonly<{
  /** A client at the server's root. */
  client: KubeClient;
  /** Told of every write before it is made. */
  onWrite?: ((write: HubWrite) => void) | undefined;
}>;

/** A list of a kind that was asked for in this batch. */
type Room = {
  readonly id: string;
  readonly listing: Promise<void>;
  /** Undefined until it has been read. */
  objects: readonly KubeObject[] | undefined;
  /** What was seen of single objects while it was being read: the list may be older. */
  readonly noted: Map<string, KubeObject>;
};

/**
 * Creates the hub of processes that watch nothing: functions, and workers that are told by another's relay.
 *
 * An object is read from the server each time. The list of a kind is read once for all that work on the same batch, however
 * many ask at once, and whatever is read or written meanwhile takes its place in it: nobody sees a list that is behind
 * his own write.
 */
export function createFreshHub({ client, onWrite }: FreshHubOptions): FreshHub {
  const requests = createHubRequests(client, onWrite);
  const slim = createSlimmer();
  const rooms = new Map<string, Room>();
  /** Lists on their way, of a batch that another has begun beside too: somebody waits for each. */
  const reading = new Set<Room>();

  const note = ({ cluster, kind, name }: ObjectKey, object: KubeObject): KubeObject => {
    const id = roomId(kind, cluster);
    const room = rooms.get(id);
    if (room?.objects !== undefined) room.objects = withObject(room.objects, object);
    for (const each of reading) {
      if (each.id === id && isNewerThan(each.noted.get(name), object)) each.noted.set(name, object);
    }
    return object;
  };

  const openRoom = (kind: ReconciledKind, cluster: string): Room => {
    const id = roomId(kind, cluster);
    const read = async (): Promise<void> => {
      try {
        // Nobody's signal: who waits for it are several, and each of them may leave.
        const { items } = await pageByPage(clientOf(client, cluster), slim).listAll({ type: reconciledTypes[kind] });
        const sorted = items.toSorted((one, other) => order(nameOf(one), nameOf(other)));
        room.objects = [...room.noted.values()].reduce(withObject, sorted);
      } catch (error) {
        if (rooms.get(id) === room) rooms.delete(id); // whoever asks next tries again
        throw troubleOfHub(error);
      } finally {
        reading.delete(room);
      }
    };
    const room: Room = { id, listing: Promise.resolve().then(read), objects: undefined, noted: new Map() };
    rooms.set(id, room);
    reading.add(room);
    return room;
  };

  const write = async (key: ObjectKey, part: HubWrite["part"], patch: MergePatch, signal: AbortSignal) =>
    note(key, await requests.patch(key, part, patch, signal));

  return {
    beginBatch: () => rooms.clear(),
    // The type that callers name is what the kind's schema gives: nothing else gets into a server.
    read: async <T extends KubeObject>(key: ObjectKey, signal: AbortSignal) => {
      const object = await requests.get(key, signal);
      return object === undefined ? undefined : (note(key, object) as T);
    },
    list: async <T extends KubeObject>(kind: ReconciledKind, cluster: string, signal: AbortSignal) => {
      const id = roomId(kind, cluster);
      const room = rooms.get(id) ?? openRoom(kind, cluster);
      await unlessAborted(room.listing, signal);
      // Another batch may have read a newer one meanwhile; who counts by these lists must not go back.
      return (rooms.get(id)?.objects ?? room.objects ?? []) as readonly T[];
    },
    writeStatus: async <T extends KubeObject>(key: ObjectKey, seen: T, status: object, signal: AbortSignal) => {
      const patch = statusPatch(key, seen, status);
      return patch === undefined ? seen : ((await write(key, "status", patch, signal)) as T);
    },
    writeFinalizers: async <T extends KubeObject>(
      key: ObjectKey,
      seen: T,
      finalizers: readonly string[],
      signal: AbortSignal,
    ) => (await write(key, "finalizers", finalizersPatch(key, seen, finalizers), signal)) as T,
    readSecret: requests.readSecret,
  };
}

const roomId = (kind: ReconciledKind, cluster: string): string => `${cluster}|${kind}`;
const nameOf = ({ metadata }: KubeObject): string => metadata.name ?? "";
const order = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);
const isNewerThan = (present: KubeObject | undefined, object: KubeObject): boolean =>
  present === undefined || isNewer(object, present);

/** The list with an object in its place, unless a newer one stands there; the list itself when nothing changes. */
function withObject(objects: readonly KubeObject[], object: KubeObject): readonly KubeObject[] {
  const name = nameOf(object);
  const found = objects.findIndex((present) => nameOf(present) >= name);
  const at = found < 0 ? objects.length : found;
  const present = objects[at];
  if (present === undefined || nameOf(present) !== name) return objects.toSpliced(at, 0, object);
  return isNewer(object, present) ? objects.with(at, object) : objects;
}
