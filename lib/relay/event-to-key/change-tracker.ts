import type { Clock } from "@tmc/kube/clock.ts";
import { valueAt } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { type ObjectKey, type ReconciledKind, reconciledKinds } from "../../model/key.ts";
import type { WorkItem, WorkQueue } from "../../model/work-item.ts";
import type { TenantRate } from "../../queue/tenant-rate-limit.ts";
import type { RelayListener } from "../listener.ts";
import { createOutbox, type Outbox } from "../outbox/outbox.ts";
import type { CredentialsSecretRef, Referrer, SecretWatch } from "../watch/secret-watch.ts";
import type { ResourceTracker } from "../watch/shared-informers.ts";
import { fingerprintOf, reconcileRequestedAnnotation } from "./fingerprint.ts";
import { createRestoreDetector, type RestoreDetector, versionNumber } from "./restore-detector.ts";
import {
  createPendingKeys,
  createWorkloadTracker,
  type PendingKeys,
  type RelayedWorkloads,
  type WorkloadTracker,
} from "./workload-tracker.ts";

/** Tracks the objects of one logical cluster. */
export interface TenantTracker extends ResourceTracker<ReconciledKind> {
  /** Where workloads are watched: their tracker. */
  readonly workloads?: WorkloadTracker | undefined;
}

/**
 * Compares what informers report with what was reported before, and sends the keys of objects that changed.
 *
 * It keeps a fingerprint of each object that covers what reconcilers act on. A heartbeat or our own status write does not
 * change the fingerprint and sends no key. No key of a logical cluster is sent before both kinds there have been listed: a
 * placement that is decided earlier would take unlisted clusters for missing ones.
 */
export interface ChangeTracker {
  /** Starts to track a logical cluster. The secrets that registrations refer to are passed on to `secrets`. */
  track(logicalCluster: string, secrets: SecretWatch): TenantTracker;
  /** Stops to track a logical cluster; its pending keys are dropped. */
  untrack(logicalCluster: string): void;
  /** Sends the keys of registrations whose secrets have changed, or may have. */
  secretsChanged(registrations: readonly Referrer[]): void;
  has(logicalCluster: string): boolean;
  isListed(logicalCluster: string): boolean;
  /** Logical clusters that have not been listed completely. */
  unlisted(): readonly string[];
  readonly outbox: Pick<Outbox, "size" | "limited" | "oldestAgeSeconds" | "isFailing" | "drain" | "stop">;
}

export type ChangeTrackerOptions = Readonly<{
  queue: Pick<WorkQueue, "send">;
  clock: Clock;
  random: () => number;
  listener: RelayListener;
  batchSize?: number | undefined;
  gatherMs?: number | undefined;
  tenantRate?: TenantRate | undefined;
  /** @default no workloads */
  workloads?: RelayedWorkloads | undefined;
  /** Called when a logical cluster has been listed completely. */
  onListed: () => void;
}>;

/** What the tracker remembers of one object. The version changes with every event, the rest with the fingerprint. */
type Seen = Readonly<{ fingerprint: string; requestedAt: string | undefined }> & { version: number };
type Tenant = {
  readonly logicalCluster: string;
  readonly listed: Set<ReconciledKind>;
  /** Keys that wait until both kinds are listed; undefined from then on. */
  pending: PendingKeys | undefined;
  readonly seen: Readonly<Record<ReconciledKind, Map<string, Seen>>>;
  readonly restores: RestoreDetector;
  readonly secrets: SecretWatch;
  readonly workloads: WorkloadTracker | undefined;
};

