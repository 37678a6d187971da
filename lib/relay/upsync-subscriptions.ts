import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import type { WorkloadType } from "../api/workload-kinds.ts";
import type { BirthWatches } from "../downstream/upsync-watch.ts";
import type { ObjectKey } from "../model/key.ts";
import { isReady, optInsOf } from "../upsync/opt-in.ts";
import type { RelayListener } from "./listener.ts";

/** Follows registrations, and has watched on each cluster what it opts in to. */
export type BirthAttention = Required<Pick<RelayListener, "listed" | "changed" | "deleted" | "released">>;

/** Creates what follows registrations. A cluster is watched while it is heard from and opts in to something. */
export function createBirthAttention(
  watches: Pick<BirthWatches, "subscribe" | "unsubscribe">,
  types: readonly WorkloadType[],
): BirthAttention {
  /** The names of the registrations whose clusters are watched, by logical cluster. */
  const watched = new Map<string, Set<string>>();
  const leave = (logicalCluster: string, name: string): void => {
    if (watched.get(logicalCluster)?.delete(name) === true) watches.unsubscribe(registrationOf(logicalCluster, name));
    if (watched.get(logicalCluster)?.size === 0) watched.delete(logicalCluster);
  };
  const take = (logicalCluster: string, object: KubeObject): void => {
    const { name = "" } = object.metadata;
    const registration = object as ClusterRegistration & KubeObject; // the server holds it to the kind's schema
    // A relay keeps of a spec what it looks at, and of most of them nothing.
    const { optIns } = object.spec === undefined ? { optIns: [] } : optInsOf(registration, types);
    if (optIns.length === 0 || !isReady(registration)) {
      leave(logicalCluster, name);
      return;
    }
    watched.set(logicalCluster, (watched.get(logicalCluster) ?? new Set()).add(name));
    watches.subscribe(registrationOf(logicalCluster, name), optIns);
  };
  return {
    listed: (kind, logicalCluster, objects) => {
      if (kind !== "ClusterRegistration") return;
      for (const object of objects) take(logicalCluster, object);
      const names = new Set(objects.map(({ metadata }) => metadata.name ?? ""));
      for (const name of [...(watched.get(logicalCluster) ?? [])]) if (!names.has(name)) leave(logicalCluster, name);
    },
    changed: (kind, logicalCluster, object) => {
      if (kind === "ClusterRegistration") take(logicalCluster, object);
    },
    deleted: (kind, logicalCluster, { metadata }) => {
      if (kind === "ClusterRegistration") leave(logicalCluster, metadata.name ?? "");
    },
    released: (logicalCluster) => {
      for (const name of [...(watched.get(logicalCluster) ?? [])]) leave(logicalCluster, name);
    },
  };
}

/** Has two hear what a relay sees, the first one first. */
export function bothHear(first: RelayListener, then: BirthAttention): RelayListener {
  return {
    ...first,
    listed: (...heard) => {
      first.listed?.(...heard);
      then.listed(...heard);
    },
    changed: (...heard) => {
      first.changed?.(...heard);
      then.changed(...heard);
    },
    deleted: (...heard) => {
      first.deleted?.(...heard);
      then.deleted(...heard);
    },
    released: (...heard) => {
      first.released?.(...heard);
      then.released(...heard);
    },
  };
}

const registrationOf = (logicalCluster: string, name: string): ObjectKey => ({
  logicalCluster,
  kind: "ClusterRegistration",
  name,
});
