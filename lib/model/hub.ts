import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ObjectKey, ReconciledKind } from "./key.ts";

/**
 * The objects that tenants keep in the hub, as reconcilers read and write them. Every call names its logical cluster: a
 * reconcile can reach no other. A function reads fresh; in one process reads may be answered from what the relay has just
 * seen. Every write carries the resourceVersion that it was decided on, so that a stale read ends as the fault "conflict",
 * never as a wrong write.
 */
export interface Hub {
  /** The object, or undefined when it is not there. */
  read<T extends KubeObject>(key: ObjectKey, signal: AbortSignal): Promise<T | undefined>;
  /** The same, asked of the server itself: whoever acts because something is gone must not go by what was not seen. */
  confirm<T extends KubeObject>(key: ObjectKey, signal: AbortSignal): Promise<T | undefined>;
  /** All objects of a kind in one logical cluster, in the order of their names. */
  list<T extends KubeObject>(kind: ReconciledKind, logicalCluster: string, signal: AbortSignal): Promise<readonly T[]>;
  /** Replaces the status of what was `seen`; the answer is the object as it is then. */
  writeStatus<T extends KubeObject>(key: ObjectKey, seen: T, status: object, signal: AbortSignal): Promise<T>;
  /** Replaces the finalizers of what was `seen`. */
  writeFinalizers<T extends KubeObject>(
    key: ObjectKey,
    seen: T,
    finalizers: readonly string[],
    signal: AbortSignal,
  ): Promise<T>;
  /** A secret of the same logical cluster, always read fresh; undefined when it is not there. */
  readSecret(
    address: Readonly<{ logicalCluster: string; namespace: string; name: string }>,
    signal: AbortSignal,
  ): Promise<Readonly<{ data: Readonly<Record<string, string>>; resourceVersion: string }> | undefined>;
}
