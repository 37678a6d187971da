import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { WorkloadPlacement } from "../../lib/api/workload-placement.ts";
import type { WorkloadSync } from "../../lib/api/workload-sync.ts";
import { controlsOf } from "../../lib/sync/control-annotations.ts";
import { referencesOf } from "../../lib/sync/dependencies/references.ts";
import { holdId } from "../../lib/sync/eviction/deletion-guard.ts";
import { claimsOf } from "../../lib/sync/eviction/volumes.ts";
import { syncFinalizer } from "../../lib/sync/ownership/record.ts";
import { namespaceFor } from "./copies.ts";
import { type GuardLimits, whyGuarded } from "./guard-law.ts";
import {
  aliveOf,
  isClaimedKind,
  mayDependOnNamespace,
  readyReplicasOf,
  replicasOf,
  selects,
  targetsOf,
  type ViewedObject,
  type WorkloadView,
} from "./workload-view.ts";

/** The clusters that are read right before a copy is evicted; `replacement.ts` reads no more than these. */
const mostConfirmed = 8;

type Eviction = Readonly<{ view: WorkloadView; workload: ViewedObject; registration: string }>;

/**
 * Why the copy of a workload must not be deleted by its own reconcile; undefined if something that was delivered to the
 * process is a reason. What is so in kcp meanwhile does not matter: a request may be decided on what was true a moment ago.
 */
export function whyNotEvicted(eviction: Eviction, limits: GuardLimits): string | undefined {
  const { view, workload, registration } = eviction;
  const versions = view.workload(workload);
  const records = view.record(workload);
  const isDeleted =
    versions.some((each) => each?.metadata.deletionTimestamp !== undefined) ||
    (view.isGone(workload) &&
      (isClaimedKind(workload.kind) || records.some((record) => record?.spec.deleted === true)));
  const why = isDeleted ? undefined : whyUndecided(eviction, limits);
  if (why !== undefined) return why;
  const lastSeen = view.copySince(workload, registration, "read").at(-1)?.object;
  const isOurs = lastSeen !== undefined && view.isOwn(lastSeen, registration);
  return isOurs ? undefined : "its cluster did not show it to be ours in this run";
}

/** Why the copy of a workload that is not deleted must stay. */
function whyUndecided(eviction: Eviction, limits: GuardLimits): string | undefined {
  const { view, workload, registration } = eviction;
  const records = view.record(workload);
  if (!records.some((record) => record?.spec.clusters?.includes(registration))) return "no record names its cluster";
  if (isConfirmed(eviction)) return undefined;
  const alive = aliveOf(view.workload(workload));
  if (alive.length === 0) return "nobody has seen its workload being deleted";
  const free = alive.filter((each) => controlsOf(each).syncBlocker === undefined);
  if (free.length === 0) return "its workload is paused";
  if (!records.some((record) => record !== undefined && record.spec.deletionPolicy !== "Orphan")) {
    return "its record says that copies are orphaned";
  }
  const reasons = free.map((each) => whyStays(eviction, each));
  if (!reasons.includes(undefined)) return reasons[0];
  return whyGuarded(view, { workload, registration, limits });
}

function isConfirmed({ view, workload, registration }: Eviction): boolean {
  const records = view.record(workload);
  const ids = new Set(records.map((record) => holdId(record, registration)));
  const confirmed = [...view.workload(workload), ...records].flatMap((each) => [...controlsOf(each).confirmedHolds]);
  return confirmed.some((id) => ids.has(id));
}

/** Why a workload keeps its copy on a cluster; undefined if it has lost its placement, or is ready where it belongs. */
function whyStays({ view, workload, registration }: Eviction, version: KubeObject): string | undefined {
  if (isUnplaced(view, workload, version)) return undefined;
  const moves = movesOf(view, version, registration);
  if (moves.length === 0) return "it has been wanted there for as long as this run of the work lasts";
  const replaced = moves.some((targets) =>
    targets
      .toSorted()
      .slice(0, mostConfirmed)
      .every((target) => wasSeenReady(view, workload, target)),
  );
  return replaced ? undefined : "no cluster has shown in this run that the workload is ready where it moves to";
}

