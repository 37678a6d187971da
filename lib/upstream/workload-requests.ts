import type { KubeClient, WriteOptions } from "@tmc/kube/client.ts";
import { ApiError } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { diffMergePatch, type MergePatch } from "@tmc/kube/merge-patch.ts";
import { pageByPage } from "@tmc/kube/paged-list.ts";
import { formatTarget } from "@tmc/kube/paths.ts";
import { group } from "../api/group.ts";
import { referenceTypes, typeId } from "../api/workload-kinds.ts";
import type { WorkloadSync } from "../api/workload-sync.ts";
import { type WorkloadKey, workloadAddress } from "../model/key.ts";
import { recordMark, recordMarkAnnotation } from "../sync/ownership/record.ts";
import type { RecordAddress, ReferenceAddress } from "../sync/workload-hub.ts";
import { troubleOfHub, undefinedIfGone } from "./hub-requests.ts";
import { clientOf } from "./logical-cluster.ts";
import { namespaceLane, recordLane } from "./watched-resources.ts";
import type { SeenAddress } from "./workload-cache.ts";

/** What of a workload's a write is about, for counting. */
export type WorkloadWrite = Readonly<{
  logicalCluster: string;
  part: "status" | "finalizers" | "record" | "record-status" | "event" | "workload";
}>;

/** The requests that every hub of workloads makes of its server; each call here that answers is one request, but for lists. */
export interface WorkloadRequests {
  /** The object as it is now; undefined only when the server says that this very object is not there. */
  get(address: SeenAddress, signal: AbortSignal): Promise<KubeObject | undefined>;
  /** No more than its metadata. */
  getMetadata(address: SeenAddress, signal: AbortSignal): Promise<KubeObject | undefined>;
  patch(address: SeenAddress, part: WorkloadWrite["part"], patch: MergePatch, signal: AbortSignal): Promise<KubeObject>;
  create(address: SeenAddress, object: object, signal: AbortSignal): Promise<KubeObject>;
  /** Deletes the object that was seen; a "conflict" when it is another by now. */
  remove(address: SeenAddress, seen: KubeObject, signal: AbortSignal): Promise<void>;
  /** All of a type in a logical cluster, page by page; nothing of a type that is not served there, unless it is our own. */
  list(
    type: ResourceType,
    logicalCluster: string,
    form: Readonly<{ metadata: boolean; slim: (object: KubeObject) => KubeObject }>,
  ): Promise<readonly KubeObject[]>;
}

/** The field manager of TMC in the hub. */
export const hubFieldManager = "tmc";

/** Creates the requests over a client at the server's root; `onWrite` is told of every write before it is made. */
export function createWorkloadRequests(
  client: KubeClient,
  onWrite: (write: WorkloadWrite) => void = () => {},
): WorkloadRequests {
  const read = async (
    { logicalCluster, ...address }: SeenAddress,
    signal: AbortSignal,
    of: (client: KubeClient) => Pick<KubeClient, "get">,
  ): Promise<KubeObject | undefined> => {
    try {
      return await of(clientOf(client, logicalCluster)).get<KubeObject>(placeOf(address), { signal });
    } catch (error) {
      return undefinedIfGone(troubleOfHub(error, address.name));
    }
  };
  return {
    get: (address, signal) => read(address, signal, (at) => at),
    getMetadata: (address, signal) => read(address, signal, (at) => at.metadata),
    patch: async ({ logicalCluster, ...address }, part, patch, signal) => {
      onWrite({ logicalCluster, part });
      const isStatus = part === "status" || part === "record-status";
      const options: WriteOptions = {
        fieldManager: hubFieldManager,
        signal,
        ...(isStatus ? { subresource: "status" } : {}),
      };
      try {
        const body = { type: "merge", body: patch } as const;
        return await clientOf(client, logicalCluster).patch<KubeObject>(placeOf(address), body, options);
      } catch (error) {
        throw troubleOfHub(error, address.name);
      }
    },
    create: async ({ logicalCluster, name, ...collection }, object, signal) => {
      onWrite({ logicalCluster, part: typeId(collection.type) === recordLane.id ? "record" : "workload" });
      try {
        const options = { fieldManager: hubFieldManager, signal };
        return await clientOf(client, logicalCluster).create<KubeObject>(collection, object, options);
      } catch (error) {
        throw troubleOfHub(error, name);
      }
    },
    remove: async ({ logicalCluster, ...address }, { metadata: { uid, resourceVersion } }, signal) => {
      onWrite({ logicalCluster, part: "workload" });
      const preconditions = {
        ...(uid === undefined ? {} : { uid }),
        ...(resourceVersion === undefined ? {} : { resourceVersion }),
      };
      try {
        await clientOf(client, logicalCluster).delete(placeOf(address), { preconditions, signal });
      } catch (error) {
        undefinedIfGone(troubleOfHub(error, address.name));
      }
    },
    list: async (type, logicalCluster, { metadata, slim }) => {
      try {
        const at = clientOf(client, logicalCluster);
        return (await pageByPage(metadata ? { ...at, ...at.metadata } : at, slim).listAll<KubeObject>({ type })).items;
      } catch (error) {
        // Who does not have the type has none of it.
        if (type.group !== group && error instanceof ApiError && error.status === 404) return [];
        throw troubleOfHub(error);
      }
    },
  };
}

