import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { type ApiError, errorOfLimit, faultOf, isLimitExceeded } from "@tmc/kube/errors.ts";
import { type CacheAccount, type CacheSize, cacheExcess, createCacheAccount } from "@tmc/kube/informer/cache-limit.ts";
import { type ConnectionGate, createConnectionGate } from "@tmc/kube/informer/connection-gate.ts";
import { type Informer, startInformer } from "@tmc/kube/informer/informer.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import type { TypeId } from "../api/workload-kinds.ts";
import { ownerAnnotation, syncedLabel } from "../sync/ownership/owner.ts";
import { lastWrittenHashAnnotation } from "../sync/ownership/record.ts";
import type { CopyCache } from "./copy-cache.ts";

/** A cache whose watch has not been open for longer than this is not trusted. */
export const maxDownMs = 90_000;
/** How long after the start a reader waits for the first list before it requests its object: it needs time for that request. */
const maxListWaitMs = 3_000;
/** The pause after a cluster exceeded a limit: as often as its facts are detected. A list up to the limit costs seconds of CPU time. */
export const excessPauseMs = 10 * 60_000;

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
  /** What the caches of all types of the cluster keep. */
  account: CacheAccount;
  /** The name of the cluster in messages. */
  name: string;
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
  /** Which limit the cluster exceeded, so that nothing of the type is kept now; undefined if none. */
  readonly excess: string | undefined;
  /** Waits for the first list, but no longer than is useful. */
  whenListed(signal: AbortSignal): Promise<void>;
  /** Lists again soon (`Informer.relistSoon`). */
  relistSoon(): void;
  stop(): Promise<void>;
}

/** The watches of one cluster. */
export type ClusterWatches<I> = Readonly<{ gate: ConnectionGate; account: CacheAccount; informers: Map<TypeId, I> }>;

/** Creates the watches of a cluster, without informers. */
export function createClusterWatches<I>(tools: Readonly<{ clock: Clock; random: () => number }>): ClusterWatches<I> {
  return { gate: createConnectionGate(tools), account: createCacheAccount(), informers: new Map() };
}

/** Which limit a cluster exceeded, by its informers; undefined if none. */
export const excessOf = (informers: Iterable<CopyInformer>): string | undefined =>
  [...informers].find(({ excess }) => excess !== undefined)?.excess;

/**
 * Starts to list and watch the copies of one type. If the cluster exceeds a limit, everything that was kept of the type is
 * dropped, and the watch begins again after a pause; until then every read goes to the cluster.
 */
export function startCopyInformer(options: CopyInformerOptions): CopyInformer {
  const { cache, clock, onFailure } = options;
  const startedMs = clock.monotonicMs();
  let excess: string | undefined;
  let cancelRestart = (): void => {};
  let stopped = Promise.resolve();

  const exceeded = (error: ApiError): void => {
    excess = error.message;
    cache.clear();
    const downMs = informer.downMs;
    stopped = informer.stop();
    cancelRestart = clock.after(excessPauseMs, () => {
      informer = runInformer(options, { exceeded, listed });
    });
    onFailure({ error, retryInMs: excessPauseMs, downMs });
  };
  const listed = (): void => {
    excess = undefined;
  };
  let informer = runInformer(options, { exceeded, listed });

  return {
    cache,
    get isFresh() {
      return cache.isListed && informer.downMs <= maxDownMs;
    },
    get excess() {
      return excess;
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
    relistSoon: () => informer.relistSoon(),
    stop: async () => {
      cancelRestart();
      await Promise.all([informer.stop(), stopped]);
      // The account counts it until then.
      cache.clear();
    },
  };
}

/** Runs the informer. It calls `listed` after each list within the limits, and `exceeded` when the cluster exceeds one. */
function runInformer(
  options: CopyInformerOptions,
  { exceeded, listed }: Readonly<{ exceeded: (error: ApiError) => void; listed: () => void }>,
): Informer {
  const { type, apiVersion, kind, metadataOnly, open, cache, account, onChanged, onFailure, onUnauthorized } = options;
  const { transform = projectCopy, onDeletion, ...informerOptions } = options;
  const limit = createCacheLimit(options);
  const notify = (workloads: readonly string[]): void => {
    if (workloads.length > 0) onChanged(workloads);
  };
  const reportDeletion = (object: KubeObject): void => {
    if (object.metadata.deletionTimestamp !== undefined) onDeletion?.(object);
  };
  const isWithinLimits = (): boolean => {
    const error = limit.excessOf(account.size);
    if (error !== undefined) exceeded(error);
    return error === undefined;
  };
  return startInformer(
    {
      ...informerOptions,
      type,
      client: async (signal) => {
        const client = await open(signal);
        limit.begin(client);
        return metadataOnly ? client.metadata : client;
      },
      transform: (object) => limit.count(transform(metadataOnly ? { ...object, apiVersion, kind } : object)),
    },
    {
      listed: (objects, { resourceVersion = "" }) => {
        for (const object of objects) reportDeletion(object);
        const changed = cache.replace(objects, resourceVersion);
        if (!isWithinLimits()) return;
        listed();
        notify(changed);
      },
      opened: limit.endList,
      changed: (object) => {
        reportDeletion(object);
        const changed = cache.upsert(object);
        if (isWithinLimits()) notify(changed);
      },
      deleted: (object) => {
        onDeletion?.(object);
        notify(cache.remove(object));
      },
      bookmark: cache.bookmark,
      failed: (failure) => {
        if (isLimitExceeded(failure.error)) return exceeded(failure.error);
        if (faultOf(failure.error) === "unauthorized") onUnauthorized();
        onFailure(failure);
      },
    },
  );
}

/** Checks what is kept of a cluster against the limits of its client, also during a list, before the cache has it. */
function createCacheLimit({ name, type }: Pick<CopyInformerOptions, "name" | "type">) {
  let limits: KubeClient["limits"];
  let list: CacheSize | undefined;
  const excessOf = (size: CacheSize): ApiError | undefined => {
    const why = limits && cacheExcess(size, limits);
    return why === undefined ? undefined : errorOfLimit(`cluster ${name}: watch ${type.plural}`, why);
  };
  return {
    /** A list or a watch begins with this client. */
    begin: (client: Pick<KubeClient, "limits">): void => {
      limits = client.limits;
      list = limits && { objects: 0, bytes: 0 };
    },
    /** A watch is open: no list is being read. */
    endList: (): void => {
      list = undefined;
    },
    /** Counts an object of a list. */
    count: (object: KubeObject): KubeObject => {
      if (list === undefined) return object;
      list = { objects: list.objects + 1, bytes: list.bytes + JSON.stringify(object).length };
      const error = excessOf(list);
      if (error !== undefined) throw error;
      return object;
    },
    excessOf,
  };
}

/** Removes from a copy what the cache does not read. */
function projectCopy({ apiVersion, kind, metadata, status }: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion, generation, deletionTimestamp, labels, annotations } = metadata;
  const [label, owner] = [labels?.[syncedLabel], annotations?.[ownerAnnotation]];
  const writtenHash = annotations?.[lastWrittenHashAnnotation];
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
      ...(owner === undefined && writtenHash === undefined
        ? {}
        : {
            annotations: {
              ...(owner === undefined ? {} : { [ownerAnnotation]: owner }),
              ...(writtenHash === undefined ? {} : { [lastWrittenHashAnnotation]: writtenHash }),
            },
          }),
    },
    ...(status === undefined ? {} : { status }),
  };
}
