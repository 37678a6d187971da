import { byKey } from "@tmc/kube/compare.ts";
import { userAnnotations } from "../../api/annotations.ts";
import { type ClusterRegistration, maxOrphanNames } from "../../api/cluster-registration.ts";
import type { WorkloadType } from "../../api/workload-kinds.ts";
import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import type { WorkloadSync } from "../../api/workload-sync.ts";
import { type Condition, type DecidedCondition, withCondition } from "../../model/condition.ts";
import { decideIntent } from "../decide.ts";
import { referenceId } from "../dependencies/references.ts";
import type { Owner } from "../ownership/owner.ts";
import { recordName, syncFinalizer } from "../ownership/record.ts";
import type { Workload } from "../sync-objects.ts";

/** A downstream object whose label, annotation and namespace say that TMC wrote it for a workload of this tenant. */
export type OwnedObject = Readonly<{
  type: WorkloadType;
  owner: Owner;
  /** The downstream namespace. */
  namespace: string;
  name: string;
  uid: string;
  /** Whether its cluster is deleting it already. */
  isDeleting: boolean;
}>;

type Status = NonNullable<ClusterRegistration["status"]>;

/** The annotation of a registration by which a user confirms that its orphaned copies may be deleted. */
export const deleteOrphansAnnotation = userAnnotations.deleteOrphans.name;

/** The condition of a registration about orphaned copies; a registration that never had any does not have it. */
export const orphansCondition = "NoOrphanedCopies";

/** The reasons of the condition and their meaning. */
export const orphanReasons = {
  OrphanedCopies:
    "The cluster has copies that no sync record accounts for: their workload no longer exists, or it exists but is not placed on " +
    "this cluster. TMC neither updates nor deletes them. `tmc orphans` lists them, and deletes them after a confirmation.",
  NoOrphanedCopies: "A sync record accounts for every copy on the cluster.",
} as const;

/**
 * Returns a filter for objects on the cluster of a registration that no sync record accounts for: neither as the copy of its
 * workload nor as a dependency of another workload there. Only these can be orphaned.
 */
export function isUnaccountedFor(
  records: readonly WorkloadSync[],
  registration: string,
): (object: OwnedObject) => boolean {
  const idIn = (namespace: string | undefined, name: string): string => `${namespace ?? ""}/${name}`;
  const clustersByCopy = new Map(
    records.map((record) => [idIn(record.metadata.namespace, record.metadata.name ?? ""), clustersOf(record)]),
  );
  const clustersByDependency = new Map<string, Set<string>>();
  for (const record of records) {
    for (const reference of record.spec.references ?? []) {
      const id = idIn(record.metadata.namespace, referenceId(reference));
      const clusters = clustersByDependency.get(id) ?? new Set();
      clustersByDependency.set(id, clusters);
      for (const name of clustersOf(record)) clusters.add(name);
    }
  }
  return ({ type: { type }, owner }) => {
    const isNamed = (clusters: ReadonlySet<string> | undefined): boolean =>
      clusters?.has(owner.registration) === true || clusters?.has(registration) === true;
    return (
      !isNamed(clustersByCopy.get(idIn(owner.namespace, recordName({ type, name: owner.name })))) &&
      !isNamed(clustersByDependency.get(idIn(owner.namespace, referenceId(owner))))
    );
  };
}

/** The clusters that a record names: those that may have a copy, and those that may still have its dependencies. */
const clustersOf = ({ spec }: WorkloadSync): ReadonlySet<string> =>
  new Set([...(spec.clusters ?? []), ...(spec.pendingCleanup ?? [])]);

/** The facts about the owner of an object that no sync record in a list accounts for. */
export type OwnerFacts = Readonly<{
  /** As the server has it; undefined when the server has reported that it does not exist. */
  workload: Workload | undefined;
  record: WorkloadSync | undefined;
  /** The placement that governs the workload. */
  placement: WorkloadPlacement | undefined;
  /** The registration whose cluster has the object. */
  registration: string;
  /** Whether a workload whose sync record is not known needs the object as a dependency. */
  mayBeNeeded: boolean;
}>;

/** Decides whether an object is orphaned: its workload is gone, or neither its sync record nor its placement names the cluster. */
export function isOrphaned({ owner }: OwnedObject, facts: OwnerFacts): boolean {
  const { workload, record, placement, registration, mayBeNeeded } = facts;
  const isHere = (name: string): boolean => name === owner.registration || name === registration;
  if (record !== undefined && [...clustersOf(record)].some(isHere)) return false;
  if (workload === undefined) return true;
  // A sync record that was lost is created again from what the clusters have.
  if (record === undefined && workload.metadata.finalizers?.includes(syncFinalizer) === true) return false;
  // A move leaves a claim behind, because it has data.
  if (mayBeNeeded || owner.kind === "PersistentVolumeClaim") return false;
  return !decideIntent({ workload, record, placement, references: [] }).targets.some(isHere);
}

/** Returns the status with the orphaned copies that were found; the same object if nothing differs. */
export function withOrphanedCopies(status: Status, orphans: readonly OwnedObject[], now: string): Status {
  const { orphanedCopies: before, ...rest } = status;
  const names = orphans
    .map(({ owner: { kind, namespace, name } }) => `${kind} ${namespace}/${name}`)
    .toSorted()
    .slice(0, maxOrphanNames);
  const found = orphans.length === 0 ? undefined : { count: orphans.length, names, since: before?.since ?? now };
  const conditions = conditionsAfter(status.conditions ?? [], orphans.length > 0, now);
  const isSame = conditions === (status.conditions ?? conditions) && JSON.stringify(found) === JSON.stringify(before);
  if (isSame) return status;
  return { ...rest, conditions: [...conditions], ...(found === undefined ? {} : { orphanedCopies: found }) };
}

function conditionsAfter(before: readonly Condition[], hasOrphans: boolean, now: string): readonly Condition[] {
  if (!hasOrphans && before.every(({ type }) => type !== orphansCondition)) return before;
  const decided: DecidedCondition = hasOrphans
    ? {
        type: orphansCondition,
        status: "False",
        severity: "Warning",
        reason: "OrphanedCopies",
        message: "the cluster has copies that no sync record accounts for; tmc orphans lists them",
      }
    : { type: orphansCondition, status: "True", reason: "NoOrphanedCopies", message: "" };
  return withCondition(before, decided, now);
}

/** The value of the annotation that confirms the deletion of what a status lists now. */
export function orphanConfirmation({ count, since }: NonNullable<Status["orphanedCopies"]>): string {
  return `${count}@${since}`;
}

/**
 * How many orphaned copies a user has confirmed to delete; 0 without a confirmation. A confirmation names the time at which
 * the first of them was found: it says nothing about copies that are orphaned after these are gone.
 */
export function confirmedOrphans({ metadata, status }: Pick<ClusterRegistration, "metadata" | "status">): number {
  const [count = "", since] = (metadata.annotations?.[deleteOrphansAnnotation] ?? "").split("@");
  if (since === undefined || since !== status?.orphanedCopies?.since || !/^\d{1,9}$/.test(count)) return 0;
  return Number(count);
}

/** The names of the registrations that orphans belong to, for orphans of registrations that may not exist any more. */
export function owningRegistrations(objects: readonly OwnedObject[]): readonly string[] {
  return [...Map.groupBy(objects, ({ owner }) => owner.registration)].toSorted(byKey).map(([name]) => name);
}
