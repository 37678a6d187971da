import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { addressOf, type Roster } from "../sources/cluster-index.ts";
import { asForeignObject } from "../sources/foreign-object.ts";
import type { ReadType } from "../sources/source-kinds.ts";
import { type Follower, type Following, type FollowOptions, follow } from "./follow.ts";
import type { Watched } from "./listener.ts";

/** How the watches of types that make clusters known are called. */
const watchedAs: Readonly<Record<string, Watched>> = {
  clusterregistrations: "ClusterRegistration",
  synctargets: "SyncTarget",
  controlplanes: "ControlPlane",
  controlplaneendpoints: "ControlPlaneEndpoint",
  controlplaneregistrations: "ControlPlaneRegistration",
};

/** Tells a follower of the clusters that a roster knows. */
export interface ClusterTeller {
  listed(type: ReadType, objects: readonly KubeObject[]): void;
  changed(type: ReadType, object: KubeObject): void;
  /** The object is known to be gone. */
  deleted(type: ReadType, object: KubeObject): void;
}

/**
 * Creates what makes one collection of clusters of the objects of several types. Nothing is told before each of them has been
 * listed: who decided earlier would take clusters for missing that were only not seen.
 */
export function createClusterTeller(roster: Roster, follower: Follower): ClusterTeller {
  const told = new Map<string, KubeObject>();
  let lists = 0;

  const present = (name: string): KubeObject | undefined => {
    const reading = roster.find(name);
    if (reading === undefined) return undefined;
    const object = roster.objectOf(reading.origin);
    if (object === undefined) return undefined;
    return reading.origin.source === "clusterregistration"
      ? reading.registration
      : asForeignObject(reading, object, undefined);
  };
  /** The cluster of a name as it is now. When another object is the cluster, the one before has gone first. */
  const settle = (name: string): KubeObject | undefined => {
    const before = told.get(name);
    const now = present(name);
    // The other may be the older one: versions of two objects say nothing of each other.
    if (before !== undefined && before.metadata.uid !== now?.metadata.uid) {
      told.delete(name);
      follower.deleted(before);
    }
    if (now !== undefined) told.set(name, now);
    return now;
  };
  const tell = (name: string): void => {
    if (!roster.isWhole()) return;
    const now = settle(name);
    if (now !== undefined) follower.changed(now);
  };

  return {
    listed: (type, objects) => {
      roster.takeList(type, objects);
      if (!roster.isWhole()) return;
      const seen = roster.names().filter((name) => {
        const origin = roster.find(name)?.origin;
        return origin !== undefined && !roster.isDoubted(origin);
      });
      lists += 1;
      follower.listed(
        seen.flatMap((name) => settle(name) ?? []),
        lists,
      );
    },
    changed: (type, object) => {
      for (const name of roster.take(type, object)) tell(name);
    },
    deleted: (type, object) => {
      for (const name of roster.lose(type, addressOf(object))) tell(name);
    },
  };
}

/** Follows all types that a roster is made of. */
export function followClusters(
  roster: Roster,
  teller: ClusterTeller,
  options: Omit<FollowOptions, "type" | "what">,
): readonly Following[] {
  return roster.types.map((type) => {
    const { maybeNamespaced: _, ...watched } = type;
    return follow(
      { ...options, type: watched, what: watchedAs[type.plural] ?? "ClusterRegistration" },
      {
        listed: (objects) => teller.listed(type, objects),
        changed: (object) => teller.changed(type, object),
        deleted: (object) => teller.deleted(type, object),
      },
    );
  });
}
