import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../../api/cluster-registration.ts";
import type { WorkloadType } from "../../api/workload-kinds.ts";
import type { UpsyncWatches } from "../../downstream/upsync-watch.ts";
import type { ObjectKey } from "../../model/key.ts";
import { isReady, optInsOf } from "../../upsync/opt-in.ts";
import type { RelayListener } from "../listener.ts";

/** Subscribes to watches of upsynced types on target clusters, by what registrations opt in to. */
export type UpsyncSubscriptions = Required<Pick<RelayListener, "listed" | "changed" | "deleted" | "released">>;

/** Creates subscriptions for no registration yet. A cluster is watched while it is Ready and opts in to a type. */
export function createUpsyncSubscriptions(
  watches: Pick<UpsyncWatches, "subscribe" | "unsubscribe">,
  types: readonly WorkloadType[],
): UpsyncSubscriptions {
  /** The names of the registrations whose clusters are watched, by logical cluster. */
  const watched = new Map<string, Set<string>>();
  const unsubscribe = (logicalCluster: string, name: string): void => {
    if (watched.get(logicalCluster)?.delete(name) === true) watches.unsubscribe(registrationOf(logicalCluster, name));
    if (watched.get(logicalCluster)?.size === 0) watched.delete(logicalCluster);
  };
  const applyRegistration = (logicalCluster: string, object: KubeObject): void => {
    const { name = "" } = object.metadata;
    const registration = object as ClusterRegistration & KubeObject; // the server validates it against the kind's schema
    // The relay's projection drops the spec of a registration that has none of the fields that it reads.
    const { optIns } = object.spec === undefined ? { optIns: [] } : optInsOf(registration, types);
    if (optIns.length === 0 || !isReady(registration)) {
      unsubscribe(logicalCluster, name);
      return;
    }
    watched.set(logicalCluster, (watched.get(logicalCluster) ?? new Set()).add(name));
    watches.subscribe(registrationOf(logicalCluster, name), optIns);
  };
  return {
    listed: (kind, logicalCluster, objects) => {
      if (kind !== "ClusterRegistration") return;
      for (const object of objects) applyRegistration(logicalCluster, object);
      const names = new Set(objects.map(({ metadata }) => metadata.name ?? ""));
      for (const name of [...(watched.get(logicalCluster) ?? [])])
        if (!names.has(name)) unsubscribe(logicalCluster, name);
    },
    changed: (kind, logicalCluster, object) => {
      if (kind === "ClusterRegistration") applyRegistration(logicalCluster, object);
    },
    deleted: (kind, logicalCluster, { metadata }) => {
      if (kind === "ClusterRegistration") unsubscribe(logicalCluster, metadata.name ?? "");
    },
    released: (logicalCluster) => {
      for (const name of [...(watched.get(logicalCluster) ?? [])]) unsubscribe(logicalCluster, name);
    },
  };
}

/** Returns a listener that calls both, the first one first. */
export function combineListeners(first: RelayListener, then: UpsyncSubscriptions): RelayListener {
  return {
    ...first,
    listed: (...args) => {
      first.listed?.(...args);
      then.listed(...args);
    },
    changed: (...args) => {
      first.changed?.(...args);
      then.changed(...args);
    },
    deleted: (...args) => {
      first.deleted?.(...args);
      then.deleted(...args);
    },
    released: (...args) => {
      first.released?.(...args);
      then.released(...args);
    },
  };
}

const registrationOf = (logicalCluster: string, name: string): ObjectKey => ({
  logicalCluster,
  kind: "ClusterRegistration",
  name,
});