/** Creates a tracker without logical clusters. */
export function createChangeTracker(options: ChangeTrackerOptions): ChangeTracker {
  const { queue, clock, random, batchSize, gatherMs, tenantRate, listener, onListed } = options;
  const tenants = new Map<string, Tenant>();
  const outbox = createOutbox({
    queue,
    clock,
    random,
    batchSize,
    gatherMs,
    tenantRate,
    onFailure: (error, { retryInMs }) => listener.failed?.({ what: "queue", scope: "", error, retryInMs }),
  });

  const send = ({ pending }: Tenant, items: readonly WorkItem[]): void => {
    if (pending === undefined) outbox.add(items);
    else pending.add(items);
  };
  const applyList = (
    tenant: Tenant,
    kind: ReconciledKind,
    objects: readonly KubeObject[],
    resourceVersion: string | undefined,
  ): void => {
    const seen = tenant.seen[kind];
    const missing = new Set(seen.keys());
    for (const { metadata } of objects) missing.delete(metadata.name ?? "");
    const isRestored = tenant.restores.isRestored(seen, { objects, idOf: nameOf, resourceVersion });
    send(tenant, [
      ...objects.flatMap((object) => observe(tenant, kind, object, { isRestored })),
      // Not seen is not gone: the reconciler asks the server.
      ...[...missing].flatMap((name) => forget(tenant, kind, name)),
    ]);
    tenant.listed.add(kind);
    if (tenant.pending === undefined || tenant.listed.size < reconciledKinds.length) return;
    // Registrations first: placements are decided on them.
    const pending = tenant.pending.all();
    const inOrder = reconciledKinds.flatMap((first) => pending.filter(({ key }) => key.kind === first));
    tenant.pending = undefined;
    outbox.add(inOrder);
    tenant.workloads?.kindsAreListed();
    onListed();
  };

  return {
    outbox,
    track: (logicalCluster, secrets) => {
      /** An informer may still report something after `untrack`. */
      const isTracked = (): boolean => tenants.get(logicalCluster) === tenant;
      const workloads =
        options.workloads &&
        createWorkloadTracker({ ...options.workloads, logicalCluster, send: outbox.add, isTracked, onListed });
      const tenant: Tenant = {
        logicalCluster,
        listed: new Set(),
        pending: createPendingKeys(),
        seen: { ClusterRegistration: new Map(), WorkloadPlacement: new Map() },
        restores: createRestoreDetector(),
        secrets,
        workloads,
      };
      tenants.set(logicalCluster, tenant);
      return {
        workloads,
        listed: (kind, objects, resourceVersion) => {
          if (!isTracked()) return;
          listener.listed?.(kind, logicalCluster, objects, resourceVersion);
          applyList(tenant, kind, objects, resourceVersion);
        },
        changed: (kind, object) => {
          if (!isTracked()) return;
          listener.changed?.(kind, logicalCluster, object);
          send(tenant, observe(tenant, kind, object));
        },
        deleted: (kind, object) => {
          if (!isTracked()) return;
          listener.deleted?.(kind, logicalCluster, object);
          const { name = "", resourceVersion } = object.metadata;
          send(tenant, forget(tenant, kind, name, resourceVersion));
        },
      };
    },
    untrack: (logicalCluster) => {
      tenants.get(logicalCluster)?.secrets.release(logicalCluster);
      tenants.delete(logicalCluster);
      outbox.drop(logicalCluster);
    },
    secretsChanged: (registrations) => {
      for (const { logicalCluster, name } of registrations) {
        const tenant = tenants.get(logicalCluster);
        if (tenant === undefined) continue;
        const key: ObjectKey = { logicalCluster, kind: "ClusterRegistration", name };
        listener.secretChanged?.(key);
        // The object itself has not changed: only the reason "on-demand" makes the reconciler probe the cluster at once.
        send(tenant, [{ key, reason: "on-demand" }]);
      }
    },
    has: (logicalCluster) => tenants.has(logicalCluster),
    isListed: (logicalCluster) => tenants.has(logicalCluster) && tenants.get(logicalCluster)?.pending === undefined,
    unlisted: () =>
      [...tenants.values()]
        .filter(({ pending, workloads }) => pending !== undefined || workloads?.isListed === false)
        .map(({ logicalCluster }) => logicalCluster),
  };
}

const nameOf = ({ metadata }: KubeObject): string => metadata.name ?? "";

/**
 * Remembers an object and returns the items to send: none when its fingerprint is the same as before. `isRestored`: the server
 * was restored, so an object with another version than before has changed in any case.
 */
function observe(
  tenant: Tenant,
  kind: ReconciledKind,
  object: KubeObject,
  { isRestored }: Readonly<{ isRestored: boolean }> = { isRestored: false },
): WorkItem[] {
  const { name = "" } = object.metadata;
  const { logicalCluster, restores } = tenant;
  if (kind === "ClusterRegistration") tenant.secrets.refer({ logicalCluster, name }, secretReferenceOf(object));
  else tenant.workloads?.applyPlacement(name, object);
  const fingerprint = fingerprintOf(object);
  const before = tenant.seen[kind].get(name);
  const version = versionNumber(object.metadata.resourceVersion);
  if (before?.fingerprint === fingerprint && !(isRestored && version !== before.version)) {
    before.version = version;
    return [];
  }
  const resourceVersion = restores.messageVersion(object.metadata.resourceVersion);
  const requestedAt = object.metadata.annotations?.[reconcileRequestedAnnotation];
  const isRequested = before !== undefined && requestedAt !== undefined && before.requestedAt !== requestedAt;
  tenant.seen[kind].set(name, { fingerprint, requestedAt: requestedAt ?? before?.requestedAt, version });
  return [{ key: { logicalCluster, kind, name }, reason: isRequested ? "on-demand" : "changed", resourceVersion }];
}

/** Forgets an object and returns the items to send. The version is known if a watch reported the deletion. */
function forget(tenant: Tenant, kind: ReconciledKind, name: string, resourceVersion?: string): WorkItem[] {
  const { logicalCluster } = tenant;
  tenant.seen[kind].delete(name);
  if (kind === "ClusterRegistration") tenant.secrets.refer({ logicalCluster, name }, undefined);
  else tenant.workloads?.applyPlacement(name, undefined);
  const messageVersion = tenant.restores.messageVersion(resourceVersion);
  return [{ key: { logicalCluster, kind, name }, reason: "changed", resourceVersion: messageVersion }];
}

function secretReferenceOf({ spec }: KubeObject): CredentialsSecretRef | undefined {
  const reference = valueAt(spec, "credentials", "secretRef");
  const [namespace, name] = [valueAt(reference, "namespace"), valueAt(reference, "name")];
  return typeof namespace === "string" && typeof name === "string" ? { namespace, name } : undefined;
}
