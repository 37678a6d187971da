import { objectId } from "@tmc/kube/informer/object-store.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import {
  type ReferenceKind,
  referenceTypes,
  type TypeId,
  typeId,
  type WorkloadType,
} from "../../api/workload-kinds.ts";
import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import type { WorkloadSync } from "../../api/workload-sync.ts";
import type { WorkItem } from "../../model/work-item.ts";
import { matchesLastWrittenHash } from "../../sync/ownership/record.ts";
import { createReferenceIndex } from "../../upstream/reference-index.ts";
import { type WatchedResource, watchedResources } from "../../upstream/watched-resources.ts";
import {
  isProtected,
  namespaceFingerprint,
  reconcileRequestedAnnotation,
  recordFingerprint,
  workloadFingerprint,
} from "./fingerprint.ts";
import { createRestoreDetector, versionNumber } from "./restore-detector.ts";

/** Workloads to reconcile, by the names of their keys, and why. */
export type AffectedWorkloads = Readonly<{
  names: Iterable<string>;
  /** The version of the object that changed. */
  resourceVersion: string | undefined;
  /** @default changed */
  reason?: WorkItem["reason"];
}>;

/**
 * Remembers a fingerprint of every object of one logical cluster that sync depends on, and says which workloads a change
 * affects: the workload itself, TMC's sync record of it, the labels of its namespace, or an object that it refers to.
 */
export interface WorkloadChanges {
  readonly resources: ReadonlyMap<TypeId, WatchedResource>;
  /** The version that identifies a change in the queue (`RestoreDetector`). */
  messageVersion(resourceVersion: string | undefined): string | undefined;
  /** The ids of the known objects of a resource. */
  ids(resource: WatchedResource): Iterable<string>;
  /** Whether a complete list shows that the server was restored from a backup. */
  isRestored(resource: WatchedResource, objects: readonly KubeObject[], resourceVersion: string | undefined): boolean;
  observe(resource: WatchedResource, object: KubeObject, options: ObserveOptions): readonly AffectedWorkloads[];
  /** Forgets an object. The version is known if a watch reported the deletion. */
  forget(resource: WatchedResource, id: string, resourceVersion?: string): readonly AffectedWorkloads[];
  /** Takes the kinds that a placement names; undefined for a deleted placement. */
  observePlacement(name: string, placement: KubeObject | undefined): readonly AffectedWorkloads[];
  /** All workloads. */
  all(): Iterable<string>;
  /** ConfigMaps, Secrets and ServiceAccounts that are workloads by themselves. */
  claimed(): Iterable<string>;
  /** Whether sync has not begun with a workload; false for anything that is not a workload by its type. */
  isNew(name: string): boolean;
  /** Whether a workload has TMC's finalizer. */
  isProtected(name: string): boolean;
}

export type ObserveOptions = Readonly<{
  /** Not everything has been listed yet, so TMC's own writes to records count as changes too. */
  isInitial: boolean;
  /** The server was restored: each object with another version than before has changed. @default false */
  isRestored?: boolean | undefined;
}>;

type Seen = Readonly<{ fingerprint: string; version: number; isProtected?: boolean; requestedAt?: string | undefined }>;

const nameOf = (resource: WatchedResource, id: string): string => `${resource.id}/${id}`;

