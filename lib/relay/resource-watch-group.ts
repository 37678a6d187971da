import type { Clock } from "@tmc/kube/clock.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { clusterOf } from "../upstream/logical-cluster.ts";
import type { Follower, Following } from "./follow.ts";
import { createPacedRelist } from "./relist-schedule.ts";

/** What is known of one logical cluster, by the collections that it is in. */
export interface LaneBook<Id extends string> {
  takeList(lane: Id, objects: readonly KubeObject[]): void;
  /** The type is not there to be listed. */
  takeAbsent?(lane: Id): void;
  takeChanged(lane: Id, object: KubeObject): void;
  takeDeleted(lane: Id, object: KubeObject): void;
}

/** Collections of all tenants behind one endpoint, each listed and watched once however many tenants there are. */
export interface LaneGroup<Id extends string> {
  /** Begins to look after a tenant; with the first of them the watches begin. */
  engage(logicalCluster: string, book: LaneBook<Id>): void;
  /** With the last of them the watches end. */
  release(logicalCluster: string): void;
  /** Has everything listed again soon, once for all who ask. */
  relist(): void;
  stop(): Promise<void>;
}

export type LaneGroupOptions<Id extends string> = Readonly<{
  ids: readonly Id[];
  /** Begins to follow a collection of all tenants. */
  follow: (id: Id, follower: Required<Follower>) => Following;
  clock: Clock;
}>;

/** A tenant's book, and for each collection the number of lists that had begun when it came: what they read may lack it. */
type Engaged<Id extends string> = Readonly<{ book: LaneBook<Id>; since: ReadonlyMap<Id, number> }>;

/** Creates a group without tenants; nothing is watched before there is one, for a type that nobody has is not served. */
export function createLaneGroup<Id extends string>({ ids, follow, clock }: LaneGroupOptions<Id>): LaneGroup<Id> {
  const engaged = new Map<string, Engaged<Id>>();
  const ending = new Set<Promise<void>>();
  let lanes: ReadonlyMap<Id, Following> | undefined;
  let stopped = false;
  /** The collections that are still to come of the list that is under way. */
  const toCome = new Set<Id>();
  /**
   * All of them again: a watch that began before anybody served its type may stay silent for ever, and what a new tenant had
   * before it came was passed over.
   */
  const relists = createPacedRelist({
    clock,
    relist: () => {
      for (const id of ids) {
        toCome.add(id);
        lanes?.get(id)?.relist();
      }
    },
  });

  const followerOf = (id: Id, isCurrent: () => boolean): Required<Follower> => {
    const bookOf = (object: KubeObject): LaneBook<Id> | undefined =>
      isCurrent() ? engaged.get(clusterOf(object))?.book : undefined;
    const arrived = (): void => {
      toCome.delete(id);
      if (toCome.size === 0) relists.done();
    };
    const each = (list: number, take: (logicalCluster: string, book: LaneBook<Id>) => void): void => {
      for (const [logicalCluster, { book, since }] of engaged)
        if ((since.get(id) ?? 0) < list) take(logicalCluster, book);
    };
    return {
      listed: (objects, list) => {
        if (!isCurrent()) return;
        arrived();
        const byCluster = Map.groupBy(objects, clusterOf);
        each(list, (logicalCluster, book) => book.takeList(id, byCluster.get(logicalCluster) ?? []));
      },
      absent: (list) => {
        if (!isCurrent()) return;
        arrived();
        each(list, (_cluster, book) => book.takeAbsent?.(id));
      },
      changed: (object) => bookOf(object)?.takeChanged(id, object),
      deleted: (object) => bookOf(object)?.takeDeleted(id, object),
    };
  };

  const begin = (): void => {
    if (stopped || lanes !== undefined || engaged.size === 0) return;
    for (const id of ids) toCome.add(id);
    relists.begun();
    let begun: ReadonlyMap<Id, Following> | undefined;
    /** Those that were ended may still have something to tell. */
    const isCurrent = (): boolean => begun !== undefined && lanes === begun;
    begun = new Map(ids.map((id) => [id, follow(id, followerOf(id, isCurrent))]));
    lanes = begun;
  };
  const end = (): void => {
    relists.stop();
    for (const lane of lanes?.values() ?? []) {
      const ended = lane.stop().finally(() => ending.delete(ended));
      ending.add(ended);
    }
    lanes = undefined;
  };

  return {
    engage: (logicalCluster, book) => {
      if (stopped) return;
      engaged.set(logicalCluster, { book, since: new Map(ids.map((id) => [id, lanes?.get(id)?.listsBegun ?? 0])) });
      if (lanes !== undefined) relists.want();
      // Once for all that come together.
      else if (engaged.size === 1) queueMicrotask(begin);
    },
    release: (logicalCluster) => {
      engaged.delete(logicalCluster);
      if (engaged.size === 0) end();
    },
    relist: () => {
      if (lanes !== undefined) relists.want();
    },
    stop: async () => {
      stopped = true;
      end();
      await Promise.all(ending);
    },
  };
}