/** Whether, by what was delivered, no placement selects a workload. The recorded one must have been heard of. */
function isUnplaced(view: WorkloadView, workload: ViewedObject, version: KubeObject): boolean {
  const mayBeUnselected = (versions: readonly (WorkloadPlacement | undefined)[], isRecorded: boolean): boolean =>
    versions.some((placement) => selects(placement, version) === false || mayDependOnNamespace(placement)) ||
    (!isRecorded && versions.some((placement) => selects(placement, version) === undefined));
  const isKnown = view
    .record(workload)
    .some(
      (record) =>
        record?.spec.placement === undefined ||
        isOfAnother(record, version) ||
        mayBeUnselected(view.placement(record.spec.placement), true),
    );
  return isKnown && view.placements().every((versions) => mayBeUnselected(versions, false));
}

function isOfAnother({ spec }: WorkloadSync, { metadata }: KubeObject): boolean {
  return spec.workload.uid !== undefined && spec.workload.uid !== metadata.uid;
}

/** Where a workload belongs by each version of a placement by which it leaves a cluster for others. */
function movesOf(view: WorkloadView, version: KubeObject, registration: string): readonly (readonly string[])[] {
  return view
    .placements()
    .flat()
    .flatMap((placement) => {
      if (placement === undefined || selects(placement, version) !== true) return [];
      const targets = targetsOf(placement, version);
      return targets.length === 0 || targets.includes(registration) ? [] : [targets];
    });
}

/** Whether a cluster itself, not the cache, has shown a copy to be ready in this run. */
function wasSeenReady(view: WorkloadView, workload: ViewedObject, target: string): boolean {
  return view.copySince(workload, target, "read").some(({ object }) => {
    if (object === undefined || object.metadata.deletionTimestamp !== undefined) return false;
    return workload.kind !== "Deployment" || readyReplicasOf(object) >= replicasOf(object);
  });
}

/**
 * The record of a workload as a process knew it when it read the copy for the last time before it deleted it; undefined if it had
 * not asked kcp for the record in this run by then. A hold that is stored after that comes too late.
 */
export function recordBeforeRemoval({ view, workload, registration }: Eviction): WorkloadSync | undefined {
  const address = view.recordAddress(workload);
  const { began } = view.run;
  const lastRead = view.copySince(workload, registration, "read").at(-1)?.seq ?? 0;
  const isAsked = view.view.since(began, address, "read").some(({ seq }) => seq < lastRead);
  const known = view.view.versions(began, address).findLast(({ seq }) => seq < lastRead)?.object;
  // What is delivered under this address is what the kind's schema lets in.
  return isAsked ? (known as WorkloadSync | undefined) : undefined;
}

/** Why a write of a workload's copy to a cluster was not allowed; undefined if what was delivered allows it. */
export function whyNotApplied({ view, workload, registration }: Eviction): string | undefined {
  const records = view.record(workload);
  if (!records.some((record) => record?.spec.clusters?.includes(registration))) {
    return "no record names the cluster";
  }
  const alive = aliveOf(view.workload(workload));
  if (!isClaimedKind(workload.kind) && !alive.some(({ metadata }) => metadata.finalizers?.includes(syncFinalizer))) {
    return "no finalizer holds the workload back";
  }
  const free = alive.filter((each) => controlsOf(each).syncBlocker === undefined);
  const isSelected = free.some((version) => {
    // A workload is also written where its data is.
    if (claimsOf(version).length > 0) return true;
    return view
      .placements()
      .flat()
      .some((placement) => {
        if (placement === undefined || selects(placement, version) === false) return false;
        return targetsOf(placement, version).includes(registration);
      });
  });
  return isSelected ? undefined : "no placement selects the cluster, or the workload is paused";
}