/** Remembers the objects of these types, and which of them are workloads. */
function createSeenObjects(types: readonly WorkloadType[]) {
  const resources = new Map(watchedResources(types).map((resource) => [resource.id, resource]));
  const seen = new Map<TypeId, Map<string, Seen>>([...resources.keys()].map((id) => [id, new Map()]));
  const references = createReferenceIndex(types);
  /** By placement: the kinds of dependencies that it names as workloads. */
  const namedKinds = new Map<string, ReadonlySet<string>>();

  const isNamed = ({ kind }: WatchedResource): boolean => [...namedKinds.values()].some((kinds) => kinds.has(kind));
  /** A dependency is a workload while a placement names its kind, or while it has a sync record. */
  const isWorkload = (resource: WatchedResource, id: string): boolean =>
    resource.role === "workload" ||
    (resource.role === "claimed" && (isNamed(resource) || references.hasRecord(nameOf(resource, id))));
  function* workloads(matches: (resource: WatchedResource, id: string) => boolean): Generator<string> {
    for (const [resourceId, entries] of seen) {
      const resource = resources.get(resourceId);
      if (resource === undefined || (resource.role !== "workload" && resource.role !== "claimed")) continue;
      for (const id of entries.keys()) {
        if (matches(resource, id) && isWorkload(resource, id)) yield nameOf(resource, id);
      }
    }
  }
  const find = (name: string): Readonly<{ role: WatchedResource["role"]; entry: Seen }> | undefined => {
    const slash = name.indexOf("/");
    // The part before the first slash is a type id, if the name is a key's name.
    const resource = resources.get(name.slice(0, slash) as TypeId);
    const entry = resource && seen.get(resource.id)?.get(name.slice(slash + 1));
    return entry && { role: resource.role, entry };
  };
  return { resources, seen, references, namedKinds, isWorkload, workloads, find };
}

