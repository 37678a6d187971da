import type { Clock } from "@tmc/kube/clock.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { isNewer } from "@tmc/kube/resource-version.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import { type Origin, type Reading, readClusterRegistration } from "./cluster.ts";

import { controlPlaneNameOf, readControlPlaneEndpoint, readControlPlaneRegistration } from "./control-plane.ts";
import type { SourceConfig } from "./flags.ts";
import { settleNames } from "./resolve-names.ts";
import {
  clusterRegistrations,
  controlPlaneEndpoints,
  controlPlaneRegistrations,
  controlPlanes,
  type ReadType,
  type SourceKind,
  syncTargets,
  typesOf,
} from "./source-kinds.ts";
import { readSyncTarget } from "./sync-target.ts";

/** The part of the options that says what counts as a cluster. */
export type RosterConfig = Pick<SourceConfig, "sources" | "namespaces" | "template">;

/** Where an object of a source is. */
export type SourceAddress = Readonly<{ namespace: string; name: string }>;

/**
 * The objects of all sources in one logical cluster, as watches tell of them. A registry asks the server each time; here the
 * same answers come from what was seen.
 */
export interface Roster {
  /** The types that have to be watched. */
  readonly types: readonly ReadType[];
  /** Whether each of them has been listed once. */
  isWhole(): boolean;
  /** Takes a whole list. What it no longer names stays, in doubt: not seen is not gone. */
  takeList(type: ReadType, objects: readonly KubeObject[]): void;
  /** Takes one object; the answer names the clusters that may be others now. An older one changes nothing. */
  take(type: ReadType, object: KubeObject): readonly string[];
  /** Lets go of one that is known to be gone; likewise. */
  lose(type: ReadType, address: SourceAddress): readonly string[];
  /** The names of all clusters. */
  names(): readonly string[];
  /** What makes the cluster of a name known, as of now, the same object until it is another; undefined for none. */
  find(name: string): Reading | undefined;
  /** The object that a reading is of. */
  objectOf(origin: Pick<Origin, "source" | "namespace" | "name">): KubeObject | undefined;
  /** Whether a list has left out the object that a reading is of since it was last seen. */
  isDoubted(origin: Pick<Origin, "source" | "namespace" | "name">): boolean;
}

type Held = { object: KubeObject; isDoubted: boolean };
/** By name and then by namespace. */
type Shelf = Map<string, Map<string, Held>>;

/** Creates a roster in which nothing is known. */
export function createRoster(
  cluster: string,
  { config, clock }: Readonly<{ config: RosterConfig; clock: Clock }>,
): Roster {
  const { sources, namespaces, template } = config;
  const types = [...new Set(sources.flatMap((source) => typesOf[source]))];
  const shelves = new Map<ReadType, Shelf>(types.map((type) => [type, new Map()]));
  const listed = new Set<ReadType>();
  const known = new Map<string, Reading>();

  const shelfOf = (type: ReadType): Shelf => shelves.get(type) ?? new Map();
  const heldAt = (type: ReadType, { namespace, name }: SourceAddress): Held | undefined =>
    shelfOf(type).get(name)?.get(namespace);
  const named = (type: ReadType, name: string): readonly KubeObject[] =>
    [...(shelfOf(type).get(name)?.values() ?? [])].map(({ object }) => object);
  const isInScope = ({ metadata: { namespace } }: KubeObject): boolean =>
    namespace === undefined || namespaces === undefined || namespaces.includes(namespace);

  const put = (type: ReadType, object: KubeObject): boolean => {
    const { namespace, name } = addressOf(object);
    const shelf = shelfOf(type);
    const before = shelf.get(name)?.get(namespace);
    const isOther = before?.object.metadata.uid !== object.metadata.uid;
    if (before !== undefined && !isOther && !isNewer(object, before.object)) {
      before.isDoubted = false;
      return false;
    }
    shelf.set(name, (shelf.get(name) ?? new Map<string, Held>()).set(namespace, { object, isDoubted: false }));
    return true;
  };
  /** Whatever refers to an object of the type may be another cluster now; who refers to which is not kept. */
  const forgetConcerned = (type: ReadType, name: string): readonly string[] => {
    const all = sources.flatMap((source) => {
      const [own, ...referred] = typesOf[source];
      return own === type ? [name] : referred.includes(type) ? [...shelfOf(own).keys()] : [];
    });
    for (const each of all) known.delete(each);
    return [...new Set(all)];
  };

  const readings = (source: SourceKind, name: string): readonly Reading[] => {
    const context = { cluster, template, nowMs: clock.now() };
    switch (source) {
      case "clusterregistration":
        // Nothing that does not follow our own schema gets into a server.
        return named(clusterRegistrations, name).map((object) =>
          readClusterRegistration(object as ClusterRegistration, context),
        );
      case "synctarget":
        return named(syncTargets, name).map((object) => readSyncTarget(object, context));
      case "controlplaneendpoint":
        return named(controlPlaneEndpoints, name).map((object) => readControlPlaneEndpoint(object, context));
      case "controlplaneregistration":
        return named(controlPlaneRegistrations, name).map((registration) =>
          readControlPlaneRegistration(
            {
              registration,
              controlPlane: named(controlPlanes, controlPlaneNameOf(registration))[0],
              endpointsOf: (endpoint) => named(controlPlaneEndpoints, endpoint),
            },
            context,
          ),
        );
    }
  };

  return {
    types,
    isWhole: () => listed.size === types.length,
    takeList: (type, objects) => {
      const missing = new Set([...shelfOf(type).values()].flatMap((shelf) => [...shelf.values()]));
      for (const object of objects.filter(isInScope)) {
        const before = heldAt(type, addressOf(object));
        if (before !== undefined) missing.delete(before);
        put(type, object);
      }
      for (const held of missing) held.isDoubted = true;
      known.clear();
      listed.add(type);
    },
    take: (type, object) => {
      if (!isInScope(object) || !put(type, object)) return [];
      return forgetConcerned(type, object.metadata.name ?? "");
    },
    lose: (type, { namespace, name }) => {
      const shelf = shelfOf(type);
      const rest = shelf.get(name);
      if (rest?.delete(namespace) !== true) return [];
      if (rest.size === 0) shelf.delete(name);
      return forgetConcerned(type, name);
    },
    names: () => [...new Set(sources.flatMap((source) => [...shelfOf(typesOf[source][0]).keys()]))].toSorted(),
    find: (name) => {
      const before = known.get(name);
      if (before !== undefined && clock.now() < (before.changesAtMs ?? Number.POSITIVE_INFINITY)) return before;
      const { winners } = settleNames(
        sources.flatMap((source) => readings(source, name)),
        sources,
      );
      const [winner] = winners;
      if (winner !== undefined) known.set(name, winner);
      return winner;
    },
    objectOf: ({ source, ...address }) => heldAt(typesOf[source][0], address)?.object,
    isDoubted: ({ source, ...address }) => heldAt(typesOf[source][0], address)?.isDoubted === true,
  };
}

/** Where an object is. */
export function addressOf({ metadata: { namespace = "", name = "" } }: KubeObject): SourceAddress {
  return { namespace, name };
}
