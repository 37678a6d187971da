import type { KubeClient, WriteOptions } from "@tmc/kube/client.ts";
import { ApiError } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { listByPages } from "@tmc/kube/informer/paged-list.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { diffMergePatch, type MergePatch } from "@tmc/kube/merge-patch.ts";
import { formatTarget } from "@tmc/kube/paths.ts";
import { permissionClaims } from "../api/api-export.ts";
import { group } from "../api/group.ts";
import { referenceTypes, typeId } from "../api/workload-kinds.ts";
import type { WorkloadSync } from "../api/workload-sync.ts";
import { parseWorkloadKey, type WorkloadKey } from "../model/key.ts";
import { ClaimNotAccepted } from "../model/tenant-errors.ts";
import { lastWrittenHashAnnotation, recordHash } from "../sync/ownership/record.ts";
import type { RecordAddress, ReferenceAddress } from "../sync/workload-hub.ts";
import { asUpstreamError, undefinedIfGone } from "./hub-requests.ts";
import { clientOf } from "./logical-cluster.ts";
import { namespaceResource, recordResource } from "./watched-resources.ts";
import type { CachedAddress } from "./workload-cache.ts";

/** A write of a workload hub, for metrics. */
export type WorkloadWrite = Readonly<{
  logicalCluster: string;
  part: "status" | "finalizers" | "record" | "record-status" | "event" | "workload";
}>;

/** The requests of a workload hub to its server; each call is one request, except for lists, which are paged. */
export interface WorkloadRequests {
  /** Reads an object; undefined only if the server reports that this object does not exist. */
  get(address: CachedAddress, signal: AbortSignal): Promise<KubeObject | undefined>;
  /** Like `get`, for the metadata only. */
  getMetadata(address: CachedAddress, signal: AbortSignal): Promise<KubeObject | undefined>;
  patch(
    address: CachedAddress,
    part: WorkloadWrite["part"],
    patch: MergePatch,
    signal: AbortSignal,
  ): Promise<KubeObject>;
  create(address: CachedAddress, object: object, signal: AbortSignal): Promise<KubeObject>;
  /** Deletes the object that was read (`seen`). Fails with "conflict" if it has changed. */
  remove(address: CachedAddress, seen: KubeObject, signal: AbortSignal): Promise<void>;
  /** Lists a type in a logical cluster. A type that is not served or not bound has no objects, unless it is one of ours: then this fails. */
  list(
    type: ResourceType,
    logicalCluster: string,
    form: Readonly<{ metadata: boolean; transform: (object: KubeObject) => KubeObject }>,
  ): Promise<readonly KubeObject[]>;
}

/** The field manager of all our upstream writes. */
export const upstreamFieldManager = "tmc";

/** Creates the requests over a client at the server's root; `onWrite` is called before every write. */
export function createWorkloadRequests(
  client: KubeClient,
  onWrite: (write: WorkloadWrite) => void = () => {},
): WorkloadRequests {
  const read = async (
    { logicalCluster, ...address }: CachedAddress,
    signal: AbortSignal,
    of: (client: KubeClient) => Pick<KubeClient, "get">,
  ): Promise<KubeObject | undefined> => {
    try {
      return await of(clientOf(client, logicalCluster)).get<KubeObject>(targetOf(address), { signal });
    } catch (error) {
      return undefinedIfGone(asUpstreamError(error, address.name));
    }
  };
  return {
    get: (address, signal) => read(address, signal, (tenant) => tenant),
    getMetadata: (address, signal) => read(address, signal, (tenant) => tenant.metadata),
    patch: async ({ logicalCluster, ...address }, part, patch, signal) => {
      onWrite({ logicalCluster, part });
      const isStatus = part === "status" || part === "record-status";
      const options: WriteOptions = {
        fieldManager: upstreamFieldManager,
        signal,
        ...(isStatus ? { subresource: "status" } : {}),
      };
      try {
        const body = { type: "merge", body: patch } as const;
        return await clientOf(client, logicalCluster).patch<KubeObject>(targetOf(address), body, options);
      } catch (error) {
        throw asUpstreamError(error, address.name);
      }
    },
    create: async ({ logicalCluster, name, ...collection }, object, signal) => {
      onWrite({ logicalCluster, part: typeId(collection.type) === recordResource.id ? "record" : "workload" });
      try {
        const options = { fieldManager: upstreamFieldManager, signal };
        return await clientOf(client, logicalCluster).create<KubeObject>(collection, object, options);
      } catch (error) {
        throw asUpstreamError(error, name);
      }
    },
    remove: async ({ logicalCluster, ...address }, { metadata: { uid, resourceVersion } }, signal) => {
      onWrite({ logicalCluster, part: "workload" });
      const preconditions = {
        ...(uid === undefined ? {} : { uid }),
        ...(resourceVersion === undefined ? {} : { resourceVersion }),
      };
      try {
        await clientOf(client, logicalCluster).delete(targetOf(address), { preconditions, signal });
      } catch (error) {
        undefinedIfGone(asUpstreamError(error, address.name));
      }
    },
    list: async (type, logicalCluster, { metadata, transform }) => {
      try {
        const tenant = clientOf(client, logicalCluster);
        return (await listByPages(metadata ? tenant.metadata : tenant, { transform }, { type })).items;
      } catch (error) {
        // A tenant that does not serve the type, or whose binding does not offer it to TMC, has no objects of it for TMC.
        const isNotServed = error instanceof ApiError && error.status === 404;
        const isNotBound = error instanceof ClaimNotAccepted && !isClaimable(type);
        if (type.group !== group && (isNotServed || isNotBound)) return [];
        throw asUpstreamError(error);
      }
    },
  };
}