/** Creates an empty memory for these types of workloads. */
export function createWorkloadChanges(types: readonly WorkloadType[]): WorkloadChanges {
  const { resources, seen, references, namedKinds, isWorkload, workloads, find } = createSeenObjects(types);
  const restores = createRestoreDetector();
  /** After a restore, an object with another version than before has changed, whatever its fingerprint says. */
  const isOtherState = ({ metadata }: KubeObject, before: Seen | undefined, isRestored = false): boolean =>
    isRestored && before?.version !== versionNumber(metadata.resourceVersion);

  /** The object itself if it is a workload, and the workloads that refer to it. */
  const affectedBy = (
    resource: WatchedResource,
    id: string,
    cause: Omit<AffectedWorkloads, "names">,
  ): readonly AffectedWorkloads[] => {
    const itself = isWorkload(resource, id) ? [{ names: [nameOf(resource, id)], ...cause }] : [];
    const kind = referenceKinds.get(resource.id);
    if (kind === undefined) return itself;
    const names = references.referrers({ kind, ...partsOf(id) });
    return [...itself, { names, resourceVersion: cause.resourceVersion }];
  };
  const setReferences = (resource: WatchedResource, id: string, object: KubeObject | undefined): void => {
    if (resource.role === "workload") references.setWorkload(nameOf(resource, id), partsOf(id).namespace, object);
  };

  const observeNamespace = (object: KubeObject, entries: Map<string, Seen>): readonly AffectedWorkloads[] => {
    const { name = "", resourceVersion } = object.metadata;
    const fingerprint = namespaceFingerprint(object);
    const before = entries.get(name);
    entries.set(name, { fingerprint, version: versionNumber(resourceVersion) });
    if (before?.fingerprint === fingerprint) return [];
    return [{ names: workloads((_, id) => id.startsWith(`${name}/`)), resourceVersion }];
  };
  const observeRecord = (
    object: KubeObject,
    entries: Map<string, Seen>,
    { isInitial, isRestored }: ObserveOptions,
  ): readonly AffectedWorkloads[] => {
    const record = object as WorkloadSync; // the server validates it against the kind's schema
    const id = objectId(object);
    const fingerprint = recordFingerprint(record);
    const before = entries.get(id);
    entries.set(id, { fingerprint, version: versionNumber(record.metadata.resourceVersion) });
    references.setRecord(id, record);
    const isOwnWrite = matchesLastWrittenHash(record) && record.metadata.deletionTimestamp === undefined;
    const isUnchanged = before?.fingerprint === fingerprint || (isOwnWrite && !isInitial);
    const workload = references.workloadOf(id);
    if (workload === undefined || (isUnchanged && !isOtherState(object, before, isRestored))) return [];
    return [{ names: [workload], resourceVersion: record.metadata.resourceVersion }];
  };
  const observeObject = (
    resource: WatchedResource,
    object: KubeObject,
    entries: Map<string, Seen>,
    { isRestored }: ObserveOptions,
  ): readonly AffectedWorkloads[] => {
    const id = objectId(object);
    const before = entries.get(id);
    const requestedAt = object.metadata.annotations?.[reconcileRequestedAnnotation];
    const now: Seen = {
      fingerprint: workloadFingerprint(object),
      version: versionNumber(object.metadata.resourceVersion),
      isProtected: isProtected(object),
      ...(requestedAt === undefined ? {} : { requestedAt }),
    };
    entries.set(id, now);
    const lostFinalizer = before?.isProtected === true && now.isProtected !== true;
    const isUnchanged = before?.fingerprint === now.fingerprint && !lostFinalizer;
    if (isUnchanged && !isOtherState(object, before, isRestored)) return [];
    setReferences(resource, id, object);
    const isRequested = before !== undefined && requestedAt !== undefined && before.requestedAt !== requestedAt;
    return affectedBy(resource, id, {
      resourceVersion: object.metadata.resourceVersion,
      ...(isRequested ? { reason: "on-demand" as const } : {}),
    });
  };

  return {
    resources,
    ids: ({ id }) => seen.get(id)?.keys() ?? [],
    messageVersion: restores.messageVersion,
    isRestored: ({ id }, objects, resourceVersion) =>
      restores.isRestored(seen.get(id) ?? new Map(), { objects, idOf: objectId, resourceVersion }),
    observe: (resource, object, observeOptions) => {
      const entries = seen.get(resource.id);
      if (entries === undefined) return [];
      if (resource.role === "namespace") return observeNamespace(object, entries);
      if (resource.role === "record") return observeRecord(object, entries, observeOptions);
      return observeObject(resource, object, entries, observeOptions);
    },
    forget: (resource, id, resourceVersion) => {
      seen.get(resource.id)?.delete(id);
      // The objects of a deleted namespace are reported one by one.
      if (resource.role === "namespace") return [];
      if (resource.role === "record") {
        const workload = references.workloadOf(id);
        references.setRecord(id, undefined);
        return workload === undefined ? [] : [{ names: [workload], resourceVersion }];
      }
      const affected = affectedBy(resource, id, { resourceVersion });
      setReferences(resource, id, undefined);
      return affected;
    },
    observePlacement: (name, placement) => {
      const before = namedKinds.get(name) ?? new Set<string>();
      const kinds = placement === undefined ? new Set<string>() : claimedKindsOf(placement);
      if (kinds.size === 0) namedKinds.delete(name);
      else namedKinds.set(name, kinds);
      const added = new Set([...kinds].filter((kind) => !before.has(kind)));
      if (added.size === 0) return [];
      const { resourceVersion } = placement?.metadata ?? {};
      return [{ names: workloads(({ kind }) => added.has(kind)), resourceVersion }];
    },
    all: () => workloads(() => true),
    claimed: () => workloads(({ role }) => role === "claimed"),
    isNew: (name) => {
      const found = find(name);
      return found?.role === "workload" && found.entry.isProtected !== true;
    },
    isProtected: (name) => find(name)?.entry.isProtected === true,
  };
}

/** The types that a workload can refer to. */
const referenceKinds: ReadonlyMap<TypeId, ReferenceKind> = new Map(
  (["ConfigMap", "Secret", "ServiceAccount", "PersistentVolumeClaim"] as const).map((kind) => [
    typeId(referenceTypes[kind]),
    kind,
  ]),
);

function partsOf(id: string): Readonly<{ namespace: string; name: string }> {
  const slash = id.indexOf("/");
  return { namespace: id.slice(0, slash), name: id.slice(slash + 1) };
}

/** The kinds of the core group that a placement names in `workloadTypes`. */
function claimedKindsOf(placement: KubeObject): ReadonlySet<string> {
  const { workloadSelector } = (placement as WorkloadPlacement).spec ?? {}; // the server validates it
  const named = workloadSelector?.workloadTypes ?? [];
  return new Set(named.filter(({ apiVersion }) => apiVersion === "v1").map(({ kind }) => kind));
}
