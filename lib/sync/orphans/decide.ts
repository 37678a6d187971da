import { byKey } from "@tmc/kube/compare.ts";
import { type ClusterRegistration, maxOrphanNames } from "../../api/cluster-registration.ts";
import { group } from "../../api/group.ts";
import type { WorkloadType } from "../../api/workload-kinds.ts";
import type { WorkloadSync } from "../../api/workload-sync.ts";
import { type Condition, type DecidedCondition, withCondition } from "../../model/condition.ts";
import { referenceId } from "../dependencies/references.ts";
import type { Owner } from "../ownership/owner.ts";
import { recordName } from "../ownership/record.ts";

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
export const deleteOrphansAnnotation = `${group}/delete-orphaned-copies`;

/** The condition of a registration about orphaned copies; a registration that never had any does not have it. */
export const orphansCondition = "NoOrphanedCopies";

/** The reasons of the condition and their meaning. */
export const orphanReasons = {
  OrphanedCopies:
    "The cluster has copies of workloads that no longer exist, and no sync record names them: TMC neither updates nor deletes " +
    "them. `tmc orphans` lists them, and deletes them after a confirmation.",
  NoOrphanedCopies: "Every copy on the cluster belongs to a workload or to a sync record.",
} as const;

/**
 * Returns a filter for objects that no sync record accounts for: neither as the copy of its workload nor as a dependency of
 * another workload. Only these can be orphaned.
 */
export function isUnaccountedFor(records: readonly WorkloadSync[]): (object: OwnedObject) => boolean {
  const idIn = (namespace: string | undefined, name: string): string => `${namespace ?? ""}/${name}`;
  const copies = new Set(records.map(({ metadata }) => idIn(metadata.namespace, metadata.name ?? "")));
  const dependencies = new Set(
    records.flatMap(({ metadata, spec }) =>
      (spec.references ?? []).map((reference) => idIn(metadata.namespace, referenceId(reference))),
    ),
  );
  return ({ type: { type }, owner }) =>
    !copies.has(idIn(owner.namespace, recordName({ type, name: owner.name }))) &&
    !dependencies.has(idIn(owner.namespace, referenceId(owner)));
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
        message: "the cluster has copies of workloads that no longer exist; tmc orphans lists them",
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
