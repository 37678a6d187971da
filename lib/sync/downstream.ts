import type { JsonObject, KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import type { TypeDefinition } from "../api/workload-kinds.ts";
import type { ObjectKey, WorkloadAddress } from "../model/key.ts";
import type { Locator } from "./ownership/namespace-map.ts";
import type { Owner } from "./ownership/owner.ts";
import type { Copy, DownstreamState, Manifest } from "./sync-objects.ts";

/** A copy's address on its cluster: the registration, and where it is there. */
export type CopyAddress = Readonly<{ registration: ObjectKey; object: WorkloadAddress }>;

/**
 * The clusters as sync works on them. A cluster that cannot be asked is the fault "unreachable"; what a cluster refuses
 * is "invalid" or "forbidden" with its own words. Nothing that does not carry the owner mark is ever changed or removed
 * without being told to.
 */
export interface Downstream {
  /** Says of which types a cluster has copies, so that whoever watches clusters tells of changes there. */
  subscribe(cluster: ObjectKey, types: readonly ResourceType[]): void;
  /**
   * What is known of a copy. Answered from a watch of the cluster where one runs and has listed; otherwise asked. Whoever only
   * wants to create what is not there may presume: then a watch that knows of none is answer enough, and an apply that finds
   * something there after all fails with "conflict".
   */
  readCopy(
    address: CopyAddress,
    origin: Owner,
    signal: AbortSignal,
    options?: Readonly<{ mayPresume?: boolean }>,
  ): Promise<DownstreamState>;
  /** What the cluster itself says of a copy now, never from memory. */
  readCopyUncached(address: CopyAddress, origin: Owner, signal: AbortSignal): Promise<DownstreamState>;
  /** The whole object as the cluster has it now, never from memory; undefined when the cluster says that it is not there. */
  readObject(address: CopyAddress, signal: AbortSignal): Promise<KubeObject | undefined>;
  /** Whether a cluster serves a type now, by its own word of a moment ago at most. */
  serves(registration: ObjectKey, type: ResourceType, signal: AbortSignal): Promise<boolean>;
  /** Sees to it that a cluster is given the definition of a type, and says how far that has come; it does not wait for it. */
  ensureType(
    registration: ObjectKey,
    wanted: Readonly<{ type: ResourceType; definition: TypeDefinition; hub: string }>,
    signal: AbortSignal,
  ): Promise<TypeState>;
  /** Makes sure that the namespace of a tenant is there. Fails with "invalid" when its name belongs to another. */
  ensureNamespace(registration: ObjectKey, locator: Locator, signal: AbortSignal): Promise<void>;
  /** Server-side apply with our field manager; the answer is the object as it is then. */
  apply(address: CopyAddress, manifest: Manifest, signal: AbortSignal): Promise<KubeObject>;
  /** Removes the object with this uid; settled when it is gone or going, and when there is another by now. */
  remove(address: CopyAddress, uid: string, signal: AbortSignal): Promise<void>;
  /** Takes our mark off the object with this uid and leaves it otherwise as it is. */
  release(address: CopyAddress, uid: string, signal: AbortSignal): Promise<void>;
  /** Removes a tenant's namespace that is empty, ours and no longer wanted; answers whether it is gone or going. */
  removeNamespace(registration: ObjectKey, locator: Locator, signal: AbortSignal): Promise<boolean>;
}

/** How far a cluster has come with a type that it is given. */
export type TypeState =
  | Readonly<{ kind: "served" }>
  | Readonly<{ kind: "coming"; why: string }>
  /** It has one of that name that is not ours, and not what is needed. */
  | Readonly<{ kind: "refused"; why: string }>;

/** Whose writes ours are on a cluster. */
export const fieldManager = "tmc";

/** What is kept of an object on a cluster. */
export function copyOf({ metadata, status }: KubeObject): Copy {
  return {
    uid: metadata.uid ?? "",
    resourceVersion: metadata.resourceVersion ?? "",
    generation: metadata.generation,
    isDeleting: metadata.deletionTimestamp !== undefined,
    status: isJsonObject(status) ? status : undefined,
  };
}

function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