/** Whether the export claims a type: a tenant that does not accept the claim may have objects of it. */
function isClaimable({ group, plural }: ResourceType): boolean {
  return permissionClaims.some((claim) => claim.group === group && claim.resource === plural);
}

/** The address of the workload of a key. */
export function addressOfWorkload(key: WorkloadKey): CachedAddress {
  const address = parseWorkloadKey(key);
  if (address === undefined)
    throw new ControllerError("invalid", `upstream: "${key.name}" is not the name of a workload key`);
  return { logicalCluster: key.logicalCluster, ...address };
}

export function addressOfRecord(address: RecordAddress): CachedAddress {
  return { ...address, type: recordResource.type };
}

export function addressOfNamespace(logicalCluster: string, name: string): CachedAddress {
  return { logicalCluster, type: namespaceResource.type, namespace: "", name };
}

export function addressOfReference({ logicalCluster, kind, namespace, name }: ReferenceAddress): CachedAddress {
  return { logicalCluster, type: referenceTypes[kind], namespace, name };
}

/**
 * The patch that replaces the status of the object that was read (`seen`); undefined if nothing differs.
 *
 * This and the other patches contain the resourceVersion of `seen`: if the object has changed since, the write fails with a conflict.
 */
export function statusPatchOf(address: CachedAddress, seen: KubeObject, status: object): MergePatch | undefined {
  const before = typeof seen.status === "object" && seen.status !== null ? seen.status : {};
  const difference = diffMergePatch(before, status);
  return difference === undefined ? undefined : { metadata: versionIn(address, seen), status: difference };
}

/** The patch that replaces the finalizers of the object that was read (`seen`); undefined if nothing differs. */
export function finalizersPatchOf(
  address: CachedAddress,
  seen: KubeObject,
  finalizers: readonly string[],
): MergePatch | undefined {
  if (JSON.stringify(seen.metadata.finalizers ?? []) === JSON.stringify(finalizers)) return undefined;
  return { metadata: { ...versionIn(address, seen), finalizers } };
}

/** The patch from `seen` to `desired`, without the status; undefined if nothing differs. */
export function workloadPatchOf(address: CachedAddress, seen: KubeObject, desired: KubeObject): MergePatch | undefined {
  const contentOf = ({ apiVersion: _, kind: __, metadata, status: ___, ...body }: KubeObject): object => ({
    ...body,
    metadata: { labels: metadata.labels ?? {}, annotations: metadata.annotations ?? {} },
  });
  const difference = diffMergePatch(contentOf(seen), contentOf(desired));
  if (difference === undefined) return undefined;
  const metadata = typeof difference.metadata === "object" ? difference.metadata : {};
  return { ...difference, metadata: { ...metadata, ...versionIn(address, seen) } };
}

/** The patch of a sync record from `seen` to `desired`, with the last-written hash; undefined if nothing differs. */
export function recordPatchOf(
  address: CachedAddress,
  seen: WorkloadSync,
  desired: Pick<WorkloadSync, "spec" | "metadata">,
): MergePatch | undefined {
  const contentOf = ({ spec, metadata }: typeof desired, hash: string | undefined): object => ({
    spec,
    metadata: {
      finalizers: metadata.finalizers ?? [],
      ownerReferences: metadata.ownerReferences ?? [],
      annotations: { [lastWrittenHashAnnotation]: hash },
    },
  });
  const before = contentOf(seen, seen.metadata.annotations?.[lastWrittenHashAnnotation]);
  const difference = diffMergePatch(before, contentOf(desired, recordHash(desired)));
  if (difference === undefined) return undefined;
  const metadata = typeof difference.metadata === "object" ? difference.metadata : {};
  return { ...difference, metadata: { ...metadata, ...versionIn(address, seen) } };
}

/** A new sync record with the last-written hash, by which TMC recognizes its own writes. */
export function withLastWrittenHash(record: WorkloadSync): WorkloadSync {
  const annotations = { ...record.metadata.annotations, [lastWrittenHashAnnotation]: recordHash(record) };
  return { ...record, metadata: { ...record.metadata, annotations } };
}

/** A version that changes with the content of an object. Status writes do not change it if the type has a generation. */
export function contentVersion({ metadata }: KubeObject): string {
  const { uid = "", generation, resourceVersion = "" } = metadata;
  return generation === undefined ? resourceVersion : `${uid}/${generation}`;
}

/** Whether an object is gone after this write: it is being deleted and has no finalizers. */
export function isDeletionComplete({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0;
}

function targetOf({ namespace, ...address }: Omit<CachedAddress, "logicalCluster">) {
  return namespace === "" ? address : { ...address, namespace };
}

function versionIn(address: CachedAddress, { metadata }: KubeObject | WorkloadSync): { resourceVersion: string } {
  const { resourceVersion } = metadata;
  if (resourceVersion !== undefined) return { resourceVersion };
  throw new ControllerError("invalid", `upstream: write ${formatTarget(address)}: the object has no resourceVersion`);
}
