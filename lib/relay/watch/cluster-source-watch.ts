import type { Informer } from "@tmc/kube/informer/informer.ts";
import { compareResourceVersions } from "@tmc/kube/informer/resource-version.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { type ClusterIndex, sourceAddressOf } from "../../sources/cluster-index.ts";
import { asExternalObject } from "../../sources/external-object.ts";
import type { SourceType } from "../../sources/source-kinds.ts";
import type { Watched } from "../listener.ts";
import { type ResourceHandler, type ResourceInformerOptions, startResourceInformer } from "./resource-informer.ts";

/** The names of the watches of types that stand for clusters, by plural. */
const watchedAs: Readonly<Record<string, Watched>> = {
  clusterregistrations: "ClusterRegistration",
  synctargets: "SyncTarget",
  controlplanes: "ControlPlane",
  controlplaneendpoints: "ControlPlaneEndpoint",
  controlplaneregistrations: "ControlPlaneRegistration",
};

/** Merges the objects of several types into one collection of clusters, and reports that to a handler. */
export interface ClusterSourceFeed {
  listed(type: SourceType, objects: readonly KubeObject[], resourceVersion?: string): void;
  /** `atRequest`: the object that was known when the request was sent that `object` answers (`ClusterIndex.upsert`). */
  changed(type: SourceType, object: KubeObject, atRequest?: KubeObject): void;
  /** A watch reported the deletion of the object. */
  deleted(type: SourceType, object: KubeObject): void;
}

/**
 * Creates a feed. It reports nothing before each type has been listed: a placement that is decided earlier would take
 * unlisted clusters for missing ones.
 */
export function createClusterSourceFeed(index: ClusterIndex, handler: ResourceHandler): ClusterSourceFeed {
  const reported = new Map<string, KubeObject>();
  let lists = 0;

  const objectOf = (name: string): KubeObject | undefined => {
    const reading = index.find(name);
    const object = reading && index.objectOf(reading.origin);
    if (reading === undefined || object === undefined) return undefined;
    return reading.origin.source === "clusterregistration"
      ? reading.registration
      : asExternalObject(reading, object, undefined);
  };
  /** The current object of a name. If another object has taken the name, the old one is reported as deleted first. */
  const refresh = (name: string): KubeObject | undefined => {
    const before = reported.get(name);
    const now = objectOf(name);
    // The new object may be the older one: versions of two objects cannot be compared, and a restored server goes back.
    const isOther = now === undefined || before?.metadata.uid !== now.metadata.uid;
    if (before !== undefined && (isOther || isOlder(now, before))) {
      reported.delete(name);
      handler.deleted(before);
    }
    if (now !== undefined) reported.set(name, now);
    return now;
  };
  const report = (name: string): void => {
    if (!index.hasSynced()) return;
    const now = refresh(name);
    if (now !== undefined) handler.changed(now);
  };

  return {
    listed: (type, objects, resourceVersion) => {
      index.replace(type, objects, resourceVersion);
      if (!index.hasSynced()) return;
      const names = index.names().filter((name) => {
        const origin = index.find(name)?.origin;
        return origin !== undefined && !index.isStale(origin);
      });
      lists += 1;
      // The list combines several types, so it has no resourceVersion of its own.
      handler.listed(
        names.flatMap((name) => refresh(name) ?? []),
        { number: lists, resourceVersion: undefined },
      );
    },
    changed: (type, object, atRequest) => {
      for (const name of index.upsert(type, object, atRequest)) report(name);
    },
    deleted: (type, object) => {
      for (const name of index.remove(type, sourceAddressOf(object))) report(name);
    },
  };
}

const isOlder = (object: KubeObject, other: KubeObject): boolean =>
  compareResourceVersions(object.metadata.resourceVersion, other.metadata.resourceVersion) < 0;

/** Starts the informers of all types of an index. */
export function watchClusterSources(
  index: ClusterIndex,
  feed: ClusterSourceFeed,
  options: Omit<ResourceInformerOptions, "type" | "what">,
): readonly Informer[] {
  return index.types.map((type) => {
    const { maybeNamespaced: _, ...watched } = type;
    return startResourceInformer(
      { ...options, type: watched, what: watchedAs[type.plural] ?? "ClusterRegistration" },
      {
        listed: (objects, { resourceVersion }) => feed.listed(type, objects, resourceVersion),
        changed: (object) => feed.changed(type, object),
        deleted: (object) => feed.deleted(type, object),
      },
    );
  });
}
