import type { Clock } from "@tmc/kube/clock.ts";
import { compareResourceVersions, isNewer } from "@tmc/kube/informer/resource-version.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import { type ClusterView, readClusterRegistration, type SourceOrigin } from "./cluster.ts";

import { controlPlaneNameOf, readControlPlaneEndpoint, readControlPlaneRegistration } from "./control-plane.ts";
import type { SourceConfig } from "./flags.ts";
import { resolveNames } from "./resolve-names.ts";
import {
  clusterRegistrations,
  controlPlaneEndpoints,
  controlPlaneRegistrations,
  controlPlanes,
  type SourceKind,
  type SourceType,
  syncTargets,
  typesOf,
} from "./source-kinds.ts";
import { readSyncTarget } from "./sync-target.ts";

export type ClusterIndexConfig = Pick<SourceConfig, "sources" | "namespaces" | "template">;

/** Address of a source object; `namespace` is empty for a cluster-scoped object. */
export type SourceAddress = Readonly<{ namespace: string; name: string }>;

/**
 * An index of the clusters of all sources in one logical cluster, fed by watches. It gives the same results as a
 * ClusterRegistry, which reads from the server each time.
 */
export interface ClusterIndex {
  /** The types to watch. */
  readonly types: readonly SourceType[];
  /** Whether each type has been listed at least once. */
  hasSynced(): boolean;
  /**
   * Replaces the objects of a type with a list, with any version, except those that are newer than the list itself: a
   * restored server shows older versions. Objects missing from the list are kept and marked stale: not seen is not gone.
   */
  replace(type: SourceType, objects: readonly KubeObject[], resourceVersion?: string): void;
  /**
   * Stores an object, unless a newer version is stored. Returns the names of the clusters that may have changed.
   * `atRequest`: the object is the answer of a request that was sent when this one was stored; while it still is, the answer
   * wins with any version.
   */
  upsert(type: SourceType, object: KubeObject, atRequest?: KubeObject): readonly string[];
  /** Removes an object that was deleted. Returns the names of the clusters that may have changed. */
  remove(type: SourceType, address: SourceAddress): readonly string[];
  names(): readonly string[];
  /** Returns the current view of a cluster; the same instance until the view changes. */
  find(name: string): ClusterView | undefined;
  /** Returns the source object of a view. */
  objectOf(origin: Pick<SourceOrigin, "source" | "namespace" | "name">): KubeObject | undefined;
  /** Whether the source object of a view was missing from the last list. */
  isStale(origin: Pick<SourceOrigin, "source" | "namespace" | "name">): boolean;
}

type IndexEntry = { object: KubeObject; isStale: boolean };
/** Entries by name, then by namespace. */
type EntriesByName = Map<string, Map<string, IndexEntry>>;

