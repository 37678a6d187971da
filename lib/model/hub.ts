import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ObjectKey, ReconciledKind } from "./key.ts";

/**
 * Access of the reconcilers to upstream objects. Every call names its logical cluster, so a reconcile cannot reach
 * another one. Lambda functions read from the server; in one process reads may be served from the relay's cache. Every
 * write carries the resourceVersion of the object that was read, so a stale read causes the fault "conflict" and never an
 * incorrect write.
 */
export interface Hub {
  /** Undefined if the object does not exist. */
  read<T extends KubeObject>(key: ObjectKey, signal: AbortSignal): Promise<T | undefined>;
  /** Like `read`, but always from the server: a caller that acts on a missing object must not rely on a cache. */
  confirm<T extends KubeObject>(key: ObjectKey, signal: AbortSignal): Promise<T | undefined>;
  /** All objects of a kind in one logical cluster, sorted by name. */
  list<T extends KubeObject>(kind: ReconciledKind, logicalCluster: string, signal: AbortSignal): Promise<readonly T[]>;
  /** Replaces the status of the observed object; returns the written object. */
  writeStatus<T extends KubeObject>(key: ObjectKey, observed: T, status: object, signal: AbortSignal): Promise<T>;
  /** Replaces the finalizers of the observed object; returns the written object. */
  writeFinalizers<T extends KubeObject>(
    key: ObjectKey,
    observed: T,
    finalizers: readonly string[],
    signal: AbortSignal,
  ): Promise<T>;
  /** Reads a Secret from the server; undefined if it does not exist. */
  readSecret(
    address: Readonly<{ logicalCluster: string; namespace: string; name: string }>,
    signal: AbortSignal,
  ): Promise<HubSecret | undefined>;
}

/** A Secret of a workspace. */
export type HubSecret = Readonly<{
  type: string;
  labels: Readonly<Record<string, string>>;
  /** Values in base64. */
  data: Readonly<Record<string, string>>;
  resourceVersion: string;
}>;