/** Where a workload is that a key names. */
export function addressOfWorkload(key: WorkloadKey): SeenAddress {
  const address = workloadAddress(key);
  if (address === undefined) throw new ControllerError("invalid", `hub: "${key.name}" is no workload's name`);
  return { logicalCluster: key.logicalCluster, ...address };
}

/** Where a record is. */
export function addressOfRecord(address: RecordAddress): SeenAddress {
  return { ...address, type: recordLane.type };
}

/** Where a namespace is. */
export function addressOfNamespace(logicalCluster: string, name: string): SeenAddress {
  return { logicalCluster, type: namespaceLane.type, namespace: "", name };
}

/** Where something is that a workload refers to. */
export function addressOfReference({ logicalCluster, kind, namespace, name }: ReferenceAddress): SeenAddress {
  return { logicalCluster, type: referenceTypes[kind], namespace, name };
}

/**
 * The patch that replaces the status of what was `seen`; undefined when nothing differs.
 *
 * This and the others carry the version that was seen: what has changed since makes a conflict, and no wrong write.
 */
export function statusPatchOf(address: SeenAddress, seen: KubeObject, status: object): MergePatch | undefined {
  const before = typeof seen.status === "object" && seen.status !== null ? seen.status : {};
  const difference = diffMergePatch(before, status);
  return difference === undefined ? undefined : { metadata: versionIn(address, seen), status: difference };
}

/** The patch that replaces the finalizers of what was `seen`; undefined when nothing differs. */
export function finalizersPatchOf(
  address: SeenAddress,
  seen: KubeObject,
  finalizers: readonly string[],
): MergePatch | undefined {
  if (JSON.stringify(seen.metadata.finalizers ?? []) === JSON.stringify(finalizers)) return undefined;
  return { metadata: { ...versionIn(address, seen), finalizers } };
}

/** The patch that has a workload say what is `wanted`, but for its status; undefined when it does already. */
export function workloadPatchOf(address: SeenAddress, seen: KubeObject, wanted: KubeObject): MergePatch | undefined {
  const said = ({ apiVersion: _, kind: __, metadata, status: ___, ...body }: KubeObject): object => ({
    ...body,
    metadata: { labels: metadata.labels ?? {}, annotations: metadata.annotations ?? {} },
  });
  const difference = diffMergePatch(said(seen), said(wanted));
  if (difference === undefined) return undefined;
  const metadata = typeof difference.metadata === "object" ? difference.metadata : {};
  return { ...difference, metadata: { ...metadata, ...versionIn(address, seen) } };
}

/** The patch that has a record say what is `wanted`, marked as TMC's own word; undefined when it does already. */
export function recordPatchOf(
  address: SeenAddress,
  seen: WorkloadSync,
  wanted: Pick<WorkloadSync, "spec" | "metadata">,
): MergePatch | undefined {
  const ours = ({ spec, metadata }: typeof wanted, mark: string | undefined): object => ({
    spec,
    metadata: {
      finalizers: metadata.finalizers ?? [],
      ownerReferences: metadata.ownerReferences ?? [],
      annotations: { [recordMarkAnnotation]: mark },
    },
  });
  const before = ours(seen, seen.metadata.annotations?.[recordMarkAnnotation]);
  const difference = diffMergePatch(before, ours(wanted, recordMark(wanted)));
  if (difference === undefined) return undefined;
  const metadata = typeof difference.metadata === "object" ? difference.metadata : {};
  return { ...difference, metadata: { ...metadata, ...versionIn(address, seen) } };
}

/** A new record, marked as TMC's own word. */
export function markedRecord(record: WorkloadSync): WorkloadSync {
  const annotations = { ...record.metadata.annotations, [recordMarkAnnotation]: recordMark(record) };
  return { ...record, metadata: { ...record.metadata, annotations } };
}

/** A text that is another when what an object says is another: writes of status do not change it where a type tells them apart. */
export function contentVersion({ metadata }: KubeObject): string {
  const { uid = "", generation, resourceVersion = "" } = metadata;
  return generation === undefined ? resourceVersion : `${uid}/${generation}`;
}

/** Whether nothing is left of an object: it is being deleted, and nobody holds it back. */
export function isOver({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0;
}

function placeOf({ namespace, ...address }: Omit<SeenAddress, "logicalCluster">) {
  return namespace === "" ? address : { ...address, namespace };
}

function versionIn(address: SeenAddress, { metadata }: KubeObject | WorkloadSync): { resourceVersion: string } {
  const { resourceVersion } = metadata;
  if (resourceVersion !== undefined) return { resourceVersion };
  const words = `hub: write ${formatTarget(address)}: what was seen has no resourceVersion`;
  throw new ControllerError("invalid", words);
}