export function createClusterIndex(
  logicalCluster: string,
  { config, clock }: Readonly<{ config: ClusterIndexConfig; clock: Clock }>,
): ClusterIndex {
  const { sources, namespaces, template } = config;
  const types = [...new Set(sources.flatMap((source) => typesOf[source]))];
  const entriesByType = new Map<SourceType, EntriesByName>(types.map((type) => [type, new Map()]));
  const listedTypes = new Set<SourceType>();
  const viewCache = new Map<string, ClusterView>();

  const entriesOf = (type: SourceType): EntriesByName => entriesByType.get(type) ?? new Map();
  const entryAt = (type: SourceType, { namespace, name }: SourceAddress): IndexEntry | undefined =>
    entriesOf(type).get(name)?.get(namespace);
  const objectsNamed = (type: SourceType, name: string): readonly KubeObject[] =>
    [...(entriesOf(type).get(name)?.values() ?? [])].map(({ object }) => object);
  const isInScope = ({ metadata: { namespace } }: KubeObject): boolean =>
    namespace === undefined || namespaces === undefined || namespaces.includes(namespace);

  const store = (
    type: SourceType,
    object: KubeObject,
    mayReplace: (before: KubeObject) => boolean = (before) => isNewer(object, before),
  ): boolean => {
    const { namespace, name } = sourceAddressOf(object);
    const byName = entriesOf(type);
    const before = byName.get(name)?.get(namespace);
    const isAnotherObject = before?.object.metadata.uid !== object.metadata.uid;
    if (before !== undefined && !isAnotherObject && !mayReplace(before.object)) {
      before.isStale = false;
      return false;
    }
    byName.set(name, (byName.get(name) ?? new Map<string, IndexEntry>()).set(namespace, { object, isStale: false }));
    return true;
  };
  /** Invalidates every view that may depend on an object of the type; references between objects are not indexed. */
  const invalidateDependents = (type: SourceType, name: string): readonly string[] => {
    const all = sources.flatMap((source) => {
      const [own, ...referenced] = typesOf[source];
      return own === type ? [name] : referenced.includes(type) ? [...entriesOf(own).keys()] : [];
    });
    for (const each of all) viewCache.delete(each);
    return [...new Set(all)];
  };

  const readViews = (source: SourceKind, name: string): readonly ClusterView[] => {
    const context = { logicalCluster, template, nowMs: clock.now() };
    switch (source) {
      case "clusterregistration":
        // The server validates ClusterRegistrations against our schema.
        return objectsNamed(clusterRegistrations, name).map((object) =>
          readClusterRegistration(object as ClusterRegistration, context),
        );
      case "synctarget":
        return objectsNamed(syncTargets, name).map((object) => readSyncTarget(object, context));
      case "controlplaneendpoint":
        return objectsNamed(controlPlaneEndpoints, name).map((object) => readControlPlaneEndpoint(object, context));
      case "controlplaneregistration":
        return objectsNamed(controlPlaneRegistrations, name).map((registration) =>
          readControlPlaneRegistration(
            {
              registration,
              controlPlane: objectsNamed(controlPlanes, controlPlaneNameOf(registration))[0],
              endpointsOf: (endpoint) => objectsNamed(controlPlaneEndpoints, endpoint),
            },
            context,
          ),
        );
    }
  };

  return {
    types,
    hasSynced: () => listedTypes.size === types.length,
    replace: (type, objects, resourceVersion) => {
      const isListNewer = ({ metadata }: KubeObject): boolean =>
        compareResourceVersions(metadata.resourceVersion, resourceVersion) <= 0;
      const missing = new Set([...entriesOf(type).values()].flatMap((byNamespace) => [...byNamespace.values()]));
      for (const object of objects.filter(isInScope)) {
        const before = entryAt(type, sourceAddressOf(object));
        if (before !== undefined) missing.delete(before);
        store(type, object, resourceVersion === undefined ? undefined : isListNewer);
      }
      for (const entry of missing) entry.isStale = true;
      viewCache.clear();
      listedTypes.add(type);
    },
    upsert: (type, object, atRequest) => {
      const mayReplace = (before: KubeObject): boolean => before === atRequest || isNewer(object, before);
      if (!isInScope(object) || !store(type, object, mayReplace)) return [];
      return invalidateDependents(type, object.metadata.name ?? "");
    },
    remove: (type, { namespace, name }) => {
      const byName = entriesOf(type);
      const byNamespace = byName.get(name);
      if (byNamespace?.delete(namespace) !== true) return [];
      if (byNamespace.size === 0) byName.delete(name);
      return invalidateDependents(type, name);
    },
    names: () => [...new Set(sources.flatMap((source) => [...entriesOf(typesOf[source][0]).keys()]))].toSorted(),
    find: (name) => {
      const before = viewCache.get(name);
      if (before !== undefined && clock.now() < (before.changesAtMs ?? Number.POSITIVE_INFINITY)) return before;
      const { winners } = resolveNames(
        sources.flatMap((source) => readViews(source, name)),
        sources,
      );
      const [winner] = winners;
      if (winner !== undefined) viewCache.set(name, winner);
      return winner;
    },
    objectOf: ({ source, ...address }) => entryAt(typesOf[source][0], address)?.object,
    isStale: ({ source, ...address }) => entryAt(typesOf[source][0], address)?.isStale === true,
  };
}

export function sourceAddressOf({ metadata: { namespace = "", name = "" } }: KubeObject): SourceAddress {
  return { namespace, name };
}
