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
  watches: Pick<BirthWatches, "want" | "unwant">,
  types: readonly WorkloadType[],
): BirthAttention {
  /** The names of the registrations whose clusters are watched, by logical cluster. */
  const watched = new Map<string, Set<string>>();
  const leave = (cluster: string, name: string): void => {
    if (watched.get(cluster)?.delete(name) === true) watches.unwant(registrationOf(cluster, name));
    if (watched.get(cluster)?.size === 0) watched.delete(cluster);
  };
  const take = (cluster: string, object: KubeObject): void => {
    const { name = "" } = object.metadata;
    const registration = object as ClusterRegistration & KubeObject; // the server holds it to the kind's schema
    // A relay keeps of a spec what it looks at, and of most of them nothing.
    const { optIns } = object.spec === undefined ? { optIns: [] } : optInsOf(registration, types);
    if (optIns.length === 0 || !isReady(registration)) {
      leave(cluster, name);
      return;
    }
    watched.set(cluster, (watched.get(cluster) ?? new Set()).add(name));
    watches.want(registrationOf(cluster, name), optIns);
  };
  return {
    listed: (kind, cluster, objects) => {
      if (kind !== "ClusterRegistration") return;
      for (const object of objects) take(cluster, object);
      const names = new Set(objects.map(({ metadata }) => metadata.name ?? ""));
      for (const name of [...(watched.get(cluster) ?? [])]) if (!names.has(name)) leave(cluster, name);
    },
    changed: (kind, cluster, object) => {
      if (kind === "ClusterRegistration") take(cluster, object);
    },
    deleted: (kind, cluster, { metadata }) => {
      if (kind === "ClusterRegistration") leave(cluster, metadata.name ?? "");
    },
    released: (cluster) => {
      for (const name of [...(watched.get(cluster) ?? [])]) leave(cluster, name);
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

const registrationOf = (cluster: string, name: string): ObjectKey => ({ cluster, kind: "ClusterRegistration", name });
