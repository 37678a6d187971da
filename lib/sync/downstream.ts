import type { JsonObject, KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import type { TypeDefinition } from "../api/workload-kinds.ts";
import type { ObjectKey, WorkloadAddress } from "../model/key.ts";
import type { Locator } from "./ownership/namespace-map.ts";
import type { Owner } from "./ownership/owner.ts";
import { lastWrittenHashAnnotation } from "./ownership/record.ts";
import type { Copy, DownstreamState, Manifest } from "./sync-objects.ts";

/** The address of a copy: the registration of its cluster, and the object there. */
export type CopyAddress = Readonly<{ registration: ObjectKey; object: WorkloadAddress }>;

/**
 * The registered clusters as sync reads and writes them. A cluster that cannot be reached is the fault "unreachable". A
 * rejection is "invalid" or "forbidden" with the cluster's message. An object without the owner annotation is changed or
 * deleted only where the caller asks for it (adoption).
 */
export interface Downstream {
  /** Declares which types of a cluster have copies, so that the relay watches them. */
  subscribe(registration: ObjectKey, types: readonly ResourceType[]): void;
  /**
   * Reads a copy: from the watch cache if the watch of that cluster has listed, otherwise from the cluster. A copy that the
   * cache lacks is read from the cluster, unless `acceptCachedAbsence` is set. A caller that only creates may set it: its
   * apply fails with "conflict" if the object exists after all.
   */
  readCopy(
    address: CopyAddress,
    owner: Owner,
    signal: AbortSignal,
    options?: Readonly<{ acceptCachedAbsence?: boolean }>,
  ): Promise<DownstreamState>;
  /** Reads a copy from the cluster, never from the cache. */
  readCopyUncached(address: CopyAddress, owner: Owner, signal: AbortSignal): Promise<DownstreamState>;
  /** Reads the whole object from the cluster, never from the cache; undefined when the cluster reports that it does not exist. */
  readObject(address: CopyAddress, signal: AbortSignal): Promise<KubeObject | undefined>;
  /** Whether a cluster serves a type, by discovery that is at most a few seconds old. */
  serves(registration: ObjectKey, type: ResourceType, signal: AbortSignal): Promise<boolean>;
  /** Applies the definition of a type to a cluster if needed, and reports its state without waiting for it. */
  ensureType(
    registration: ObjectKey,
    desired: Readonly<{ type: ResourceType; definition: TypeDefinition; hub: string }>,
    signal: AbortSignal,
  ): Promise<TypeState>;
  /** Creates a tenant's namespace if it does not exist. Fails with "invalid" when the name has another owner. */
  ensureNamespace(registration: ObjectKey, locator: Locator, signal: AbortSignal): Promise<void>;
  /** Server-side apply with our field manager; returns the stored object. */
  apply(address: CopyAddress, manifest: Manifest, signal: AbortSignal): Promise<KubeObject>;
  /** Deletes the object with this uid. Succeeds when it is gone or terminating, and when another object has its name by now. */
  remove(address: CopyAddress, uid: string, signal: AbortSignal): Promise<void>;
  /** Removes our label and annotations from the object with this uid and leaves the rest unchanged. */
  release(address: CopyAddress, uid: string, signal: AbortSignal): Promise<void>;
  /** Deletes a tenant's namespace that is empty and ours; returns whether it is gone or terminating. */
  removeNamespace(registration: ObjectKey, locator: Locator, signal: AbortSignal): Promise<boolean>;
}

/** How far the installation of a type on a cluster is. */
export type TypeState =
  | Readonly<{ kind: "served" }>
  | Readonly<{ kind: "installing"; message: string }>
  /** The cluster has a definition of that name that is not ours and does not fit. */
  | Readonly<{ kind: "rejected"; message: string }>;

/** The field manager of all our writes to clusters. */
export const downstreamFieldManager = "tmc";

/** The part of a downstream object that sync keeps. */
export function copyOf({ metadata, status }: KubeObject): Copy {
  const writtenHash = metadata.annotations?.[lastWrittenHashAnnotation];
  return {
    uid: metadata.uid ?? "",
    resourceVersion: metadata.resourceVersion ?? "",
    generation: metadata.generation,
    isDeleting: metadata.deletionTimestamp !== undefined,
    ...(writtenHash === undefined ? {} : { writtenHash }),
    status: isJsonObject(status) ? status : undefined,
  };
}

function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
