import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../../api/cluster-registration.ts";
import type { WorkloadType } from "../../api/workload-kinds.ts";
import type { UpsyncWatches } from "../../downstream/upsync-watch.ts";
import { formatKey, type ObjectKey } from "../../model/key.ts";
import { isReady, optInsOf } from "../../upsync/opt-in.ts";
import type { RelayListener } from "../listener.ts";

/** The part of a relay's listener that gets registrations. */
export type RegistrationListener = Required<Pick<RelayListener, "listed" | "changed" | "deleted" | "released">>;

/**
 * Creates a listener that subscribes to watches of upsynced types on target clusters, by what registrations opt in to. A
 * cluster is watched while it is Ready and opts in to a type.
 */
export function createUpsyncSubscriptions(
  watches: Pick<UpsyncWatches, "subscribe" | "unsubscribe">,
  types: readonly WorkloadType[],
): RegistrationListener {
  const watched = new Set<string>();
  const unsubscribe = (registration: ObjectKey): void => {
    if (watched.delete(formatKey(registration))) watches.unsubscribe(registration);
  };
  return createRegistrationListener({
    apply: (key, object) => {
      const registration = object as ClusterRegistration & KubeObject; // the server validates it against the kind's schema
      // The relay's projection drops the spec of a registration that has none of the fields that it reads.
      const { optIns } = object.spec === undefined ? { optIns: [] } : optInsOf(registration, types);
      if (optIns.length === 0 || !isReady(registration)) {
        unsubscribe(key);
        return;
      }
      watched.add(formatKey(key));
      watches.subscribe(key, optIns);
    },
    forget: unsubscribe,
  });
}

/**
 * Creates a listener that ends the watches of copies on clusters that are not Ready or have no registration. A process that
 * probes all clusters itself needs none; another one learns only from the registration that a cluster is not Ready.
 */
export function createUnreadyListener(unsubscribe: (registration: ObjectKey) => void): RegistrationListener {
  return createRegistrationListener({
    apply: (key, object) => {
      // The server validates it against the kind's schema.
      if (!isReady(object as ClusterRegistration & KubeObject)) unsubscribe(key);
    },
    forget: unsubscribe,
  });
}

/** Creates a listener that calls `apply` for each registration that is listed or changed, and `forget` for one that is gone. */
function createRegistrationListener({
  apply,
  forget,
}: Readonly<{
  apply: (registration: ObjectKey, object: KubeObject) => void;
  forget: (registration: ObjectKey) => void;
}>): RegistrationListener {
  /** The names of the registrations, by logical cluster. */
  const known = new Map<string, Set<string>>();
  const applyObject = (logicalCluster: string, object: KubeObject): void => {
    const { name = "" } = object.metadata;
    known.set(logicalCluster, (known.get(logicalCluster) ?? new Set()).add(name));
    apply(registrationOf(logicalCluster, name), object);
  };
  const forgetName = (logicalCluster: string, name: string): void => {
    const names = known.get(logicalCluster);
    if (names?.delete(name) !== true) return;
    if (names.size === 0) known.delete(logicalCluster);
    forget(registrationOf(logicalCluster, name));
  };
  return {
    listed: (kind, logicalCluster, objects) => {
      if (kind !== "ClusterRegistration") return;
      for (const object of objects) applyObject(logicalCluster, object);
      const names = new Set(objects.map(({ metadata }) => metadata.name ?? ""));
      for (const name of [...(known.get(logicalCluster) ?? [])]) if (!names.has(name)) forgetName(logicalCluster, name);
    },
    changed: (kind, logicalCluster, object) => {
      if (kind === "ClusterRegistration") applyObject(logicalCluster, object);
    },
    deleted: (kind, logicalCluster, { metadata }) => {
      if (kind === "ClusterRegistration") forgetName(logicalCluster, metadata.name ?? "");
    },
    released: (logicalCluster) => {
      for (const name of [...(known.get(logicalCluster) ?? [])]) forgetName(logicalCluster, name);
    },
  };
}

/** Returns a listener that calls both, the first one first. */
export function combineListeners(first: RelayListener, then: RegistrationListener): RelayListener {
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