/** Why something that workloads refer to must not be deleted on a cluster for one of them. */
export function whyNotPruned({ view, workload, registration }: Eviction, dependency: ViewedObject): string | undefined {
  const { kind, namespace, name } = dependency;
  const lastSeen = view.copySince(dependency, registration, "read").at(-1)?.object;
  if (lastSeen !== undefined && !view.isOwn(lastSeen, registration)) {
    return "its cluster showed in this run that it is not ours";
  }
  const user = view.records().find((versions) => {
    const isOther = versions.every((record) => record?.metadata.namespace === namespace && !isAbout(record, workload));
    const needs = (record: WorkloadSync | undefined): boolean =>
      record?.spec.clusters?.includes(registration) === true &&
      [...(record.spec.references ?? []), record.spec.workload].some(
        (each) => each.kind === kind && each.name === name,
      );
    return isOther && versions.every(needs);
  });
  if (user !== undefined) return `the record of ${user[0]?.spec.workload.name} needs it there`;
  const refers = (version: KubeObject): boolean =>
    referencesOf(version).some((reference) => reference.kind === kind && reference.name === name);
  const unrecorded = (["Deployment", "Service"] as const)
    .flatMap((each) => view.workloads(each))
    .find((versions) => {
      const [first] = versions;
      if (first === undefined || first.metadata.namespace !== namespace) return false;
      const other = { kind: first.kind as ViewedObject["kind"], namespace, name: first.metadata.name ?? "" };
      const isProtected = aliveOf(versions).every(
        (each) => each.metadata.finalizers?.includes(syncFinalizer) === true && refers(each),
      );
      return aliveOf(versions).length === versions.length && isProtected && view.record(other).length === 0;
    });
  if (unrecorded !== undefined) return `${unrecorded[0]?.metadata.name} needs it, and its record was not heard of`;
  const own = view.workload(workload);
  const lastCopy = view.copySince(workload, registration, "read").at(-1);
  const stillNeeds =
    own.length > 0 &&
    own.every(
      (version) =>
        version !== undefined &&
        version.metadata.deletionTimestamp === undefined &&
        refers(version) &&
        !isUnplaced(view, workload, version) &&
        movesOf(view, version, registration).length === 0 &&
        // Its copy is gone, and a placement that has decided nothing yet does not bring it back.
        !(lastCopy !== undefined && lastCopy.object === undefined && mayBeUnwanted(view, version, registration)),
    ) &&
    view.record(workload).every((record) => record?.spec.pendingCleanup?.includes(registration) !== true);
  return stillNeeds ? "its own workload has needed it there for as long as this run of the work lasts" : undefined;
}

/** Whether, by what was delivered, no placement selects a cluster for a workload. */
function mayBeUnwanted(view: WorkloadView, version: KubeObject, registration: string): boolean {
  const isWantedBy = (placement: WorkloadPlacement | undefined): boolean =>
    placement !== undefined &&
    selects(placement, version) !== false &&
    targetsOf(placement, version).includes(registration);
  return view.placements().every((versions) => !versions.every(isWantedBy));
}

const isAbout = ({ spec }: WorkloadSync, { kind, name }: ViewedObject): boolean =>
  spec.workload.kind === kind && spec.workload.name === name;

/** What may be in a namespace that is deleted: servers make it in every namespace. */
const serverCreated: ReadonlySet<string> = new Set(["configmaps kube-root-ca.crt"]);

/** Why a tenant's namespace must not be deleted on a cluster. */
export function whyNamespaceStays({ view, workload, registration }: Eviction, namespace: string): string | undefined {
  const { server } = view.copyAddress(workload, registration);
  for (const plural of ["pods", "deployments", "services", "configmaps", "secrets"]) {
    const collection = { server, logicalCluster: "", plural };
    const names = view.view.listed(view.run.began, collection, namespaceFor(view.tenant, namespace));
    if (names === undefined) return `this run has not looked for ${plural} in it`;
    const other = names.find((name) => !serverCreated.has(`${plural} ${name}`));
    if (other !== undefined) return `this run has seen ${plural} ${other} in it`;
  }
  const user = view
    .records()
    .find((versions) =>
      versions.every(
        (record) =>
          record?.metadata.namespace === namespace &&
          !isAbout(record, workload) &&
          record.spec.clusters?.includes(registration) === true,
      ),
    );
  return user === undefined ? undefined : `the record of ${user[0]?.spec.workload.name} names the cluster`;
}
