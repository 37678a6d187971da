import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { ConnectionGate } from "@tmc/kube/informer/connection-gate.ts";
import { startInformer } from "@tmc/kube/informer/informer.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { ownerAnnotation, syncedLabel } from "../sync/ownership/owner.ts";
import type { CopyCache } from "./copy-cache.ts";

/** A cache whose watch has not been open for longer than this is not trusted. */
export const maxDownMs = 90_000;
/** How long after the start a reader waits for the first list before it requests its object: it needs time for that request. */
const maxListWaitMs = 3_000;

export type CopyInformerOptions = Readonly<{
  type: ResourceType;
  /** Set on metadata-only objects, which a server sends as PartialObjectMetadata. */
  apiVersion: string;
  kind: string;
  /** Whether only metadata is requested. */
  metadataOnly: boolean;
  labelSelector: string;
  /** Removes from an object what the cache does not read. @default what it does not read of a copy */
  transform?: ((object: KubeObject) => KubeObject) | undefined;
  /** Returns the client for the cluster as it is now. */
  open: (signal: AbortSignal) => Promise<KubeClient>;
  gate: ConnectionGate;
  cache: CopyCache;
  clock: Clock;
  random: () => number;
  relistSeconds: number;
  /** Called with the workloads whose copies have changed. */
  onChanged: (workloads: readonly string[]) => void;
  /** Called with an object that is gone by a watch event, or that has a deletionTimestamp; never because a list lacks it. */
  onDeletion?: ((object: KubeObject) => void) | undefined;
  /** A list or watch failed; the informer continues by itself. `downMs`: for how long no watch has been open. */
  onFailure: (failure: Readonly<{ error: unknown; retryInMs: number; downMs: number }>) => void;
  /** The cluster rejected the credentials. */
  onUnauthorized: () => void;
}>;

/** The informer of one type on one cluster. */
export interface CopyInformer {
  readonly cache: CopyCache;
  /** Whether the cache may be trusted. */
  readonly isFresh: boolean;
  /** Waits for the first list, but no longer than is useful. */
  whenListed(signal: AbortSignal): Promise<void>;
  /** Lists again soon (`Informer.relistSoon`). */
  relistSoon(): void;
  stop(): Promise<void>;
}

/** Starts to list and watch the copies of one type. */
export function startCopyInformer(options: CopyInformerOptions): CopyInformer {
  const { type, apiVersion, kind, metadataOnly, open, cache, clock, onChanged, onFailure, onUnauthorized } = options;
  const { transform = projectCopy, onDeletion, ...informerOptions } = options;
  const startedMs = clock.monotonicMs();
  const notify = (workloads: readonly string[]): void => {
    if (workloads.length > 0) onChanged(workloads);
  };
  const reportDeletion = (object: KubeObject): void => {
    if (object.metadata.deletionTimestamp !== undefined) onDeletion?.(object);
  };
  const informer = startInformer(
    {
      ...informerOptions,
      type,
      client: async (signal) => {
        const client = await open(signal);
        return metadataOnly ? client.metadata : client;
      },
      transform: (object) => transform(metadataOnly ? { ...object, apiVersion, kind } : object),
    },
    {
      listed: (objects, { resourceVersion = "" }) => {
        for (const object of objects) reportDeletion(object);
        notify(cache.replace(objects, resourceVersion));
      },
      changed: (object) => {
        reportDeletion(object);
        notify(cache.upsert(object));
      },
      deleted: (object) => {
        onDeletion?.(object);
        notify(cache.remove(object));
      },
      bookmark: cache.bookmark,
      failed: (failure) => {
        if (faultOf(failure.error) === "unauthorized") onUnauthorized();
        onFailure(failure);
      },
    },
  );

  return {
    cache,
    get isFresh() {
      return cache.isListed && informer.downMs <= maxDownMs;
    },
    whenListed: async (signal) => {
      const restMs = startedMs + maxListWaitMs - clock.monotonicMs();
      if (cache.isListed || restMs <= 0) return;
      const limit = Promise.withResolvers<void>();
      const cancel = clock.after(restMs, limit.resolve);
      try {
        await Promise.race([informer.whenListed(signal), limit.promise]);
      } finally {
        cancel();
      }
    },
    relistSoon: informer.relistSoon,
    stop: informer.stop,
  };
}

/** Removes from a copy what the cache does not read. */
function projectCopy({ apiVersion, kind, metadata, status }: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion, generation, deletionTimestamp, labels, annotations } = metadata;
  const [label, owner] = [labels?.[syncedLabel], annotations?.[ownerAnnotation]];
  return {
    apiVersion,
    kind,
    metadata: {
      ...(name === undefined ? {} : { name }),
      ...(namespace === undefined ? {} : { namespace }),
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      ...(generation === undefined ? {} : { generation }),
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
      ...(label === undefined ? {} : { labels: { [syncedLabel]: label } }),
      ...(owner === undefined ? {} : { annotations: { [ownerAnnotation]: owner } }),
    },
    ...(status === undefined ? {} : { status }),
  };
}
